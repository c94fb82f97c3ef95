/* meeting.h - kernels that wait for kernels of other devices (../image.h), and for how long the others may be waited for. */
#ifndef SIMGPU_DRIVER_MEETING_H
#define SIMGPU_DRIVER_MEETING_H
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

/* The earliest time at which one that waits could be complete; infinite where none waits. What happens on the device before
 * that does not depend on the others. */
double meeting_horizon_ns(void);
#endif
