/* best.c - times each schedule that is offered, moves its copies according to these times, and keeps the fastest. */
#include "stages/best.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "grow.h"

enum { ROUNDS = 2 }; /* each moves the copies by the times of the previous round */

int spw_best_init(struct spw_best *best, const struct spw_plan_request *request, struct spw_schedule *found)
{
    *best = (struct spw_best){.request = request, .found = found, .us = INFINITY};
    int r = spw_schedule_init(&best->tried, request->graph);
    if (r == 0)
        r = spw_schedule_init(&best->moved, request->graph);
    if (r == 0)
        r = spw_prefetcher_create(request->graph, &best->prefetcher);
    return r == 0 ? spw_timer_create(request->graph, &request->machine, &best->timer) : r;
}

void spw_best_finish(struct spw_best *best)
{
    if (best->prefetcher)
        spw_prefetcher_destroy(best->prefetcher);
    if (best->timer)
        spw_timer_destroy(best->timer);
    spw_schedule_finish(&best->tried);
    spw_schedule_finish(&best->moved);
    free(best->start_us);
}

/* Times a schedule. Returns 0, -ENOSPC or -ENOMEM; the times are in best->start_us. */
static int judge(struct spw_best *best, const struct spw_schedule *schedule)
{
    struct spw_timing timing;
    size_t stuck;
    int r = SPW_GROW(best->start_us, best->start_room, schedule->count + 1);
    if (r == 0)
        r = spw_timer_run(best->timer, schedule, best->request->device_bytes, best->start_us, &timing, &stuck);
    if (r != 0)
        return r == -ENOMEM ? r : -ENOSPC;
    if (timing.time_us >= best->us)
        return 0;
    best->us = timing.time_us;
    return spw_schedule_copy(best->found, schedule, best->request->graph);
}

static bool has_copies(const struct spw_schedule *schedule)
{
    for (size_t i = 0; i < schedule->count; i++) {
        if (schedule->steps[i].kind == SPW_STEP_D2H || schedule->steps[i].kind == SPW_STEP_H2D)
            return true;
    }
    return false;
}

int spw_best_offer(struct spw_best *best)
{
    int r = judge(best, &best->tried);
    if (r < 0 || !has_copies(&best->tried))
        return r;
    r = spw_schedule_copy(&best->moved, &best->tried, best->request->graph);
    for (int round = 0; round < ROUNDS && r == 0; round++) {
        r = spw_prefetch(best->prefetcher, &best->moved, best->request->device_bytes, round ? best->start_us : NULL, 0.05);
        if (r == 0)
            r = judge(best, &best->moved);
    }
    return r == -ENOMEM ? r : 0; /* it was valid as it was offered */
}

int spw_best_ask(struct spw_best *best, spw_planner_function *make)
{
    best->tried.count = 0;
    for (uint32_t i = 0; i < best->request->graph->tensor_count; i++)
        best->tried.start[i] = SPW_START_DEVICE;
    const int r = make(best->request, &best->tried);
    return r == 0 ? spw_best_offer(best) : r;
}
