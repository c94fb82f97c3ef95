/* phys_pool.h - makes pieces of physical device memory, reuses them in any combination, and never has more of them than the
 * budget.
 *
 * Mapping a piece and unmapping it takes the driver longer than making and releasing one, whatever its size
 * (docs/decisions/032-make-memory-to-measure.md). So a range gets one piece of its own size, or as few as possible if it is
 * larger than SPW_PIECE_GRANULES. Such a piece is a pooled one, is made while the budget lasts, or is made in place of
 * pooled ones, which are released. Pieces that are still mapped elsewhere (alias_map.h) cannot be released, and are used as
 * they are. Every piece that exists counts against the budget, in use or not. */
#ifndef SPILLWAY_SHIM_PHYS_POOL_H
#define SPILLWAY_SHIM_PHYS_POOL_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "alias_map.h"
#include "pieces.h"

struct spw_phys_bin { /* the pooled pieces of one size */
    uint32_t granules;
    uint32_t count, room;
    CUmemGenericAllocationHandle *handles;
};

struct spw_phys_pool {
    int device;
    unsigned granule_shift;
    uint64_t budget_bytes;  /* limit for made_bytes */
    uint64_t lacking_bytes; /* taken off the budget since the device turned out not to have them */
    uint64_t made_bytes;    /* all of our physical memory on this device */
    uint64_t made_bytes_peak;
    uint64_t pooled_bytes;                    /* the part of it that is not in use */
    uint64_t lingering_bytes;                 /* the part of made_bytes that was released and is still mapped somewhere */
    uint64_t made_count;                      /* number of pieces that exist */
    uint32_t made_of[SPW_PIECE_GRANULES + 1]; /* the same by size in granules */
    struct spw_alias_map aliases;
    bool make_refused;     /* the device gave less than was released to it before: no piece is released for a larger one any
                            * more */
    uint64_t remade_count; /* number of pieces that were made in place of others */
    uint32_t bin_count, bin_room;
    struct spw_phys_bin *bins; /* by size, ascending */
};

/* Appends `granules` granules to what `memory` has. Returns 0; -ENOMEM if the budget or the device has no room, or there is
 * no memory for the list of pieces (if it is the device, the budget is lowered to what there is); -EBUSY if all pieces that
 * are left are larger than what is missing and still mapped elsewhere (deferred_unmap.h); or a failure of the driver. After
 * a failure `memory` is as it was. */
int spw_phys_pool_take_locked(struct spw_phys_pool *h, uint32_t granules, struct spw_memory *memory);

/* Returns how many of `granules` granules could not be taken at the moment, because all pieces that are left are larger and
 * still mapped elsewhere. */
uint32_t spw_phys_pool_unserved_locked(const struct spw_phys_pool *h, uint32_t granules);

/* Returns true if `granules` granules can be taken in the largest possible pieces, and none is released for that. */
bool spw_phys_pool_suits_locked(const struct spw_phys_pool *h, uint32_t granules);

/* Returns true if the piece is in the pool. */
bool spw_phys_pool_has_pooled_locked(const struct spw_phys_pool *h, struct spw_piece piece);

/* Puts the pieces behind the first `keep` into the pool. They are not mapped at their range any more. */
void spw_phys_pool_give_locked(struct spw_phys_pool *h, struct spw_memory *memory, uint32_t keep);

/* A piece is not mapped any more at an address that had given it up. */
void spw_phys_pool_alias_ends_locked(struct spw_phys_pool *h, struct spw_piece piece,
                                     const struct spw_deferred_unmap *stale);

/* Split or join what lies behind ranges, as in pieces.h. */
int spw_phys_pool_split_locked(struct spw_phys_pool *h, struct spw_memory *memory, uint32_t keep, struct spw_memory *rest);
int spw_phys_pool_join_locked(struct spw_phys_pool *h, struct spw_memory *into, struct spw_memory *from);

/* Raises the budget again by what the device lacked, since it may have it by now. Returns false if there is nothing to
 * restore. */
bool spw_phys_pool_ask_again_locked(struct spw_phys_pool *h);

/* Returns the most that spw_phys_pool_take_locked() could give out at the moment, if nothing is given back. */
uint64_t spw_phys_pool_room_locked(const struct spw_phys_pool *h);

/* Releases pooled pieces until what exists is within the budget, which was lowered. */
void spw_phys_pool_fit_locked(struct spw_phys_pool *h);

/* Releases pooled pieces until at most `keep_bytes` are pooled. */
void spw_phys_pool_trim_locked(struct spw_phys_pool *h, uint64_t keep_bytes);

/* Forgets all pieces, without a driver call: for tests. */
void spw_phys_pool_reset(struct spw_phys_pool *h);
#endif
