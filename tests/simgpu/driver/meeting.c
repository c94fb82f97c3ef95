/* meeting.c - a list of the kernels that wait. */
#include "meeting.h"

#include <math.h>

#include "exec.h"
#include "objects.h"

static struct op *waiting; /* by op->next, in the order in which they came */

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
    for (struct op **at = &waiting; *at; at = &(*at)->next) {
        struct op *op = *at;
        double since_ns;
        if (!may_go_on(op, &since_ns))
            continue;
        *at = op->next;
        op->next = NULL;
        op->work_ns = op->u.run.link_ns;
        if (since_ns > op->ready_ns)
            op->ready_ns = since_ns;
        return op;
    }
    return NULL;
}

double meeting_horizon_ns(void)
{
    double horizon_ns = INFINITY;
    for (const struct op *op = waiting; op; op = op->next)
        if (op->ready_ns + op->u.run.link_ns < horizon_ns)
            horizon_ns = op->ready_ns + op->u.run.link_ns;
    return horizon_ns;
}
