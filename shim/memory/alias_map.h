/* alias_map.h - remembers which pieces of physical memory are still mapped at addresses that have given them up
 * (deferred_unmap.h).
 *
 * Such pieces count like any others: they may be taken from the pool and mapped again, at a second address. They cannot be
 * released, since the driver keeps memory as long as it is mapped anywhere. */
#ifndef SPILLWAY_SHIM_ALIAS_MAP_H
#define SPILLWAY_SHIM_ALIAS_MAP_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct spw_deferred_unmap;
struct spw_alias;

struct spw_alias_map {
    struct spw_alias *table; /* by handle; NULL: empty */
};

/* Notes one more address of a piece, as the newest one. Returns 0 or -ENOMEM. */
int spw_alias_map_add(struct spw_alias_map *a, CUmemGenericAllocationHandle handle, struct spw_deferred_unmap *stale);

/* The piece is unmapped at an address. Returns true if it has no other such address, and its release was deferred. */
bool spw_alias_map_remove(struct spw_alias_map *a, CUmemGenericAllocationHandle handle,
                          const struct spw_deferred_unmap *stale);

/* Returns the newest address that gave up the piece, if the piece is still mapped there; its users come after those of the
 * older ones. NULL: there is none. */
struct spw_deferred_unmap *spw_alias_map_newest(const struct spw_alias_map *a, CUmemGenericAllocationHandle handle);

/* Returns true if the piece is mapped at such an address. */
bool spw_alias_map_has(const struct spw_alias_map *a, CUmemGenericAllocationHandle handle);

/* The piece is to be released. Returns true if it has such an address, so its release is deferred; else false. */
bool spw_alias_map_defer_release(struct spw_alias_map *a, CUmemGenericAllocationHandle handle);

static inline bool spw_alias_map_any(const struct spw_alias_map *a)
{
    return a->table;
}

/* Forgets all: for tests. */
void spw_alias_map_reset(struct spw_alias_map *a);
#endif
