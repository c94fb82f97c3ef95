/* cursor_tell.c - goes through the course up to the cursor once more, for somebody who was not told while it went on.
 *
 * Between two operations of the backbone allocations are told in order of their ids, each where the course has one. */
#include <errno.h>
#include <stdlib.h>

#include "course/cursor.h"
#include "course/cursor_others.h"

struct newcomer {
    uint64_t id, bytes;
    bool is_other; /* no tensor of the course */
};

struct telling {
    const struct spw_cursor *c;
    const struct spw_course *course;
    const struct spw_cursor_listener *listener;
    struct newcomer *newcomers; /* of a gap, in order of ids */
    uint32_t count, next;       /* of them; the next one to be told of */
    bool *is_freed;             /* by tensor: its free was told */
    bool *is_told;              /* by other: the same */
    struct spw_iteration_touch *touches;
};

static int by_id(const void *a, const void *b)
{
    const struct newcomer *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void add(struct telling *t, uint64_t id, uint64_t bytes, bool is_other)
{
    t->newcomers[t->count++] = (struct newcomer){.id = id, .bytes = bytes, .is_other = is_other};
}

/* ---- one by one ---- */

static void free_tensor(struct telling *t, uint32_t tensor)
{
    if (t->c->was[tensor] == 0 || t->c->id[tensor] != 0 || t->is_freed[tensor])
        return;
    t->is_freed[tensor] = true;
    t->listener->free(t->listener->context, t->c->was[tensor]);
}

/* Frees of others from operation `from` to `to`, before the allocation of `id`. */
static void free_others(struct telling *t, uint32_t from, uint32_t to, uint64_t id)
{
    for (uint32_t i = 0; i < t->c->other_count; i++) {
        const struct spw_cursor_other *other = &t->c->others[i];
        if (other->freed < from || other->freed > to || other->newest >= id || other->id >= id || t->is_told[i])
            continue;
        t->is_told[i] = true;
        t->listener->free(t->listener->context, other->id);
    }
}

static void tell_newcomer(struct telling *t, uint32_t from, uint32_t to)
{
    const struct newcomer *newcomer = &t->newcomers[t->next++];
    free_others(t, from, to, newcomer->id);
    t->listener->alloc(t->listener->context, newcomer->id, newcomer->bytes);
}

static void tell_op(struct telling *t, uint32_t op)
{
    const struct spw_course_call *call = &t->course->calls[op];
    for (uint32_t i = 0; i < call->mention_count; i++) {
        const struct spw_course_mention *mention = &t->course->mentions[call->first_mention + i];
        t->touches[i] = (struct spw_iteration_touch){.alloc = t->c->was[mention->tensor],
                                                     .bytes = t->course->tensors[mention->tensor].bytes,
                                                     .offset = mention->offset};
    }
    const struct spw_iteration_op told = {.kind = (enum spw_iteration_kind)call->kind,
                                          .function = call->function,
                                          .geometry = call->geometry,
                                          .everything = call->everything,
                                          .touch_count = call->mention_count,
                                          .touches = t->touches};
    t->listener->op(t->listener->context, &t->course->ops[op], &told);
}

/* ---- before the beginning ---- */

static void tell_earlier(struct telling *t)
{
    const struct spw_cursor *c = t->c;
    t->count = t->next = 0;
    for (uint32_t i = 0; i < t->course->live_count; i++)
        if (c->was[i] != 0 && c->was[i] != c->told[i])
            add(t, c->was[i], t->course->tensors[i].bytes, false);
    for (uint32_t i = 0; i < c->other_count; i++)
        if (c->others[i].born == SPW_CURSOR_EARLIER && !c->others[i].is_known)
            add(t, c->others[i].id, c->others[i].bytes, true);
    qsort(t->newcomers, t->count, sizeof *t->newcomers, by_id);
    while (t->next < t->count)
        tell_newcomer(t, SPW_CURSOR_EARLIER, SPW_CURSOR_EARLIER);
    for (uint32_t i = 0; i < t->course->live_count; i++)
        if (c->told[i] != 0 && c->told[i] != c->was[i])
            t->listener->free(t->listener->context, c->told[i]);
    free_others(t, SPW_CURSOR_EARLIER, SPW_CURSOR_EARLIER, UINT64_MAX);
}

/* ---- from one operation of the backbone to the next ---- */

static uint32_t events_before(const struct spw_course *course, uint32_t op)
{
    return op < course->op_count ? course->ops[op].first_event : course->event_count;
}

static void find_newcomers(struct telling *t, uint32_t from, uint32_t to)
{
    t->count = t->next = 0;
    for (uint32_t e = from ? t->course->ops[from - 1].first_event : 0; e < events_before(t->course, to); e++) {
        const struct spw_course_event *event = &t->course->events[e];
        if (!event->frees && t->c->was[event->tensor])
            add(t, t->c->was[event->tensor], t->course->tensors[event->tensor].bytes, false);
    }
    for (uint32_t i = 0; i < t->c->other_count; i++)
        if (t->c->others[i].born >= from && t->c->others[i].born <= to)
            add(t, t->c->others[i].id, t->c->others[i].bytes, true);
    qsort(t->newcomers, t->count, sizeof *t->newcomers, by_id);
}

/* The gap before operation `op`, which is part of that from `from` to `to`. */
static void tell_events(struct telling *t, uint32_t op, uint32_t from, uint32_t to)
{
    for (uint32_t e = op ? t->course->ops[op - 1].first_event : 0; e < events_before(t->course, op); e++) {
        const struct spw_course_event *event = &t->course->events[e];
        if (event->frees) {
            free_tensor(t, event->tensor);
            continue;
        }
        bool is_other = t->c->was[event->tensor] != 0;
        while (is_other && t->next < t->count) {
            is_other = t->newcomers[t->next].is_other;
            tell_newcomer(t, from, to);
        }
    }
}

/* All before operation `to` and behind the last one of the backbone before it, which stands before `from`. */
static void tell_gap(struct telling *t, uint32_t from, uint32_t to)
{
    find_newcomers(t, from, to);
    for (uint32_t op = from; op <= to; op++) {
        tell_events(t, op, from, to);
        if (op < to && !t->c->skipped[op])
            tell_op(t, op);
    }
    while (t->next < t->count)
        tell_newcomer(t, from, to);
    free_others(t, from, to, UINT64_MAX);
}

static void tell_all(struct telling *t)
{
    const struct spw_course *course = t->course;
    tell_earlier(t);
    for (uint32_t from = 0, to = 0;; from = ++to) {
        while (to < t->c->op && !course->ops[to].backbone)
            to++;
        tell_gap(t, from, to);
        if (to == t->c->op)
            break;
        tell_op(t, to);
    }
    for (uint32_t i = 0; i < course->tensor_count; i++) /* sooner than expected */
        free_tensor(t, i);
}

int spw_cursor_tell(const struct spw_cursor *c, const struct spw_cursor_listener *listener)
{
    struct telling t = {.c = c, .course = c->course, .listener = listener};
    t.newcomers = malloc(((size_t)c->course->tensor_count + c->other_count + 1) * sizeof *t.newcomers);
    t.is_freed = calloc((size_t)c->course->tensor_count + 1, sizeof *t.is_freed);
    t.is_told = calloc((size_t)c->other_count + 1, sizeof *t.is_told);
    t.touches = malloc(((size_t)c->course->mention_count + 1) * sizeof *t.touches);
    const bool is_room = t.newcomers && t.is_freed && t.is_told && t.touches;
    if (is_room)
        tell_all(&t);
    free(t.newcomers);
    free(t.is_freed);
    free(t.is_told);
    free(t.touches);
    return is_room && !c->forgot ? 0 : -ENOMEM;
}
