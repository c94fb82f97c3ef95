/* course_actions.c - translates a plan for the graph into what the engine has to do.
 *
 * Actions before operation o are executed as soon as operation o - 1 was submitted, that is, before the program gets to
 * its frees after o - 1. A replay for which there is no room at that time is executed when operation o comes, after
 * those frees. So a tensor that is freed after operation f is a ghost if a replay before operation f + 1 or a later one
 * touches it, or if it is copied in there. */
#include <errno.h>
#include <stdlib.h>

#include "course/course.h"
#include "plan/actions.h"
#include "plan/lineage.h"

#define ABSENT UINT32_MAX

/* One tensor of the graph, while the steps are visited in order. */
struct state {
    uint32_t device, host; /* versions */
    uint32_t replayed;     /* the last operation before which a replay touches it, plus 1; 0: none does */
    bool is_ghost;         /* it is copied in after its free */
    bool stays_away;       /* the copy in that the plan wants is left out, since no operation will touch it */
};

struct translating {
    const struct spw_course *course;
    const struct spw_graph *graph;
    const uint32_t *tensor_of;
    struct spw_actions *actions;
    struct state *states;
    struct spw_course_marks marks;
    uint8_t *start;
};

static bool lives_on(const struct spw_course_tensor *t)
{
    return t->free_after == SPW_NO_INDEX;
}

/* Returns true if a tensor that no replay needs has to be dropped before operation `op`: the program has not freed it by
 * then, nor does so there. At its end a graph also drops the tensors that carry over under another number. */
static bool is_dropped(const struct spw_course *course, uint32_t tensor, uint32_t op)
{
    const struct spw_course_tensor *t = &course->tensors[tensor];
    return lives_on(t) ? tensor < course->live_count || op < course->op_count : t->free_after >= op;
}

/* ---- visiting the steps ---- */

/* Marks the operations that made the tensor's contents, if these are dropped without a copy and have to be made again. */
static void mark_maker(struct translating *tr, uint32_t tensor, uint32_t op)
{
    const struct state *s = &tr->states[tensor];
    if (s->device == ABSENT || s->host == s->device || !is_dropped(tr->course, tr->tensor_of[tensor], op))
        return;
    const uint32_t first = spw_lineage_first_maker(tr->graph, tensor, s->device);
    for (uint32_t version = s->device, op = SPW_NO_INDEX; first != SPW_NO_INDEX && op != first; version--) {
        op = spw_graph_producer(tr->graph, tensor, version);
        tr->marks.recorded[op] = true;
    }
}

/* Applies a replay before operation `before`, or the operation itself. */
static void run(struct translating *tr, uint32_t op, bool is_replay, uint32_t before)
{
    const struct spw_graph_op *o = &tr->graph->ops[op];
    const struct spw_touched_tensor *touches = &tr->graph->touched[o->first_read];
    for (uint32_t i = 0; i < o->read_count + o->write_count; i++) {
        struct state *s = &tr->states[touches[i].tensor];
        if (is_replay && touches[i].side)
            continue;
        if (is_replay)
            s->replayed = before + 1;
        if (i < o->read_count)
            continue;
        s->device = touches[i].version;
        s->host = is_replay ? s->host : ABSENT;
    }
}

static void act(struct translating *tr, const struct spw_action *action, uint32_t before)
{
    struct state *s = &tr->states[action->id];
    switch (action->kind) {
    case SPW_STEP_REPLAY:
        tr->marks.recorded[action->id] = true;
        run(tr, action->id, true, before);
        break;
    case SPW_STEP_D2H:
        s->host = s->device;
        break;
    case SPW_STEP_H2D:
        s->device = s->host;
        s->is_ghost |= before > tr->course->tensors[tr->tensor_of[action->id]].free_after;
        break;
    default:
        mark_maker(tr, action->id, before);
        s->device = ABSENT;
    }
}

