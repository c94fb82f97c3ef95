/* course_guards.c - finds when a tensor that could be made again has to be present all the same.
 *
 * That some launches only read a tensor (SPW_COURSE_BELIEVED) is known from observation alone: they may write it one day. A
 * dropped tensor that was made from it could then not be made again. So the engine makes it again before such a launch
 * (versions.h), and a plan in which it is absent during the launch gains nothing. Planners do not know that rule. Their
 * graph says this instead:
 *
 *     the launch comes soon after a use, and no later one before the next   it reads the tensor (a read that its
 *                                                                           replays leave out of account)
 *     the tensor is small beside the other products of its makers           it is not evictable
 *     otherwise                                                             the tensor's makers are not replayable
 *     it comes after the last use, not soon                                 the tensor is held to its end; if dropping it
 *                                                                           gained nothing before, and its makers make
 *                                                                           no other tensor, they are not replayable
 *
 * The engine does not follow more than SPW_COURSE_MAKERS operations that write one tensor, so none of those is replayable.
 */
#include <errno.h>
#include <stdlib.h>

#include "course/course_lives.h"

enum {
    SOON = 32,       /* operations; or, if that is more, the share below */
    SOON_SHARE = 16, /* of the iteration: one in this many operations */
    /* Makers of a tensor and of what they read that the program frees: no more are followed. */
    CHAIN = 2 * SPW_COURSE_MAKERS,
    SMALL_SHARE = 8
};

struct lists { /* operations by tensor, small tensors last; each list in order */
    uint32_t *first, *ops;
};

struct guarding {
    const struct spw_course *course;
    const struct spw_course_life *lives;
    struct lists uses, doubtful; /* operations that touch the tensor; that are only believed to read it */
    struct spw_course_guards *guards;
};

/* ---- which operations touch which tensors ---- */

static uint32_t touch_total(const struct spw_course *course, uint32_t op)
{
    return course->ops[op].touch_count + course->calls[op].small_count;
}

/* Returns touch `i` of the operation. *ret_tensor: the tensor's place in the lists. */
static const struct spw_course_touch *touch_at(const struct spw_course *course, uint32_t op, uint32_t i,
                                               uint32_t *ret_tensor)
{
    const uint32_t large = course->ops[op].touch_count;
    const struct spw_course_touch *touch = i < large ? &course->touches[course->ops[op].first_touch + i]
                                                     : &course->small_touches[course->calls[op].first_small + i - large];
    *ret_tensor = touch->tensor + (i < large ? 0 : course->tensor_count);
    return touch;
}

static bool make_lists(const struct spw_course *course, uint32_t access, struct lists *ret)
{
    const size_t tensors = (size_t)course->tensor_count + course->small_count;
    uint32_t tensor;
    ret->first = calloc(tensors + 2, sizeof *ret->first);
    ret->ops = malloc(((size_t)course->touch_count + course->small_touch_count + 1) * sizeof *ret->ops);
    if (!ret->first || !ret->ops)
        return false;
    for (uint32_t op = 0; op < course->op_count; op++)
        for (uint32_t i = 0; i < touch_total(course, op); i++)
            if (touch_at(course, op, i, &tensor)->access & access)
                ret->first[tensor + 2]++;
    for (size_t t = 2; t <= tensors + 1; t++)
        ret->first[t] += ret->first[t - 1];
    for (uint32_t op = 0; op < course->op_count; op++)
        for (uint32_t i = 0; i < touch_total(course, op); i++)
            if (touch_at(course, op, i, &tensor)->access & access)
                ret->ops[ret->first[tensor + 1]++] = op;
    return true;
}

/* ---- between two uses ---- */

/* The operations that make a tensor again. */
struct makers {
    uint32_t tensor, count, direct_count; /* the first direct_count write the tensor itself */
    struct maker {
        /* From that operation on its inputs have to be unchanged: then the program has freed its product. */
        uint32_t op, from;
    } list[CHAIN];
};

static uint32_t next_of(const struct lists *l, uint32_t tensor, uint32_t op)
{
    uint32_t low = l->first[tensor], high = l->first[tensor + 1];
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (l->ops[middle] > op)
            high = middle;
        else
            low = middle + 1;
    }
    return low < l->first[tensor + 1] ? l->ops[low] : SPW_NO_INDEX;
}

/* Returns true if a change of the tensor would spoil the replay. Small tensors that a maker may write are not needed: the
 * replay gets a copy of their earlier contents (replay_op.h). */
