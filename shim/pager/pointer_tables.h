/* pointer_tables.h - addresses that the program stored in device memory, where a kernel finds them without their being
 * parameters.
 *
 * Such pointer tables are built on the host and copied: foreach kernels, batched matrix products, sharded parameters; or
 * kernels write them. Each host-to-device copy of up to SPW_POINTER_TABLES_MAX_COPY bytes is looked through; a word of it
 * that is an address of the arena is remembered with the place it went to. What longer copies, copies whose source changes
 * before they run, and kernels leave in device memory is looked for there (seek.h), before any of it can matter, and noted
 * here as well. A kernel that is given an allocation is then taken to touch also what the words in it point to, and so on.
 *
 * A word is forgotten when its place is overwritten by a later copy or its place is freed, but not when what it points
 * to is freed: the program may be handed the same address again and go on using its table. A stale word makes one
 * allocation more resident, no harm.
 *
 * Not seen: addresses at places that are no multiples of 8, or not kept as 8 bytes, and tables in host memory or in
 * variables of modules that kernels write.
 *
 * Any thread. The lock inside is a leaf. */
#ifndef SPILLWAY_SHIM_POINTER_TABLES_H
#define SPILLWAY_SHIM_POINTER_TABLES_H
#include "ours.h"
#include "outside.h"
#include <cuda.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define SPW_POINTER_TABLES_MAX_COPY ((size_t)4 << 20) /* bytes; longer copies from the host are not read there */
#define SPW_POINTER_TABLES_MAX_EARLY \
    ((size_t)64 << 10)                         /* the same as long as all of memory is going to be looked through yet */
#define SPW_POINTER_TABLES_MAX_WORDS (1 << 20) /* addresses remembered; beyond that what they point to is pinned */

extern atomic_size_t spw_pointer_tables_words SPW_OURS;

/* Copies that have been told of, or are just being, and may not have reached the driver: what is found in memory meanwhile
 * is known beside what was told. */
extern atomic_uint spw_pointer_tables_being_told SPW_OURS;

/* True while some address is remembered. */
static inline bool spw_pointer_tables_any(void)
{
    return atomic_load_explicit(&spw_pointer_tables_words, memory_order_relaxed) != 0;
}

/* True while there is something that copies take along, or overwrite. */
static inline bool spw_pointer_tables_or_outside(void)
{
    return spw_pointer_tables_any() || spw_outside_any();
}

/* How allocations are pinned (pin.h): 0, or a negative result where there is no room. */
struct spw_pinning {
    int (*address)(CUdeviceptr address, const char *why);
    int (*everything)(const char *why);
};

/* The program copies `bytes` bytes from host memory at `source`, readable now (or from the arena, in a call that is
 * meant for host memory), to the device address `destination`. Where the destination is outside of the arena (a variable of
 * a module, memory that is not ours), any kernel may find the addresses, so what they point to is pinned; spw_pin_failure
 * (pin.h) tells when that failed, and the copy must not be made then. No lock held. */
void spw_pointer_tables_learn(CUdeviceptr destination, const void *source, size_t bytes, const struct spw_pinning *pinning);

struct spw_pointer_tables_find {
    bool is_new;    /* not all of the addresses were known to be there */
    bool is_stored; /* not all of them came with a copy that told of them: a kernel has stored some */
};

/* The same for what was found at `destination`, which is in the arena, without anything being pinned; any lock but ours may
 * be held. 0; 1: what the words point to is to be pinned; negative: so it is, and not all of them could be noted. */
int spw_pointer_tables_found(CUdeviceptr destination, const void *source, size_t bytes, struct spw_pointer_tables_find *ret);

/* True when copies have told of all addresses that are remembered in [low, high), where each lies a multiple of 8 behind
 * `low`, and none is being told of: *ret_sum is what they come to, spw_seek_term() of each. */
bool spw_pointer_tables_told(CUdeviceptr low, CUdeviceptr high, uint64_t *ret_sum);

/* True when an address is remembered in [low, high). */
bool spw_pointer_tables_has(CUdeviceptr low, CUdeviceptr high);

/* The program copies `bytes` bytes from device address to device address; what outside.h remembers goes along. No lock
 * held. */
void spw_pointer_tables_copied(CUdeviceptr destination, CUdeviceptr source, size_t bytes, const struct spw_pinning *pinning);

/* [low, high) is freed, or was set to something that holds no address of ours nor any other. */
void spw_pointer_tables_forget(CUdeviceptr low, CUdeviceptr high);

/* Writes the addresses in [low, high) to `list` and returns their number, or -E2BIG when they are more than `room`. */
int spw_pointer_tables_members(CUdeviceptr low, CUdeviceptr high, CUdeviceptr *list, unsigned room);

/* From now on every address that is remembered, those already there included, is pinned as well: a graph that may read
 * any table can be launched at any time. */
void spw_pointer_tables_pin(const char *why, const struct spw_pinning *pinning);

/* Extends the `count` addresses in `hits` by what can be reached from them through tables, an address for each allocation,
 * and returns the new count, or -E2BIG. `meet` is told addresses, and answers whether the allocation that holds one was met
 * before in this operation, with its bounds; that is what ends a cycle. SPW_MET_NOTHING: none does, and there are none.
 * `hit` is the address's place among those that were given, SPW_MET_IN_TABLE for one that a table has. */
enum spw_met { SPW_MET_NOTHING, SPW_MET_FIRST, SPW_MET_AGAIN };
#define SPW_MET_IN_TABLE UINT32_MAX
typedef enum spw_met spw_meet(void *context, CUdeviceptr address, unsigned hit, CUdeviceptr *ret_low, CUdeviceptr *ret_high);
int spw_pointer_tables_reach(CUdeviceptr *hits, unsigned count, unsigned room, spw_meet *meet, void *context);

/* Forgets everything: for tests. */
void spw_pointer_tables_reset(void);
#endif
