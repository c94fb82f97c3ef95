/* schedule.c - a list of steps that grows. */
#include "plan/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"

int spw_schedule_init(struct spw_schedule *schedule, const struct spw_graph *graph)
{
    *schedule = (struct spw_schedule){.start = calloc((size_t)graph->tensor_count + 1, 1)};
    return schedule->start ? 0 : -ENOMEM;
}

void spw_schedule_finish(struct spw_schedule *schedule)
{
    free(schedule->steps);
    free(schedule->start);
    *schedule = (struct spw_schedule){0};
}

int spw_schedule_reserve(struct spw_schedule *schedule, size_t room)
{
    return SPW_GROW(schedule->steps, schedule->room, room);
}

int spw_schedule_add(struct spw_schedule *schedule, enum spw_step_kind kind, uint32_t id)
{
    if (spw_schedule_reserve(schedule, schedule->count + 1) < 0)
        return -ENOMEM;
    schedule->steps[schedule->count++] = (struct spw_step){kind, id};
    return 0;
}

int spw_schedule_copy(struct spw_schedule *to, const struct spw_schedule *from, const struct spw_graph *graph)
{
    if (spw_schedule_reserve(to, from->count + 1) < 0)
        return -ENOMEM;
    if (from->count)
        memcpy(to->steps, from->steps, from->count * sizeof *to->steps);
    to->count = from->count;
    memcpy(to->start, from->start, graph->tensor_count);
    return 0;
}

const char *spw_step_name(enum spw_step_kind kind)
{
    static const char *const names[SPW_STEP_KINDS] = {"op", "replay", "d2h", "h2d", "drop"};
    return kind < SPW_STEP_KINDS ? names[kind] : "?";
}
