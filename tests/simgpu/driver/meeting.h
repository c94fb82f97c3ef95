/* meeting.h - handles kernels that wait for kernels of other devices (../image.h), and how far the device may go on
 * meanwhile. */
#ifndef SIMGPU_DRIVER_MEETING_H
#define SIMGPU_DRIVER_MEETING_H
#include "../program.h"
#include "op.h"

/* Returns true if the operation is such a kernel. */
static inline bool meeting_is(const struct op *op)
{
    return op->kind == OP_KERNEL && op->u.run.kernel->meeting;
}

/* To be called when its turn in its stream comes, at op->ready_ns: it arrives, and waits from now on. */
void meeting_begin(struct op *op);

/* Returns one that may go on and stops its wait: op->ready_ns is when the last of the others came, and its work is still
 * to come. NULL: there is none. One whose context has failed goes on too. */
struct op *meeting_take(void);

/* After meeting_take() found none: the earliest time at which one that waits could go on, and at which it could be
 * complete. Anything later on the device may depend on the others. Infinite: none waits, or none for a rank that has to
 * be waited for. */
double meeting_limit_ns(void);
double meeting_horizon_ns(void);
bool meeting_any(void); /* some kernel waits */

/* Reports that no kernel of this device comes before `now_ns`: others go on up to there. While the host waits for other
 * hosts, they need not wait. Events on the device have brought it to `moved_ns`. */
void meeting_tell(double now_ns, double moved_ns);
/* A host thread begins, or ends, to wait for other hosts (../program.h). From now on `tell` is called. */
void meeting_leave(simgpu_clock_tell *tell);
void meeting_return(void);
#endif
