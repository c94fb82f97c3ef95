/* phys_pool.h - physical device memory in pieces: made, recycled in any combination, and never more of it than the budget.
 *
 * To map a piece and to unmap it again takes the driver longer than to make one and to release it, whatever its size
 * (docs/decisions/032-make-memory-to-measure.md). So a range is given one piece of its own size, or, where it is larger than
 * SPW_PIECE_GRANULES, as few as can be: one that is pooled, one that is made while the budget lasts, or one that is made in
 * place of others, which are released. Those that are still mapped elsewhere (alias_map.h) cannot be released, and serve as
 * they are. Everything made counts against the budget, in use or not.
 */
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
    uint64_t budget_bytes;  /* for made_bytes */
    uint64_t lacking_bytes; /* taken off the budget since the device turned out not to have them */
    uint64_t made_bytes;    /* all physical memory of ours on this device */
    uint64_t made_bytes_peak;
    uint64_t pooled_bytes;                    /* the part of it that nobody uses */
    uint64_t lingering_bytes;                 /* of made_bytes: released, and still mapped somewhere */
    uint64_t made_count;                      /* pieces that exist */
    uint32_t made_of[SPW_PIECE_GRANULES + 1]; /* of these, by size */
    struct spw_alias_map aliases;
    bool make_refused;     /* the device gave less than it had taken back: nothing is released for larger pieces any more */
    uint64_t remade_count; /* pieces that were made in place of others */
    uint32_t bin_count, bin_room;
    struct spw_phys_bin *bins; /* by size, ascending */
};

/* Puts so many granules more behind what `memory` has. 0; -ENOMEM: the budget or the device has no room, or there is no
 * memory for the list of pieces; where it is the device, the budget is lowered to what there is; -EBUSY: all that there is
 * is larger than what is missing, and stale somewhere (deferred_unmap.h); or a failure of the driver. After a failure
 * `memory` is as it was. */
int spw_phys_pool_take_locked(struct spw_phys_pool *h, uint32_t granules, struct spw_memory *memory);

/* How many of so many granules could not be taken now, since all pieces that are left are larger and stale somewhere. */
uint32_t spw_phys_pool_unserved_locked(const struct spw_phys_pool *h, uint32_t granules);

/* So many granules can be taken in pieces as large as they come, and none is released for them. */
bool spw_phys_pool_suits_locked(const struct spw_phys_pool *h, uint32_t granules);

/* Nobody uses the piece. */
bool spw_phys_pool_has_pooled_locked(const struct spw_phys_pool *h, struct spw_piece piece);

/* Keeps the pieces behind the first `keep` for the next taker. They are mapped nowhere. */
void spw_phys_pool_give_locked(struct spw_phys_pool *h, struct spw_memory *memory, uint32_t keep);

/* A piece is not mapped any more where it was stale. */
void spw_phys_pool_alias_ends_locked(struct spw_phys_pool *h, struct spw_piece piece,
                                     const struct spw_deferred_unmap *stale);

/* Makes two of what lies behind a range, or one of what lies behind two, as in pieces.h. */
int spw_phys_pool_split_locked(struct spw_phys_pool *h, struct spw_memory *memory, uint32_t keep, struct spw_memory *rest);
int spw_phys_pool_join_locked(struct spw_phys_pool *h, struct spw_memory *into, struct spw_memory *from);

/* Puts back on the budget what the device lacked, since it may have it by now. False when there is nothing to put back. */
bool spw_phys_pool_ask_again_locked(struct spw_phys_pool *h);

/* What spw_phys_pool_take_locked() could hand out at most now without anybody giving something back. */
uint64_t spw_phys_pool_room_locked(const struct spw_phys_pool *h);

/* Releases pooled pieces until what was made is within the budget, which has been lowered. */
void spw_phys_pool_fit_locked(struct spw_phys_pool *h);

/* Releases pooled pieces until at most `keep_bytes` are pooled. */
void spw_phys_pool_trim_locked(struct spw_phys_pool *h, uint64_t keep_bytes);

/* Forgets all pieces, without a driver call: for tests. */
void spw_phys_pool_reset(struct spw_phys_pool *h);
#endif
