/* actions.c - assigns each step of a schedule to the operation before which it happens. */
#include "plan/actions.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "plan/builder.h"

/* One tensor, while the steps are visited in order. */
struct state {
    uint32_t complete; /* position after the step that completed its contents */
    uint32_t used;     /* position after the last step that needed it */
};

struct moving {
    const struct spw_graph *graph;
    const struct spw_schedule *schedule;
    struct state *states;
    uint32_t *position; /* for each step: the step before which it is put; its own index if it stays */
};

static void note_use(struct moving *m, const struct spw_step *step, uint32_t behind)
{
    const struct spw_graph_op *op = &m->graph->ops[step->id];
    for (uint32_t i = 0; i < op->read_count + op->write_count; i++) {
        const struct spw_touched_tensor *touch = &m->graph->touched[op->first_read + i];
        if (step->kind == SPW_STEP_REPLAY && touch->side)
            continue;
        m->states[touch->tensor].used = behind;
        if (i >= op->read_count)
            m->states[touch->tensor].complete = behind;
    }
}

/* Decides where each step goes. Copies out keep their order, and a drop comes after the copy out before it. */
static void place(struct moving *m, bool may_hoist)
{
    uint32_t behind_out = 0; /* position after the last copy out */
    for (uint32_t i = 0; i < m->schedule->count; i++) {
        const struct spw_step *step = &m->schedule->steps[i];
        m->position[i] = i;
        if (step->kind <= SPW_STEP_REPLAY) {
            note_use(m, step, i + 1);
            continue;
        }
        struct state *state = &m->states[step->id];
        if (step->kind == SPW_STEP_D2H) {
            const uint32_t from = m->graph->tensors[step->id].copied_alone ? state->used : state->complete;
            const uint32_t soonest = from > behind_out ? from : behind_out;
            if (may_hoist && soonest < i)
                m->position[i] = soonest;
            behind_out = m->position[i] == i ? i + 1 : m->position[i];
            state->used = state->used > behind_out ? state->used : behind_out;
        } else if (step->kind == SPW_STEP_DROP) {
            m->position[i] = state->used;
        } else {
            state->complete = state->used = i + 1;
        }
    }
}

/* Writes the steps in the order of their positions. Those that are moved to the same position keep their order, and come
 * before the step that stays there. */
static int rewrite(const struct moving *m, struct spw_step *steps)
{
    const uint32_t count = (uint32_t)m->schedule->count;
    uint32_t *next = calloc((size_t)count + 2, sizeof *next);
    if (!next)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        next[m->position[i] + 1]++;
    for (uint32_t i = 0; i < count; i++)
        next[i + 1] += next[i];
    for (uint32_t i = 0; i < count; i++) /* steps that were moved here come from later positions */
        if (m->position[i] != i)
            steps[next[m->position[i]]++] = m->schedule->steps[i];
    for (uint32_t i = 0; i < count; i++)
        if (m->position[i] == i)
            steps[next[i]++] = m->schedule->steps[i];
    free(next);
    return 0;
}

/* Repeats the steps with a builder, which refuses an invalid one. */
static int rebuild(const struct spw_graph *graph, const struct spw_step *steps, size_t count, uint64_t host_bytes,
                   struct spw_schedule *schedule)
{
    struct spw_builder b = {0};
    int r = spw_builder_init(&b, graph, schedule, UINT64_MAX / 2, host_bytes);
    for (size_t i = 0; i < count && r == 0; i++) {
        const uint32_t id = steps[i].id;
        switch (steps[i].kind) {
        case SPW_STEP_OP:
            r = id == b.next_op ? spw_build_op(&b) : -EINVAL;
            break;
        case SPW_STEP_REPLAY:
            r = spw_build_replay(&b, id);
            break;
        case SPW_STEP_D2H:
            r = spw_build_d2h(&b, id);
            break;
        case SPW_STEP_H2D:
            r = spw_build_h2d(&b, id);
            break;
        default:
            r = spw_build_drop(&b, id);
        }
    }
    if (r == 0 && b.next_op < graph->op_count)
        r = -EINVAL;
    spw_builder_finish(&b);
    return r;
}

static int list_actions(const struct spw_graph *graph, const struct spw_schedule *schedule, struct spw_actions *ret_actions)
{
    struct spw_actions a = {.op_count = graph->op_count};
    a.list = malloc((schedule->count + 1) * sizeof *a.list);
    a.first = malloc(((size_t)graph->op_count + 2) * sizeof *a.first);
    a.start = malloc((size_t)graph->tensor_count + 1);
    if (!a.list || !a.first || !a.start) {
        spw_actions_finish(&a);
        return -ENOMEM;
    }
    memcpy(a.start, schedule->start, graph->tensor_count);
    uint32_t op = 0;
    a.first[0] = 0;
    for (size_t i = 0; i < schedule->count; i++) {
        if (schedule->steps[i].kind == SPW_STEP_OP)
            a.first[++op] = a.count;
        else
            a.list[a.count++] = (struct spw_action){schedule->steps[i].kind, schedule->steps[i].id};
    }
    a.first[graph->op_count + 1] = a.count;
    *ret_actions = a;
    return 0;
}

static int move(struct moving *m, uint64_t host_bytes, struct spw_schedule *moved)
{
    struct spw_step *steps = calloc(m->schedule->count + 1, sizeof *steps);
    int r = steps ? -EINVAL : -ENOMEM;
    for (int may_hoist = 1; may_hoist >= 0 && (r == -EINVAL || r == -ENOSPC); may_hoist--) {
        memset(m->states, 0, m->graph->tensor_count * sizeof *m->states);
        place(m, may_hoist);
        r = rewrite(m, steps);
        if (r == 0)
            r = rebuild(m->graph, steps, m->schedule->count, host_bytes, moved);
    }
    free(steps);
    return r == -ENOSPC ? -EINVAL : r;
}

int spw_actions_of(const struct spw_graph *graph, const struct spw_schedule *schedule, uint64_t host_bytes,
                   struct spw_actions *ret_actions)
{
    struct moving m = {.graph = graph, .schedule = schedule};
    struct spw_schedule moved = {0};
    m.states = malloc(((size_t)graph->tensor_count + 1) * sizeof *m.states);
    m.position = malloc((schedule->count + 1) * sizeof *m.position);
    int r = m.states && m.position ? spw_schedule_init(&moved, graph) : -ENOMEM;
    if (r == 0) {
        memcpy(moved.start, schedule->start, graph->tensor_count);
        r = move(&m, host_bytes, &moved);
    }
    if (r == 0)
        r = list_actions(graph, &moved, ret_actions);
    spw_schedule_finish(&moved);
    free(m.states);
    free(m.position);
    return r;
}

void spw_actions_finish(struct spw_actions *actions)
{
    free(actions->list);
    free(actions->first);
    free(actions->start);
    *actions = (struct spw_actions){0};
}

int spw_actions_steps(const struct spw_actions *actions, struct spw_schedule *schedule)
{
    int r = 0;
    schedule->count = 0;
    for (uint32_t op = 0; op <= actions->op_count && r == 0; op++) {
        for (uint32_t i = actions->first[op]; i < actions->first[op + 1] && r == 0; i++)
            r = spw_schedule_add(schedule, actions->list[i].kind, actions->list[i].id);
        if (r == 0 && op < actions->op_count)
            r = spw_schedule_add(schedule, SPW_STEP_OP, op);
    }
    return r;
}
