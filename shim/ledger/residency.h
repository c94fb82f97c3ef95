/* residency.h - the state that says where the bytes of a block are, and the only functions that change it.
 *
 *     EMPTY -------attach------> RESIDENT <--arrived--- RESTORING
 *     EVICTED -----attach------>  |    | ---copy in------>  |
 *     DROPPED -----attach------>  |    |                    |
 *                                 |    +--leaves---------+--+
 *                                 |                      v
 *                                 +<--------stays--- EVICTING --detach--> EVICTED, EMPTY, or DROPPED where it `drops`
 *
 *     DROPPED --nobody needs the bytes--> EMPTY            dependents.c, replay.c
 *     DROPPED --its maker is distrusted--> EVICTED         verify.c: it has a copy
 *
 * attach, detach and the copies are functions of mover.c. Evictions begin in transfers.c and reclaim.c;
 * spw_mover_keep_locked() makes a block stay, as RESTORING if it was that. RESIDENT and RESTORING blocks may be detached
 * directly if nothing uses them. If the driver refuses to unmap, a block changes to an absent state and keeps its memory;
 * when it is detached later, its state stays the same.
 *
 *     state      what holds in it
 *     EMPTY      no memory, and no valid host copy: there are no bytes to keep
 *     RESIDENT   memory for the whole block, mapped at its address, holds the bytes
 *     RESTORING  the same, but the bytes are there only once operation `restore_number` of the copy-in stream is complete
 *     EVICTING   the same as one of these two; the block is being evicted, and whoever needs it first makes it stay
 *     EVICTED    no memory; the host copy is valid, once the copies out are complete
 *     DROPPED    no memory; the bytes are nowhere, or in a host copy that will be compared with what is made
 *                (has_true_copy); content.maker can make them, and `drops` is set
 *
 * The state is kept as bits of `attention`, so that 0 there always means "use it". Other bits, for other reasons to look
 * closer, are independent of it (ledger.h). */
#ifndef SPILLWAY_SHIM_RESIDENCY_H
#define SPILLWAY_SHIM_RESIDENCY_H
#include "check.h"
#include "ledger.h"

enum spw_residency {
    SPW_RESIDENCY_EMPTY,
    SPW_RESIDENCY_RESIDENT,
    SPW_RESIDENCY_RESTORING,
    SPW_RESIDENCY_EVICTING,
    SPW_RESIDENCY_EVICTED,
    SPW_RESIDENCY_DROPPED
};

enum spw_residency spw_block_residency(const struct spw_block *b);

/* Changes the state. The change has to be an arrow of the drawing, and the block's members have to be as the new state
 * requires. EMPTY, EVICTED, DROPPED: the block has lost its memory. EVICTING: it is being evicted. RESTORING: its bytes are
 * being copied in. RESIDENT: it has got memory. */
void spw_block_become_locked(struct spw_block *b, enum spw_residency state);

/* The block stays: if it is EVICTING, it becomes again what it was before. */
void spw_block_stay_locked(struct spw_block *b);

/* The bytes of a RESTORING block have arrived, even if it is being evicted again; no effect in other states. */
void spw_block_arrived_locked(struct spw_block *b);
#endif