static bool is_needed(const struct spw_course *course, const struct makers *m, const struct spw_course_touch *touch,
                      uint32_t tensor)
{
    if (spw_course_is_scratch(touch))
        return false;
    if (tensor < course->tensor_count)
        return tensor != m->tensor;
    return !(touch->access & (SPW_COURSE_WRITES | SPW_COURSE_BELIEVED)) ||
           course->smalls[touch->tensor].bytes > SPW_SIDE_BUFFER_BYTES;
}

/* Returns the first operation after `op` that is only believed to read some other tensor that the makers touch, or
 * SPW_NO_INDEX. */
static uint32_t next_doubtful(const struct guarding *g, const struct makers *m, uint32_t op)
{
    uint32_t next = SPW_NO_INDEX, tensor;
    for (uint32_t k = 0; k < m->count; k++)
        for (uint32_t i = 0; i < touch_total(g->course, m->list[k].op); i++) {
            const struct maker *maker = &m->list[k];
            const struct spw_course_touch *touch = touch_at(g->course, maker->op, i, &tensor);
            const uint32_t behind = op > maker->from ? op : maker->from;
            const uint32_t found =
                is_needed(g->course, m, touch, tensor) ? next_of(&g->doubtful, tensor, behind) : SPW_NO_INDEX;
            next = found < next ? found : next;
        }
    return next;
}

/* Returns true if the makers make another, much larger tensor, for which they are replayed anyway. */
static bool is_by_product(const struct guarding *g, const struct makers *m)
{
    const uint64_t bytes = g->course->tensors[m->tensor].bytes;
    for (uint32_t k = 0; k < m->direct_count; k++) {
        const struct spw_course_op *o = &g->course->ops[m->list[k].op];
        for (uint32_t i = 0; i < o->touch_count; i++) {
            const struct spw_course_touch *touch = &g->course->touches[o->first_touch + i];
            if (touch->access & SPW_COURSE_WRITES && g->course->tensors[touch->tensor].bytes / SMALL_SHARE > bytes)
                return true;
        }
    }
    return false;
}

/* Returns true if its makers write no other large tensor. */
static bool is_made_alone(const struct guarding *g, const struct makers *m)
{
    for (uint32_t k = 0; k < m->direct_count; k++) {
        const struct spw_course_op *o = &g->course->ops[m->list[k].op];
        for (uint32_t i = 0; i < o->touch_count; i++) {
            const struct spw_course_touch *touch = &g->course->touches[o->first_touch + i];
            if (touch->access & SPW_COURSE_WRITES && touch->tensor != m->tensor)
                return false;
        }
    }
    return true;
}

static void bar(struct guarding *g, const struct makers *m)
{
    for (uint32_t k = 0; k < m->direct_count; k++)
        g->guards->barred[m->list[k].op] = true;
}

static uint32_t soon_of(const struct guarding *g)
{
    const uint32_t share = g->course->op_count / SOON_SHARE;
    return share > SOON ? share : SOON;
}

/* Guards the tensor between its use by operation `from` and operation `to`. Returns the first such launch that does not
 * come soon, or SPW_NO_INDEX. */
static uint32_t guard(struct guarding *g, const struct makers *m, uint32_t from, uint32_t to)
{
    uint32_t last = SPW_NO_INDEX, op = next_doubtful(g, m, from);
    for (; op < to && op - from <= soon_of(g); op = next_doubtful(g, m, op))
        last = op;
    if (last != SPW_NO_INDEX)
        g->guards->list[g->guards->count++] = (struct spw_course_guard){last, m->tensor};
    return op < to ? op : SPW_NO_INDEX;
}

static bool writes(const struct guarding *g, uint32_t op, uint32_t tensor)
{
    const struct spw_course_touch *touches = &g->course->touches[g->course->ops[op].first_touch];
    for (uint32_t i = 0; i < g->course->ops[op].touch_count; i++)
        if (touches[i].tensor == tensor)
            return touches[i].access & SPW_COURSE_WRITES || g->lives[tensor].birth == op;
    return false;
}

static uint32_t end_of(const struct guarding *g, uint32_t tensor)
{
    const uint32_t free_after = g->course->tensors[tensor].free_after;
    return free_after == SPW_NO_INDEX ? g->course->op_count : free_after + 1;
}

static void add_maker(struct makers *m, uint32_t op, uint32_t from)
{
    for (uint32_t k = 0; k < m->count; k++)
        if (m->list[k].op == op) {
            m->list[k].from = from < m->list[k].from ? from : m->list[k].from;
            return;
        }
    if (m->count < CHAIN)
        m->list[m->count++] = (struct maker){op, from};
}

static void add_makers_of(const struct guarding *g, struct makers *m, uint32_t tensor, uint32_t from, uint32_t before)
{
    for (uint32_t i = g->uses.first[tensor]; i < g->uses.first[tensor + 1] && g->uses.ops[i] < before; i++)
        if (writes(g, g->uses.ops[i], tensor))
            add_maker(m, g->uses.ops[i], from);
}

