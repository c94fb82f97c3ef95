/* derive.c - follows a schedule and finds what happens to each tensor between its uses. */
#include "search/derive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct followed {     /* one tensor, while the schedule is followed */
    uint32_t next;    /* index of its next use among its uses */
    bool was_dropped; /* since the last use */
};

/* Ends a gap at this use: a copy or a replay bridged it, or the tensor stayed. */
static void end_gap(const struct spw_graph *graph, struct followed *f, uint32_t tensor, bool came_by_copy, uint8_t *choices)
{
    const struct spw_graph_tensor *t = &graph->tensors[tensor];
    if (!f->was_dropped)
        return;
    const size_t gap = f->next ? (size_t)t->first_use + f->next - 1 : (size_t)graph->use_count + tensor;
    choices[gap] = came_by_copy ? SPW_SWAP : SPW_DROP;
}

static void follow_op(const struct spw_graph *graph, uint32_t index, struct followed *followed, const bool *by_copy,
                      uint8_t *choices)
{
    const struct spw_graph_op *op = &graph->ops[index];
    for (uint32_t i = 0; i < op->read_count + op->write_count; i++) {
        const struct spw_touched_tensor *touch = &graph->touched[op->first_read + i];
        struct followed *f = &followed[touch->tensor];
        if (i >= op->read_count && touch->in_place)
            continue;
        if (i < op->read_count)
            end_gap(graph, f, touch->tensor, by_copy[touch->tensor], choices);
        f->was_dropped = false;
        f->next++;
    }
}

/* Marks a dead tensor that a replay reads as retained or stored for that. */
static void follow_replay(const struct spw_graph *graph, uint32_t index, const struct followed *followed,
                          const bool *by_copy, uint8_t *choices)
{
    const struct spw_graph_op *op = &graph->ops[index];
    for (uint32_t i = 0; i < op->read_count; i++) {
        const uint32_t tensor = graph->touched[op->first_read + i].tensor;
        const struct spw_graph_tensor *t = &graph->tensors[tensor];
        const struct followed *f = &followed[tensor];
        if (t->persistent || f->next < t->use_count)
            continue;
        if (!f->was_dropped)
            choices[t->first_use + t->use_count - 1] = SPW_RETAIN;
        else if (by_copy[tensor])
            choices[t->first_use + t->use_count - 1] = SPW_STORE;
    }
}

int spw_derive_choices(const struct spw_graph *graph, const struct spw_schedule *schedule, uint8_t *choices)
{
    struct followed *followed = calloc((size_t)graph->tensor_count + 1, sizeof *followed);
    bool *by_copy = calloc((size_t)graph->tensor_count + 1, sizeof *by_copy);
    if (!followed || !by_copy) {
        free(followed);
        free(by_copy);
        return -ENOMEM;
    }
    memset(choices, SPW_KEEP, spw_choice_count(graph));
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        if (!t->persistent || schedule->start[i] != SPW_START_HOST)
            continue;
        choices[t->use_count ? (size_t)t->first_use + t->use_count - 1 : (size_t)graph->use_count + i] = SPW_SWAP;
    }
    for (size_t i = 0; i < schedule->count; i++) {
        const struct spw_step step = schedule->steps[i];
        if (step.kind == SPW_STEP_OP)
            follow_op(graph, step.id, followed, by_copy, choices);
        else if (step.kind == SPW_STEP_REPLAY)
            follow_replay(graph, step.id, followed, by_copy, choices);
        else if (step.kind == SPW_STEP_DROP)
            followed[step.id].was_dropped = true, by_copy[step.id] = false;
        else if (step.kind == SPW_STEP_H2D)
            by_copy[step.id] = true;
    }
    free(followed);
    free(by_copy);
    return 0;
}
