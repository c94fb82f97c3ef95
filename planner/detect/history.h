/* history.h - remembers the latest events in three rings: operations of the backbone, all events, and touches.
 *
 * Positions count from 0 over the whole run. A position is in the ring while it is younger than the ring's capacity. */
#ifndef SPILLWAY_PLANNER_HISTORY_H
#define SPILLWAY_PLANNER_HISTORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detect/iteration.h"
#include "detect/live.h"

enum spw_event_kind { SPW_EVENT_BONE, SPW_EVENT_BESIDE, SPW_EVENT_ALLOC, SPW_EVENT_FREE };

struct spw_event {
    uint64_t value;      /* BONE: its position; BESIDE: token; ALLOC: bytes; FREE: id */
    uint64_t live_bytes; /* before it */
    uint32_t id;         /* ALLOC: the lower half of the id */
    uint16_t alloc_kind;
    uint8_t kind;
    bool input : 1; /* BESIDE: a copy from the host */
    bool hint : 1;  /* the program said that an iteration begins here */
};

struct spw_bone { /* one operation of the backbone */
    uint64_t token;
    uint64_t live_hash, live_bytes; /* before it */
    uint64_t op;                    /* its number */
    uint64_t event;                 /* its position among the events */
    uint64_t touches;               /* position of its first touch */
    uint64_t function;
    uint32_t newest; /* lower half of the id of the newest allocation */
    /* All touches; how many of the last ones are loose, as in struct spw_iteration_op. */
    uint16_t touch_count, loose_count;
    bool everything : 1, launch : 1;
    bool hint : 1; /* there was a hint in the gap before it, or at it */
};

struct spw_touched {
    uint32_t id;     /* lower half */
    uint32_t offset; /* in units of 16 bytes, lower half */
};

struct spw_history {
    struct spw_bone *bones;
    struct spw_event *events;
    struct spw_touched *touches;
    size_t bone_capacity, event_capacity, touch_capacity; /* powers of two, in a fixed proportion */
    size_t bone_limit;
    uint64_t bone_count, event_count, touch_count; /* over the whole run */
    uint64_t op_count;
    uint64_t bone_first, event_first, touch_first; /* older ones were not kept */
    uint64_t hints[3], hint_count;                 /* the bones after the last three hints, the newest first */
};

enum { SPW_HISTORY_EVENTS = 4, SPW_HISTORY_TOUCHES = 8 }; /* per operation of the backbone */
enum { SPW_HISTORY_MOST_TOUCHES = 1 << 12 };              /* most touches of one operation that are remembered */

int spw_history_init(struct spw_history *history, size_t limit);
void spw_history_finish(struct spw_history *history);

/* Doubles the capacity. Returns 0; -ENOSPC: the limit is reached; -ENOMEM: the capacity stays as it is. */
int spw_history_grow(struct spw_history *history);

/* Returns true if the next operation of the backbone would overwrite the oldest. */
static inline bool spw_history_is_full(const struct spw_history *history)
{
    return history->bone_count - history->bone_first >= history->bone_capacity;
}

/* Returns true if bone `position` and everything after it is remembered: its event, the events of the gap before it, and
 * its touches. */
bool spw_history_has(const struct spw_history *history, uint64_t position);

static inline struct spw_bone *spw_bone_at(const struct spw_history *history, uint64_t position)
{
    return &history->bones[position & (history->bone_capacity - 1)];
}

static inline struct spw_event *spw_event_at(const struct spw_history *history, uint64_t position)
{
    return &history->events[position & (history->event_capacity - 1)];
}

static inline struct spw_touched *spw_touched_at(const struct spw_history *history, uint64_t position)
{
    return &history->touches[position & (history->touch_capacity - 1)];
}

/* Returns the next event, which the caller fills in. */
static inline struct spw_event *spw_history_next_event(struct spw_history *history)
{
    struct spw_event *event = spw_event_at(history, history->event_count++);
    if (history->event_count - history->event_first > history->event_capacity)
        history->event_first = history->event_count - history->event_capacity;
    return event;
}

static inline void spw_history_add_event(struct spw_history *history, struct spw_event event)
{
    *spw_history_next_event(history) = event;
}

/* ---- inline, since every operation takes this path */

