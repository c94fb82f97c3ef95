/* cursor_tell.c - reports the course up to the cursor to a listener that was not told while it went on. */
#include <errno.h>
#include <stdlib.h>

#include "course/cursor.h"
#include "course/cursor_log.h"

struct newcomer {
    uint64_t id, bytes;
};

struct telling {
    const struct spw_cursor *c;
    const struct spw_course *course;
    const struct spw_cursor_listener *listener;
    uint32_t next; /* index of the next event of the log */
    struct newcomer *newcomers;
    struct spw_iteration_touch *touches; /* of one operation */
};

static int by_id(const void *a, const void *b)
{
    const struct newcomer *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void tell_free(struct telling *t, uint64_t id)
{
    t->listener->free(t->listener->context, id);
}

/* Reports allocations and frees of earlier iterations. */
static void tell_earlier(struct telling *t)
{
    const struct spw_cursor *c = t->c;
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->course->live_count; i++)
        if (c->was[i] != 0 && c->was[i] != c->told[i])
            t->newcomers[count++] = (struct newcomer){c->was[i], t->course->tensors[i].bytes};
    for (uint32_t i = 0; i < c->other_count; i++)
        if (!c->others[i].is_known)
            t->newcomers[count++] = (struct newcomer){c->others[i].id, c->others[i].bytes};
    qsort(t->newcomers, count, sizeof *t->newcomers, by_id);
    for (uint32_t i = 0; i < count; i++)
        t->listener->alloc(t->listener->context, t->newcomers[i].id, t->newcomers[i].bytes);
    for (uint32_t i = 0; i < t->course->live_count; i++)
        if (c->told[i] != 0 && c->told[i] != c->was[i])
            tell_free(t, c->told[i]);
    for (uint32_t i = 0; i < c->other_count; i++)
        if (c->others[i].is_known)
            tell_free(t, c->others[i].id);
}

static void tell_extra(struct telling *t, const struct spw_cursor_extra *extra)
{
    struct spw_iteration_op call = extra->call;
    call.stream = 0;
    call.touches = t->c->noted_touches + extra->first_touch;
    t->listener->op(t->listener->context, NULL, &call);
}

static void tell_events_before(struct telling *t, uint32_t op)
{
    for (; t->next < t->c->log_count && t->c->log[t->next].op <= op; t->next++) {
        const struct spw_cursor_event *event = &t->c->log[t->next];
        if (event->kind == SPW_CURSOR_FREE)
            tell_free(t, event->id);
        else if (event->kind == SPW_CURSOR_ALLOC)
            t->listener->alloc(t->listener->context, event->id, event->bytes);
        else
            tell_extra(t, &t->c->noted[event->id]);
    }
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
                                          .loose_count = call->loose_count,
                                          .touches = t->touches};
    t->listener->op(t->listener->context, &t->course->ops[op], &told);
}

int spw_cursor_tell(const struct spw_cursor *c, const struct spw_cursor_listener *listener)
{
    struct telling t = {.c = c, .course = c->course, .listener = listener};
    t.newcomers = malloc(((size_t)c->course->live_count + c->other_count + 1) * sizeof *t.newcomers);
    t.touches = malloc(((size_t)c->course->mention_count + 1) * sizeof *t.touches);
    const bool is_room = t.newcomers && t.touches;
    if (is_room) {
        tell_earlier(&t);
        for (uint32_t op = 0; op < c->op; op++) {
            tell_events_before(&t, op);
            if (!c->skipped[op])
                tell_op(&t, op);
        }
        tell_events_before(&t, c->op);
    }
    free(t.newcomers);
    free(t.touches);
    return is_room && !c->forgot ? 0 : -ENOMEM;
}