static void follow(struct translating *tr)
{
    for (uint32_t i = 0; i < tr->graph->tensor_count; i++)
        tr->states[i] = (struct state){.device = tr->actions->start[i] == SPW_START_HOST ? ABSENT : 0,
                                       .host = tr->actions->start[i] == SPW_START_DEVICE ? ABSENT : 0};
    for (uint32_t op = 0; op <= tr->actions->op_count; op++) {
        for (uint32_t i = tr->actions->first[op]; i < tr->actions->first[op + 1]; i++)
            act(tr, &tr->actions->list[i], op);
        if (op < tr->actions->op_count)
            run(tr, op, false, op);
    }
}

static void find_ghosts(struct translating *tr)
{
    for (uint32_t i = 0; i < tr->graph->tensor_count; i++) {
        const uint32_t tensor = tr->tensor_of[i];
        if (tensor == SPW_NO_INDEX || lives_on(&tr->course->tensors[tensor]))
            continue;
        tr->marks.ghosts[tensor] =
            tr->states[i].is_ghost || tr->states[i].replayed > (uint64_t)tr->course->tensors[tensor].free_after + 1;
    }
}

/* ---- which actions remain ---- */

/* Returns true if the action has to be done before operation `op` (op_count: after the last one). */
static bool is_needed(struct translating *tr, const struct spw_action *action, uint32_t op)
{
    if (action->kind == SPW_STEP_REPLAY)
        return true;
    const uint32_t tensor = tr->tensor_of[action->id];
    const struct spw_course_tensor *t = &tr->course->tensors[tensor];
    struct state *s = &tr->states[action->id];
    if (action->kind == SPW_STEP_H2D) {
        s->stays_away = !lives_on(t) && (t->last_use == SPW_NO_INDEX || t->last_use < op) && s->replayed <= op;
        return !s->stays_away;
    }
    return action->kind != SPW_STEP_DROP ||
           (!s->stays_away && (tr->marks.ghosts[tensor] || is_dropped(tr->course, tensor, op)));
}

static void translate(struct translating *tr)
{
    struct spw_actions *actions = tr->actions;
    uint32_t kept = 0, i = 0;
    for (uint32_t op = 0; op <= actions->op_count; op++) {
        const uint32_t end = actions->first[op + 1];
        actions->first[op] = kept;
        for (; i < end; i++) {
            struct spw_action action = actions->list[i];
            if (!is_needed(tr, &action, op))
                continue;
            if (action.kind != SPW_STEP_REPLAY)
                action.id = tr->tensor_of[action.id];
            actions->list[kept++] = action;
        }
    }
    actions->first[actions->op_count + 1] = actions->count = kept;
    for (uint32_t t = 0; t < tr->graph->tensor_count; t++)
        if (tr->tensor_of[t] != SPW_NO_INDEX)
            tr->start[tr->tensor_of[t]] = actions->start[t];
    free(actions->start);
    actions->start = tr->start;
}

/* ---- beliefs that the actions rely on ---- */

/* The state of a tensor of the course, while the actions are visited in order. */
enum {
    COPIED = 1, /* its host copy is valid, */
    USED = 2,   /* provided that launches since then only read it, as they are believed to */
};

static void use(const struct spw_course *course, uint32_t op, uint8_t *what)
{
    const struct spw_course_op *o = &course->ops[op];
    for (uint32_t i = 0; i < o->touch_count; i++) {
        const struct spw_course_touch *touch = &course->touches[o->first_touch + i];
        if (touch->access & (SPW_COURSE_WRITES | SPW_COURSE_SCRATCH))
            what[touch->tensor] = 0;
        else if (course->calls[op].kind == SPW_ITERATION_LAUNCH)
            what[touch->tensor] |= USED;
    }
}

/* Replays are believed to only read as well. */
static void replay(const struct spw_course *course, uint32_t op, uint8_t *what)
{
    const struct spw_course_op *o = &course->ops[op];
    for (uint32_t i = 0; i < o->touch_count && course->calls[op].kind == SPW_ITERATION_LAUNCH; i++) {
        const struct spw_course_touch *touch = &course->touches[o->first_touch + i];
        if (!(touch->access & SPW_COURSE_WRITES) && !spw_course_is_scratch(touch))
            what[touch->tensor] |= USED;
    }
}

