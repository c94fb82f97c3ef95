/* pointer_map.h - knows what a launch's parameters do not show: addresses that are stored in device memory, and what was
 * captured into graphs.
 *
 * For the recorder; its lock is held throughout. (pointer_tables.h does the same for the arena while spillway moves
 * tensors, where a stale word has to keep its target resident; here a stale word is dropped.) */
#ifndef SPILLWAY_SHIM_POINTER_MAP_H
#define SPILLWAY_SHIM_POINTER_MAP_H
#include <stddef.h>

#include "../../trace/record.h"
#include "extents.h"

/* ---- addresses in allocations ---- */

bool spw_pointer_map_any(void); /* some allocation has one */

/* Notes that the word at `offset` of the allocation is the address `target`. */
void spw_pointer_map_add(struct spw_extent *e, uint64_t offset, uint64_t target);

/* Notes that [offset, offset + bytes) was overwritten: no address is known there any more. */
void spw_pointer_map_written(struct spw_extent *e, uint64_t offset, uint64_t bytes);

/* Copies what is known of the bytes of `from` to those of `to`, in place of what was known there. Both may be the same
 * allocation, and overlap. */
void spw_pointer_map_copy(struct spw_extent *to, uint64_t to_offset, const struct spw_extent *from, uint64_t from_offset,
                          uint64_t bytes);
void spw_pointer_map_each(const struct spw_extent *e, void (*each)(void *context, uint64_t target), void *context);
void spw_pointer_map_forget_all(struct spw_extent *e);

/* Calls `each` with the beginning of each variable of a module that has had an address in it, including variables that are
 * gone. Returns false if there are more than are remembered. */
bool spw_pointer_map_each_variable(void (*each)(void *context, uint64_t start), void *context);
void spw_pointer_map_reset(void); /* forgets all of them: for tests */

/* ---- graphs ---- */

struct spw_graph_touch {
    uint64_t address;
    enum spw_access access;
};

struct spw_graph_reach {
    bool everything; /* some node could not be read, or there was no memory to remember it */
    uint32_t count;
    struct spw_graph_touch *list;
};

/* Notes an operation that went into the capture in progress. */
void spw_graphs_captured_locked(const struct spw_touch *touches, const uint64_t *addresses, uint32_t count, bool everything);
void spw_graphs_end_locked(const void *graph);                    /* the capture's result; NULL: it failed */
void spw_graphs_exec_locked(const void *graph, const void *exec); /* instantiated, or updated */
void spw_graphs_gone_locked(const void *graph_or_exec);

/* NULL: not captured, or changed since. */
const struct spw_graph_reach *spw_graphs_of_exec_locked(const void *exec);
#endif
