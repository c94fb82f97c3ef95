/* meeting.h - kernels that wait for kernels of other devices (../image.h), and how far the device may go on meanwhile. */
#ifndef SIMGPU_DRIVER_MEETING_H
#define SIMGPU_DRIVER_MEETING_H
#include "../program.h"
#include "op.h"

/* Whether the operation is such a kernel. */
static inline bool meeting_is(const struct op *op)
{
    return op->kind == OP_KERNEL && op->u.run.kernel->meeting;
}

/* Its turn in its stream has come, at op->ready_ns: it arrives, and waits from now on. */
void meeting_begin(struct op *op);

/* One of those that wait and may go on, which waits no more: it has op->ready_ns when the last of the others came, and its
 * work before it. NULL: there is none. One whose context has failed goes on as well. */
struct op *meeting_take(void);

/* The earliest time at which one that waits could go on, and could be complete, when meeting_take() found none. What comes
 * later on the device may depend on the others. Infinite: none waits, or none for somebody who is to be waited for. */
double meeting_limit_ns(void);
double meeting_horizon_ns(void);
bool meeting_any(void); /* waits */

/* None of this device's comes before `now_ns`: others go on as far. While the host waits for others' they do as they like.
 * What happens on the device has brought it to `moved_ns`. */
void meeting_tell(double now_ns, double moved_ns);
/* A thread of the host waits for others' hosts (../program.h), or no more. From now on `tell` is told. */
void meeting_leave(simgpu_clock_tell *tell);
void meeting_return(void);
#endif
