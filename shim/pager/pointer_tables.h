/* pointer_tables.h - remembers addresses that the program stored in device memory, where kernels find them although they
 * are not among the parameters.
 *
 * Such pointer tables are built on the host and copied, as for foreach kernels, batched matrix products and sharded
 * parameters; or kernels write them. Each host-to-device copy of up to SPW_POINTER_TABLES_MAX_COPY bytes is searched; a
 * word that is an address of the arena is remembered with the place that it was copied to. Addresses from longer copies,
 * from copies whose source changes before they run, and from kernels are searched for in device memory (seek.h) before any
 * of them can matter, and are noted here as well. A kernel that is passed an allocation is then taken to touch what the
 * words in it point to, too, and so on.
 *
 * A word is forgotten when its place is overwritten by a later copy, or freed. It is not forgotten when the allocation that
 * it points to is freed: the program may be given the same address again and go on using its table. A stale word does no
 * harm; it only keeps one allocation more resident.
 *
 * Not seen: addresses at places that are not multiples of 8, or not stored as 8 bytes, and tables in host memory or in
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

#define SPW_POINTER_TABLES_MAX_COPY ((size_t)4 << 20) /* bytes; longer copies from the host are not searched there */
#define SPW_POINTER_TABLES_MAX_EARLY \
    ((size_t)64 << 10)                         /* the same until all of memory is searched, which is still to come */
#define SPW_POINTER_TABLES_MAX_WORDS (1 << 20) /* addresses remembered; what further ones point to is pinned */

extern atomic_size_t spw_pointer_tables_words SPW_OURS;

/* Copies whose addresses were noted here, or are being noted, and which may not have reached the driver. Meanwhile, what is
 * found in memory is noted in addition to what is known, not in its place. */
extern atomic_uint spw_pointer_tables_being_told SPW_OURS;

/* True while any address is remembered. */
static inline bool spw_pointer_tables_any(void)
{
    return atomic_load_explicit(&spw_pointer_tables_words, memory_order_relaxed) != 0;
}

/* True while there are addresses that a copy could take along or overwrite. */
static inline bool spw_pointer_tables_or_outside(void)
{
    return spw_pointer_tables_any() || spw_outside_any();
}

/* How allocations are pinned (pin.h). Each function returns 0, or a negative result if there is no room. */
struct spw_pinning {
    int (*address)(CUdeviceptr address, const char *why);
    int (*everything)(const char *why);
};

/* Call before the program copies `bytes` bytes from host memory at `source`, readable now (or from the arena, in a call
 * that is meant for host memory), to the device address `destination`. If the destination is outside of the arena (a
 * variable of a module, memory that is not ours), any kernel may find the addresses, so what they point to is pinned; if
 * spw_pin_failure (pin.h) shows that this failed, the copy must not be made. Call with no lock held. */
void spw_pointer_tables_learn(CUdeviceptr destination, const void *source, size_t bytes, const struct spw_pinning *pinning);

struct spw_pointer_tables_find {
    bool is_new;    /* not all of the addresses were known to be there */
    bool is_stored; /* not all of them came with a copy: a kernel has stored some */
};

/* Notes the words that were found at `destination`, which is in the arena, without pinning anything. Any lock but the inner
 * one may be held. Returns 0; 1 if what the words point to has to be pinned; negative if so and not all of them could be
 * noted. */
int spw_pointer_tables_found(CUdeviceptr destination, const void *source, size_t bytes, struct spw_pointer_tables_find *ret);

/* Returns true if all addresses remembered in [low, high) came with copies, each lies at a multiple of 8 after `low`, and
 * no copy is being noted. Then *ret_sum is the sum of their spw_seek_term(). */
bool spw_pointer_tables_told(CUdeviceptr low, CUdeviceptr high, uint64_t *ret_sum);

/* Returns true if an address is remembered in [low, high). */
bool spw_pointer_tables_has(CUdeviceptr low, CUdeviceptr high);

/* Call before the program copies `bytes` bytes from device address to device address; also copies what outside.h remembers.
 * Call with no lock held. */
void spw_pointer_tables_copied(CUdeviceptr destination, CUdeviceptr source, size_t bytes, const struct spw_pinning *pinning);

/* Call when [low, high) is freed, or was set to a value that holds no address, ours or other. */
void spw_pointer_tables_forget(CUdeviceptr low, CUdeviceptr high);

/* Writes the addresses stored in [low, high) to `list` and returns their number, or -E2BIG if they are more than `room`. */
int spw_pointer_tables_members(CUdeviceptr low, CUdeviceptr high, CUdeviceptr *list, unsigned room);

/* From now on, pins what each remembered address points to, including those remembered already: a graph that may read any
 * table can be launched at any time. */
void spw_pointer_tables_pin(const char *why, const struct spw_pinning *pinning);

/* Extends the `count` addresses in `hits` by what can be reached from them through tables, with one address for each
 * allocation, and returns the new count, or -E2BIG. `meet` is called with an address, and returns whether the allocation
 * that holds it was met before in this operation, and its bounds; that ends cycles. SPW_MET_NOTHING: no allocation holds
 * it, and there are no bounds. `hit` is the index of the address among those given, or SPW_MET_IN_TABLE for one from a
 * table. */
enum spw_met { SPW_MET_NOTHING, SPW_MET_FIRST, SPW_MET_AGAIN };
#define SPW_MET_IN_TABLE UINT32_MAX
typedef enum spw_met spw_meet(void *context, CUdeviceptr address, unsigned hit, CUdeviceptr *ret_low, CUdeviceptr *ret_high);
int spw_pointer_tables_reach(CUdeviceptr *hits, unsigned count, unsigned room, spw_meet *meet, void *context);

/* Forgets everything: for tests. */
void spw_pointer_tables_reset(void);
#endif
