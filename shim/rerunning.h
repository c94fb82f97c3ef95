/* rerunning.h - one operation that was kept runs again: what it touches is made ready, the small allocations that it writes
 * are lent the content that they had, and whoever comes after it is ordered.
 *
 * Used by replay.c alone, and by whoever is owed something. */
#ifndef SPILLWAY_SHIM_RERUNNING_H
#define SPILLWAY_SHIM_RERUNNING_H
#include "needs.h"

struct spw_lent_slot { /* a small allocation while the operation runs */
    struct spw_slot *slot;
    const struct spw_rerun_touch *touch;
    uint32_t offset; /* in the stash: what it held */
    bool away;       /* that is there */
};

struct spw_rerunning {
    struct spw_rerun *rerun;   /* held */
    struct spw_block **blocks; /* by touch, held; NULL: a slot */
    bool *attached;            /* by touch: it was given memory to be written anew, and holds nothing yet */
    struct spw_lent_slot *lent;
    unsigned lent_count;
};

/* Holds the operation and the blocks that it touches. 0; -ESTALE: they are not all there; -ENOMEM. To be ended in any case.
 */
int spw_rerunning_begin(struct spw_rerunning *run, struct spw_rerun *rerun);

/* Makes everything ready and submits it, to `s` if that can be. 0: whatever it writes is resident, and drops no more; else
 * what was absent is so still, or has come in. Needs the device's slow lock and the engine lock, which it lets go of while
 * it waits. */
int spw_rerunning_run_unlocking(struct spw_rerunning *run, struct spw_device *d, struct spw_stream *s);

void spw_rerunning_end_locked(struct spw_rerunning *run);
#endif
