/* course_actions.c - what a planner decided about a graph, as the engine has to carry it out. */
#include <errno.h>
#include <stdlib.h>

#include "course/course.h"
#include "plan/actions.h"

/* Whether it has to be done before operation `op` (op_count: behind the last one). */
static bool is_needed(const struct spw_course *course, enum spw_step_kind kind, uint32_t tensor, uint32_t op)
{
    const struct spw_course_tensor *t = &course->tensors[tensor];
    const bool lives_on = t->free_after == SPW_NO_INDEX;
    if (kind == SPW_STEP_H2D)
        return lives_on || (t->last_use != SPW_NO_INDEX && t->last_use >= op);
    if (kind != SPW_STEP_DROP)
        return true;
    /* The program has freed it, or does so here; and a graph drops at its end what carries over under another number. */
    return lives_on ? tensor < course->live_count || op < course->op_count : t->free_after >= op;
}

static void translate(const struct spw_course *course, const uint32_t *tensor_of, struct spw_actions *actions)
{
    uint32_t kept = 0, i = 0;
    for (uint32_t op = 0; op <= actions->op_count; op++) {
        const uint32_t end = actions->first[op + 1];
        actions->first[op] = kept;
        for (; i < end; i++) {
            struct spw_action action = actions->list[i];
            if (action.kind != SPW_STEP_REPLAY)
                action.id = tensor_of[action.id];
            if (action.kind == SPW_STEP_REPLAY || is_needed(course, action.kind, action.id, op))
                actions->list[kept++] = action;
        }
    }
    actions->first[actions->op_count + 1] = actions->count = kept;
}

int spw_course_actions(const struct spw_course *course, const struct spw_graph *graph, const uint32_t *tensor_of,
                       struct spw_actions *actions)
{
    uint8_t *start = calloc((size_t)course->tensor_count + 1, sizeof *start);
    if (!start)
        return -ENOMEM;
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        start[tensor_of[i]] = actions->start[i];
    free(actions->start);
    actions->start = start;
    translate(course, tensor_of, actions);
    return 0;
}