/* A tensor that is clean at the beginning, or comes from the host, was copied in the previous iteration, under its number
 * there. */
static void look_back(const struct spw_course *course, uint8_t *believed)
{
    for (uint32_t t = 0; t < course->live_count; t++)
        if (believed[t] && course->tensors[t].from != SPW_NO_INDEX)
            believed[course->tensors[t].from] = true;
}

/* Finds the tensors that are evicted without a copy because of such a belief. One that was clean at the beginning relies
 * on the operations before. Returns the number of such evictions. `what` is working memory, by tensor. */
static uint32_t find_believed(const struct spw_course *course, const struct spw_actions *actions, uint8_t *what,
                              uint8_t *believed)
{
    uint32_t found = 0;
    for (uint32_t t = 0; t < course->tensor_count; t++)
        what[t] = actions->start[t] == SPW_START_CLEAN ? COPIED | USED : 0;
    for (uint32_t op = 0; op <= actions->op_count; op++) {
        for (uint32_t i = actions->first[op]; i < actions->first[op + 1]; i++) {
            const struct spw_action *action = &actions->list[i];
            if (action->kind == SPW_STEP_REPLAY)
                replay(course, action->id, what);
            else if (action->kind != SPW_STEP_DROP)
                what[action->id] = COPIED;
            else if (what[action->id] == (COPIED | USED)) {
                believed[action->id] = true;
                found++;
            }
        }
        if (op < actions->op_count)
            use(course, op, what);
    }
    look_back(course, believed);
    return found;
}

/* ---- which tensors are away ---- */

void spw_course_find_away(const struct spw_course *course, const struct spw_actions *actions, uint32_t done, uint8_t *away)
{
    for (uint32_t t = 0; t < course->tensor_count; t++)
        away[t] = actions->start[t] == SPW_START_HOST;
    for (uint32_t i = 0; i < done; i++) {
        const struct spw_action *action = &actions->list[i];
        const struct spw_course_op *replayed = action->kind == SPW_STEP_REPLAY ? &course->ops[action->id] : NULL;
        for (uint32_t k = 0; replayed && k < replayed->touch_count; k++) {
            const struct spw_course_touch *touch = &course->touches[replayed->first_touch + k];
            if (touch->access & SPW_COURSE_WRITES)
                away[touch->tensor] = false;
        }
        if (action->kind == SPW_STEP_DROP || action->kind == SPW_STEP_H2D)
            away[action->id] = action->kind == SPW_STEP_DROP;
    }
}

/* ---- */

void spw_course_marks_finish(struct spw_course_marks *marks)
{
    free(marks->ghosts);
    free(marks->recorded);
    free(marks->believed);
    *marks = (struct spw_course_marks){0};
}

int spw_course_actions(const struct spw_course *course, const struct spw_graph *graph, const uint32_t *tensor_of,
                       struct spw_actions *actions, struct spw_course_marks *ret_marks)
{
    const size_t tensors = (size_t)course->tensor_count + 1;
    struct translating tr = {.course = course, .graph = graph, .tensor_of = tensor_of, .actions = actions};
    tr.states = calloc((size_t)graph->tensor_count + 1, sizeof *tr.states);
    tr.start = calloc(tensors, sizeof *tr.start);
    tr.marks.ghosts = calloc(tensors, sizeof *tr.marks.ghosts);
    tr.marks.recorded = calloc((size_t)course->op_count + 1, sizeof *tr.marks.recorded);
    tr.marks.believed = calloc(tensors, 1);
    uint8_t *what = calloc(tensors, 1);
    const bool is_room = tr.states && tr.start && tr.marks.ghosts && tr.marks.recorded && tr.marks.believed && what;
    if (is_room) {
        follow(&tr);
        find_ghosts(&tr);
        translate(&tr);
        tr.marks.believes = find_believed(course, actions, what, tr.marks.believed) > 0;
        *ret_marks = tr.marks;
    } else {
        free(tr.start);
        spw_course_marks_finish(&tr.marks);
    }
    free(tr.states);
    free(what);
    return is_room ? 0 : -ENOMEM;
}