static inline uint64_t spw_stir(uint64_t hash, uint64_t value)
{
    return ((hash << 23 | hash >> 41) ^ value) * 0x9e3779b97f4a7c15u;
}

/* Returns the identity of an operation: what is called, how, and the sizes of what it touches for certain, but not which
 * allocations it touches. */
static inline uint64_t spw_history_token(const struct spw_iteration_op *op)
{
    uint64_t hash = spw_stir(spw_stir((uint64_t)op->kind << 8 | op->everything, op->function), op->geometry);
    for (uint32_t i = 0; i + op->loose_count < op->touch_count; i++)
        hash = spw_stir(hash, op->touches[i].bytes);
    return hash ^ hash >> 32;
}

static inline void spw_history_add_touches(struct spw_history *history, const struct spw_iteration_touch *touches,
                                           uint32_t count)
{
    const uint64_t mask = history->touch_capacity - 1, first = history->touch_count;
    const uint32_t room = (uint32_t)(history->touch_capacity - (first & mask)), before = count < room ? count : room;
    struct spw_touched *touched = &history->touches[first & mask];
    for (uint32_t i = 0; i < before; i++)
        touched[i] = (struct spw_touched){(uint32_t)touches[i].alloc, (uint32_t)(touches[i].offset >> 4)};
    if (__builtin_expect(before < count, 0))
        for (uint32_t i = before; i < count; i++)
            history->touches[i - before] =
                (struct spw_touched){(uint32_t)touches[i].alloc, (uint32_t)(touches[i].offset >> 4)};
    history->touch_count = first + count;
    if (history->touch_count - history->touch_first > history->touch_capacity)
        history->touch_first = history->touch_count - history->touch_capacity;
}

static inline void spw_history_add_bone(struct spw_history *history, const struct spw_iteration_op *op, uint64_t token,
                                        const struct spw_live *live, bool hint, bool hint_in_gap)
{
    struct spw_bone *bone = spw_bone_at(history, history->bone_count);
    const uint32_t count = op->touch_count < SPW_HISTORY_MOST_TOUCHES ? op->touch_count : SPW_HISTORY_MOST_TOUCHES;
    bone->token = token;
    bone->live_hash = live->hash;
    bone->live_bytes = live->bytes;
    bone->op = history->op_count;
    bone->event = history->event_count;
    bone->touches = history->touch_count;
    bone->function = op->function;
    bone->newest = (uint32_t)live->newest;
    bone->touch_count = (uint16_t)count;
    bone->loose_count = (uint16_t)(op->loose_count < count ? op->loose_count : count);
    bone->everything = op->everything;
    bone->launch = op->kind == SPW_ITERATION_LAUNCH || op->kind == SPW_ITERATION_GRAPH;
    bone->hint = hint || hint_in_gap;
    if (bone->hint) {
        history->hints[2] = history->hints[1];
        history->hints[1] = history->hints[0];
        history->hints[0] = history->bone_count;
        history->hint_count++;
    }
    spw_history_add_touches(history, op->touches, count);
    struct spw_event *event = spw_history_next_event(history);
    event->value = history->bone_count;
    event->live_bytes = live->bytes;
    event->id = 0;
    event->alloc_kind = 0;
    event->kind = SPW_EVENT_BONE;
    event->input = false;
    event->hint = hint;
    history->bone_count++;
    if (history->bone_count - history->bone_first > history->bone_capacity)
        history->bone_first = history->bone_count - history->bone_capacity;
}
/* ---- */

/* Returns true if the live set was the same before both bones, except for slight allocations. */
static inline bool spw_history_lives_alike(const struct spw_history *history, const struct spw_live *live, uint64_t position,
                                           uint64_t other)
{
    const struct spw_bone *a = spw_bone_at(history, position), *b = spw_bone_at(history, other);
    return a->live_hash == b->live_hash && spw_live_alike(live, a->live_bytes, b->live_bytes);
}

/* Returns the first event of the gap before bone `position`; the gap ends before the bone's own event. */
static inline uint64_t spw_history_gap(const struct spw_history *history, uint64_t position)
{
    if (position > history->bone_first)
        return spw_bone_at(history, position - 1)->event + 1;
    return position ? history->event_first : 0;
}
#endif
