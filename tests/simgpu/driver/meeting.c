/* meeting.c - a list of the kernels that wait, and what others are told of this device. */
#include "meeting.h"

#include <math.h>

#include "exec.h"
#include "objects.h"

static struct op *waiting;                                /* by op->next, in the order in which they came */
static double limit_ns = INFINITY, horizon_ns = INFINITY; /* as of the last look at all of them */

void meeting_begin(struct op *op)
{
    struct op **at = &waiting;
    if (!op->context->error)
        exec_arrive(op);
    while (*at)
        at = &(*at)->next;
    op->next = NULL;
    *at = op;
}

static bool may_go_on(const struct op *op, double *ret_since_ns)
{
    *ret_since_ns = op->ready_ns;
    return op->context->error || op->u.run.kernel->meeting->is_complete(&op->u.run.launch, op->u.run.image, ret_since_ns);
}

struct op *meeting_take(void)
{
    limit_ns = horizon_ns = INFINITY;
    for (struct op **at = &waiting; *at; at = &(*at)->next) {
        struct op *op = *at;
        double since_ns;
        if (!may_go_on(op, &since_ns)) {
            if (since_ns < limit_ns)
                limit_ns = since_ns;
            if (since_ns + op->u.run.link_ns < horizon_ns)
                horizon_ns = since_ns + op->u.run.link_ns;
            continue;
        }
        *at = op->next;
        op->next = NULL;
        op->work_ns = op->u.run.link_ns;
        if (since_ns > op->ready_ns)
            op->ready_ns = since_ns;
        return op;
    }
    return NULL;
}

double meeting_limit_ns(void)
{
    return limit_ns;
}

double meeting_horizon_ns(void)
{
    return horizon_ns;
}

bool meeting_any(void)
{
    return waiting;
}

/* ---- what others are told ---- */

static struct {
    simgpu_clock_tell *tell; /* NULL: there are no others */
    unsigned away;           /* threads that wait for others' hosts */
    double told_ns, moved_ns;
} others;

void meeting_tell(double now_ns, double moved_ns)
{
    if (others.away)
        now_ns = INFINITY;
    if (moved_ns < others.moved_ns)
        moved_ns = others.moved_ns;
    if (others.tell && (now_ns != others.told_ns || moved_ns != others.moved_ns))
        others.tell(now_ns, moved_ns);
    others.told_ns = now_ns;
    others.moved_ns = moved_ns;
}

void meeting_leave(simgpu_clock_tell *tell)
{
    others.tell = tell;
    others.away++;
    meeting_tell(INFINITY, 0);
}

void meeting_return(void)
{
    others.away--;
}
