/* phys_pool.h - physical device memory in pieces: made, recycled in any combination, and never more of it than the budget.
 *
 * Making memory is the dearest call of the driver's virtual memory management, and each piece costs a mapping. So memory is
 * made in pieces of the size that is asked for, up to SPW_PIECE_GRANULES, as long as the budget lasts; pieces are kept when
 * they come back and given out again, the largest that fit first; and only where all that are left are larger than what is
 * missing is one of these cut, released and made again as smaller ones. So there are soon pieces that serve whatever the
 * program goes on doing, and none is made any more. They may be smaller than need be. Where that costs too much time they
 * are regrouped for a limited number of iterations: it is counted how many of each size are wanted at once
 * (size_histogram.h), and where one is missing, smaller ones that nobody will want are released, and it is made in their
 * place. Everything made counts against the budget, in use or not.
 */
#ifndef SPILLWAY_SHIM_PHYS_POOL_H
#define SPILLWAY_SHIM_PHYS_POOL_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "alias_map.h"
#include "size_histogram.h"
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
    struct spw_size_histogram demand;
    struct spw_alias_map aliases;
    uint32_t joined_granules; /* in this iteration */
    bool join_refused;        /* the device gave less than it had taken back: nothing is joined any more */
    uint64_t join_count;      /* pieces that were made of smaller ones */
    uint64_t cut_count;       /* pieces that smaller ones were made of */
    uint32_t bin_count;
    struct spw_phys_bin *bins; /* by size, ascending */
};

/* Puts so many granules more behind what `memory` has. 0; -ENOMEM: the budget or the device has no room, or there is no
 * memory for the list of pieces; where it is the device, the budget is lowered to what there is; -EBUSY: a piece has to
 * be cut, and all that could be are stale somewhere (deferred_unmap.h); or a failure of the driver. After a failure `memory`
 * is as it was. */
int spw_phys_pool_take_locked(struct spw_phys_pool *h, uint32_t granules, struct spw_memory *memory);

/* How many of so many granules the pooled pieces would not serve, since all that are left are larger; 0: none has to be cut.
 */
uint32_t spw_phys_pool_unserved_locked(const struct spw_phys_pool *h, uint32_t granules);

/* What the pool has is enough for so many granules: as it is, or there is a piece that can be cut now. */
bool spw_phys_pool_can_serve_locked(const struct spw_phys_pool *h, uint32_t granules);

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

/* From the third iteration from now on pieces are regrouped, for SPW_SIZE_HISTOGRAM_REGROUPS iterations. */
void spw_phys_pool_regroup_locked(struct spw_phys_pool *h);

/* An iteration begins that is followed: it counts, and some may be joined again. */
void spw_phys_pool_iteration_locked(struct spw_phys_pool *h);

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