/* Adds the makers of tensors that the makers read and that the program frees, since these are made again first. */
static void follow(const struct guarding *g, struct makers *m)
{
    m->count = m->direct_count;
    for (uint32_t k = 0; k < m->count; k++) {
        const struct maker maker = m->list[k];
        const struct spw_course_op *o = &g->course->ops[maker.op];
        for (uint32_t i = 0; i < o->touch_count; i++) {
            const uint32_t tensor = g->course->touches[o->first_touch + i].tensor;
            const uint32_t free_after = g->course->tensors[tensor].free_after;
            if (!spw_course_is_scratch(&g->course->touches[o->first_touch + i]) && tensor != m->tensor &&
                free_after != SPW_NO_INDEX && g->lives[tensor].birth != SPW_NO_INDEX)
                add_makers_of(g, m, tensor, free_after > maker.from ? free_after : maker.from, maker.op);
        }
    }
}

/* Handles the time after the last use. If such a launch comes later (`later`), the tensor cannot be absent until its end
 * and be made again there. */
static void look_behind(struct guarding *g, const struct makers *m, uint32_t later, bool was_worth_it)
{
    g->guards->behind[m->tensor] = later;
    if (later != SPW_NO_INDEX && !was_worth_it && is_made_alone(g, m))
        bar(g, m);
}

static void look_at(struct guarding *g, uint32_t tensor)
{
    struct makers m = {.tensor = tensor};
    const uint32_t first = g->uses.first[tensor], end = g->uses.first[tensor + 1];
    bool is_worth_it = false; /* it may be absent between two uses */
    for (uint32_t i = first; i < end; i++) {
        const uint32_t op = g->uses.ops[i], to = i + 1 < end ? g->uses.ops[i + 1] : end_of(g, tensor);
        const bool is_maker = writes(g, op, tensor);
        if (is_maker && !g->course->ops[op].replayable)
            return; /* from here on it is never dropped */
        if (is_maker && m.direct_count == SPW_COURSE_MAKERS) {
            bar(g, &m);
            g->guards->barred[op] = true;
            continue; /* all that follow are barred too */
        }
        if (is_maker) {
            m.list[m.direct_count++] = (struct maker){op, 0};
            follow(g, &m);
        }
        if (!m.count)
            continue;
        const uint32_t later = guard(g, &m, op, to);
        if (i + 1 == end)
            look_behind(g, &m, later, is_worth_it);
        else if (later == SPW_NO_INDEX)
            is_worth_it |= to - op > soon_of(g);
        else if (is_by_product(g, &m))
            g->guards->stays[tensor] = true;
        else
            bar(g, &m);
    }
}

/* ---- */

static int by_op(const void *a, const void *b)
{
    const struct spw_course_guard *x = a, *y = b;
    return x->op != y->op ? (x->op > y->op) - (x->op < y->op) : (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

int spw_course_find_guards(const struct spw_course *course, const struct spw_course_life *lives,
                           struct spw_course_guards *ret_guards)
{
    struct guarding g = {.course = course, .lives = lives, .guards = ret_guards};
    ret_guards->list = malloc(((size_t)course->touch_count + 1) * sizeof *ret_guards->list);
    ret_guards->barred = calloc((size_t)course->op_count + 1, 1);
    ret_guards->stays = calloc((size_t)course->tensor_count + 1, 1);
    ret_guards->behind = malloc(((size_t)course->tensor_count + 1) * sizeof *ret_guards->behind);
    const bool is_room = ret_guards->list && ret_guards->barred && ret_guards->stays && ret_guards->behind &&
                         make_lists(course, SPW_COURSE_READS | SPW_COURSE_WRITES, &g.uses) &&
                         make_lists(course, SPW_COURSE_BELIEVED, &g.doubtful);
    for (uint32_t t = 0; is_room && t < course->tensor_count; t++) {
        ret_guards->behind[t] = SPW_NO_INDEX;
        if (course->tensors[t].evictable && lives[t].birth != SPW_NO_INDEX)
            look_at(&g, t);
    }
    if (is_room)
        qsort(ret_guards->list, ret_guards->count, sizeof *ret_guards->list, by_op);
    free(g.uses.first);
    free(g.uses.ops);
    free(g.doubtful.first);
    free(g.doubtful.ops);
    return is_room ? 0 : -ENOMEM;
}

void spw_course_guards_finish(struct spw_course_guards *guards)
{
    free(guards->list);
    free(guards->barred);
    free(guards->stays);
    free(guards->behind);
    *guards = (struct spw_course_guards){0};
}
