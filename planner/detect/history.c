/* history.c - keeps three rings that grow together; overwritten entries are forgotten. */
#include "detect/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1 << 12 };

int spw_history_init(struct spw_history *history, size_t limit)
{
    *history = (struct spw_history){.bone_limit = FIRST_CAPACITY, .bone_capacity = FIRST_CAPACITY};
    while (history->bone_limit < limit && history->bone_limit < (size_t)1 << 24)
        history->bone_limit *= 2;
    history->event_capacity = history->bone_capacity * SPW_HISTORY_EVENTS;
    history->touch_capacity = history->bone_capacity * SPW_HISTORY_TOUCHES;
    history->bones = malloc(history->bone_capacity * sizeof(*history->bones));
    history->events = malloc(history->event_capacity * sizeof(*history->events));
    history->touches = malloc(history->touch_capacity * sizeof(*history->touches));
    if (history->bones && history->events && history->touches)
        return 0;
    spw_history_finish(history);
    return -ENOMEM;
}

void spw_history_finish(struct spw_history *history)
{
    free(history->bones);
    free(history->events);
    free(history->touches);
    *history = (struct spw_history){0};
}

/* Copies positions [first, end) from a ring of `capacity` elements into one of twice as many. */
static void move_ring(char *to, const char *from, size_t size, size_t capacity, uint64_t first, uint64_t end)
{
    for (uint64_t p = first; p < end; p++)
        memcpy(to + (p & (2 * capacity - 1)) * size, from + (p & (capacity - 1)) * size, size);
}

int spw_history_grow(struct spw_history *history)
{
    if (history->bone_capacity >= history->bone_limit)
        return -ENOSPC;
    struct spw_bone *bones = malloc(2 * history->bone_capacity * sizeof(*bones));
    struct spw_event *events = malloc(2 * history->event_capacity * sizeof(*events));
    struct spw_touched *touches = malloc(2 * history->touch_capacity * sizeof(*touches));
    if (!bones || !events || !touches) {
        free(bones);
        free(events);
        free(touches);
        return -ENOMEM;
    }
    move_ring((char *)bones, (char *)history->bones, sizeof(*bones), history->bone_capacity, history->bone_first,
              history->bone_count);
    move_ring((char *)events, (char *)history->events, sizeof(*events), history->event_capacity, history->event_first,
              history->event_count);
    move_ring((char *)touches, (char *)history->touches, sizeof(*touches), history->touch_capacity, history->touch_first,
              history->touch_count);
    free(history->bones);
    free(history->events);
    free(history->touches);
    history->bones = bones;
    history->events = events;
    history->touches = touches;
    history->bone_capacity *= 2;
    history->event_capacity *= 2;
    history->touch_capacity *= 2;
    return 0;
}

bool spw_history_has(const struct spw_history *history, uint64_t position)
{
    if (position < history->bone_first || position >= history->bone_count)
        return false;
    if (position == history->bone_first && position > 0) /* the gap before it is unknown */
        return false;
    return spw_history_gap(history, position) >= history->event_first &&
           spw_bone_at(history, position)->touches >= history->touch_first;
}
