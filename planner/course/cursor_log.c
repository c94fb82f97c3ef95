/* cursor_log.c - keeps a list of events for each iteration, and a short list of allocations that outlive it. */
#include "course/cursor_log.h"

#include "grow.h"

void spw_cursor_log(struct spw_cursor *c, struct spw_cursor_event event)
{
    event.op = c->op;
    if (SPW_GROW(c->log, c->log_room, c->log_count + 1) < 0)
        c->forgot = true;
    else
        c->log[c->log_count++] = event;
}

void spw_cursor_note_extra(struct spw_cursor *c, const struct spw_iteration_op *call)
{
    if (SPW_GROW(c->noted, c->noted_room, c->noted_count + 1) < 0 ||
        SPW_GROW(c->noted_touches, c->noted_touch_room, c->noted_touch_count + call->touch_count) < 0) {
        c->forgot = true;
        return;
    }
    spw_cursor_log(c, (struct spw_cursor_event){.id = c->noted_count, .kind = SPW_CURSOR_EXTRA_OP});
    c->noted[c->noted_count++] = (struct spw_cursor_extra){.call = *call, .first_touch = c->noted_touch_count};
    for (uint32_t i = 0; i < call->touch_count; i++)
        c->noted_touches[c->noted_touch_count++] = call->touches[i];
}

static void add_other(struct spw_cursor *c, uint64_t id, uint64_t bytes, bool is_known)
{
    if (SPW_GROW(c->others, c->other_room, c->other_count + 1) < 0)
        c->forgot = true;
    else
        c->others[c->other_count++] = (struct spw_cursor_other){.id = id, .bytes = bytes, .is_known = is_known};
}

void spw_cursor_leave(struct spw_cursor *c, uint32_t tensor)
{
    const uint64_t id = c->id[tensor];
    if (tensor < c->course->live_count && c->told[tensor] == id)
        c->told[tensor] = 0; /* the listener knows it, and it is alive: nothing to report */
    else if (id != 0)
        add_other(c, id, c->course->tensors[tensor].bytes, false);
}

/* Handles a free of an allocation that is not in the course. Ids rise, so the listener does not know ids allocated since
 * it was last told. */
static void fold_free(struct spw_cursor *c, uint64_t id)
{
    for (uint32_t i = c->other_count; i-- > 0;)
        if (c->others[i].id == id) {
            c->others[i] = c->others[--c->other_count];
            return;
        }
    if (c->first_id == 0 || id < c->first_id)
        add_other(c, id, 0, true);
}

void spw_cursor_fold_log(struct spw_cursor *c)
{
    for (uint32_t i = 0; i < c->log_count; i++) {
        const struct spw_cursor_event *event = &c->log[i];
        if (event->is_other && event->kind == SPW_CURSOR_FREE)
            fold_free(c, event->id);
        else if (event->is_other)
            add_other(c, event->id, event->bytes, false);
    }
    c->log_count = c->noted_count = c->noted_touch_count = 0;
}
