/* residency.h - where the bytes of a block are, as one state, and the functions by which alone it changes.
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
 * attach, detach and the copies are functions of mover.c. Who leaves is begun in transfers.c and reclaim.c, and stays by
 * spw_mover_keep_locked(): as RESTORING, where it was that. RESIDENT and RESTORING are detached as well, where nobody is at
 * them. Where the driver refuses to unmap, a block that should be absent is so, with its memory; when it is detached later
 * it stays in its state.
 *
 *     state      what holds in it
 *     EMPTY      no memory, and no valid host copy: there are no bytes to keep
 *     RESIDENT   memory for all of it, mapped at its address, with the bytes
 *     RESTORING  the same, but that the bytes are there when operation `restore_number` of the copy-in stream is complete
 *     EVICTING   the same as one of these two; it is on its way out, and whoever needs it says first that it stays
 *     EVICTED    no memory; the host copy is valid, once the copies out are complete
 *     DROPPED    no memory; the bytes are nowhere, or in a host copy that is to be held against what is made
 *                (has_true_copy); content.maker can make them, and `drops`
 *
 * The state is kept as bits of `attention`, so that 0 there goes on meaning "use it": other bits, which say what else is to
 * be seen to, go beside it (ledger.h). */
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

/* EMPTY, EVICTED or DROPPED: it has no memory any more. EVICTING: it leaves. RESTORING: its bytes are on their way.
 * RESIDENT: it has memory. What it was before is an arrow of the drawing, and its members are as the state wants them. */
void spw_block_become_locked(struct spw_block *b, enum spw_residency state);

/* EVICTING, or not any more: it stays, and is what it was before that. */
void spw_block_stay_locked(struct spw_block *b);

/* If it was RESTORING, its bytes are there; also where it is about to leave again. */
void spw_block_arrived_locked(struct spw_block *b);
#endif
