/* none.c - the planner that saves no memory: every tensor stays from its allocation to its last use.
 *
 * Guarantees the shortest time possible, or -ENOSPC where that does not fit. */
#include "plan/builder.h"
#include "plan/plan.h"

int spw_plan_none(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    struct spw_builder builder;
    int r = spw_builder_init(&builder, request->graph, schedule, request->device_bytes, request->host_bytes);
    if (r < 0)
        return r;
    for (uint32_t op = 0; op < request->graph->op_count && r == 0; op++) {
        r = spw_build_op(&builder);
        if (r == 0)
            r = spw_build_drop_dead(&builder, op);
    }
    if (r == 0)
        r = spw_build_end(&builder);
    spw_builder_finish(&builder);
    return r;
}
