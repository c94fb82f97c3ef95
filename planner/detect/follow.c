/* follow.c - follows a shape step by step, and gives allocations the ordinals of their equals in it. */
#include "detect/detector.h"

enum { MOST_PAIRS = 4096 };

/* The allocations that the shape has in one gap: those before the boundary, then those after it. */
struct expected {
    const struct spw_shape *shape[2];
    uint32_t first[2], count[2];
};

static const struct spw_shape_alloc *expected_at(const struct expected *expected, uint32_t i, uint32_t *ret_part,
                                                 uint32_t *ret_ordinal)
{
    *ret_part = i < expected->count[0] ? 0 : 1;
    *ret_ordinal = expected->first[*ret_part] + i - (*ret_part ? expected->count[0] : 0);
    return &expected->shape[*ret_part]->allocs[*ret_ordinal];
}

static bool is_equal(const struct spw_event *event, const struct spw_shape_alloc *alloc)
{
    return event->value == alloc->bytes && event->alloc_kind == alloc->kind;
}

static void give(struct spw_iteration *detector, const struct spw_event *event, const struct expected *expected, uint32_t i)
{
    struct spw_live *live = &detector->live;
    struct spw_live_entry *entry = spw_live_find(live, live->newest - (uint32_t)((uint32_t)live->newest - event->id));
    uint32_t part, ordinal;
    const struct spw_shape_alloc *alloc = expected_at(expected, i, &part, &ordinal);
    if (!entry)
        return;
    entry->shape = expected->shape[part]->id;
    entry->ordinal = ordinal;
    entry->freed = alloc->freed;
    entry->sure = detector->whole && !detector->doubtful;
}

/* Returns true if the allocations among the events [first, last) are the expected ones in the same order. */
static bool same_order(const struct spw_history *history, uint64_t first, uint64_t last, const struct expected *expected,
                       uint32_t count)
{
    uint32_t i = 0, part, ordinal;
    for (uint64_t e = first; e < last; e++) {
        const struct spw_event *event = spw_event_at(history, e);
        if (event->kind == SPW_EVENT_ALLOC && (i >= count || !is_equal(event, expected_at(expected, i++, &part, &ordinal))))
            return false;
    }
    return i == count;
}

/* Returns how many of the events are like `like`. *ret_before: how many of these come before position `before`. */
static uint32_t count_events(const struct spw_history *history, uint64_t first, uint64_t last, const struct spw_event *like,
                             uint64_t before, uint32_t *ret_before)
{
    uint32_t count = 0;
    *ret_before = 0;
    for (uint64_t e = first; e < last; e++) {
        const struct spw_event *event = spw_event_at(history, e);
        if (event->kind != SPW_EVENT_ALLOC || event->value != like->value || event->alloc_kind != like->alloc_kind)
            continue;
        *ret_before += e < before;
        count++;
    }
    return count;
}

/* Handles allocations that were added, left out or moved. Sizes that came as often as expected keep their order. */
static void match_by_size(struct spw_iteration *detector, uint64_t first, uint64_t last, const struct expected *expected,
                          uint32_t count)
{
    const struct spw_history *history = &detector->history;
    for (uint64_t e = first; e < last; e++) {
        const struct spw_event *event = spw_event_at(history, e);
        uint32_t rank, part, ordinal, alike = 0, found = UINT32_MAX;
        if (event->kind != SPW_EVENT_ALLOC)
            continue;
        const uint32_t came = count_events(history, first, last, event, e, &rank);
        for (uint32_t i = 0; i < count; i++)
            if (is_equal(event, expected_at(expected, i, &part, &ordinal)) && alike++ == rank)
                found = i;
        if (alike == came && found != UINT32_MAX)
            give(detector, event, expected, found);
    }
}

/* Matches the allocations of the gap before `bone`. */
static void match_allocs(struct spw_iteration *detector, uint64_t bone, const struct expected *expected)
{
    const struct spw_history *history = &detector->history;
    uint64_t first = spw_history_gap(history, bone);
    const uint64_t last = spw_bone_at(history, bone)->event;
    const uint32_t count = expected->count[0] + expected->count[1];
    if (first < history->event_first)
        first = history->event_first;
    if (same_order(history, first, last, expected, count)) {
        uint32_t i = 0;
        for (uint64_t e = first; e < last && count; e++)
            if (spw_event_at(history, e)->kind == SPW_EVENT_ALLOC)
                give(detector, spw_event_at(history, e), expected, i++);
    } else if ((last - first) * ((last - first) + count) <= MOST_PAIRS) {
        match_by_size(detector, first, last, expected, count);
    }
}

static void expect(struct expected *expected, int part, const struct spw_shape *shape, uint32_t step)
{
    expected->shape[part] = shape;
    expected->first[part] = shape->steps[step].allocs;
    expected->count[part] = shape->steps[step + 1].allocs - shape->steps[step].allocs;
}

/* Returns the first operation after the boundary before `bone`. */
static uint64_t first_operation(const struct spw_history *history, uint64_t bone, uint64_t boundary)
{
    uint64_t op = spw_bone_at(history, bone)->op;
    for (uint64_t e = boundary; e < spw_bone_at(history, bone)->event; e++)
        op -= spw_event_at(history, e)->kind == SPW_EVENT_BESIDE;
    return op;
}

/* Begins an iteration of `shape` at `bone`; the boundary is before it. */
static void begin(struct spw_iteration *detector, struct spw_shape *shape, uint64_t bone)
{
    const struct spw_history *history = &detector->history;
    const bool goes_on = detector->shape && detector->cursor == detector->shape->backbone;
    struct expected expected = {0};
    const uint64_t live = spw_bone_at(history, bone)->live_bytes - (uint64_t)shape->steps[0].live_bytes;
    if (goes_on && detector->whole && spw_live_alike(&detector->live, detector->start_live_bytes, live))
        shape->boundary_live_bytes = live; /* the same at both ends, so it is right, whatever the shape had learned */
    if (goes_on)
        expect(&expected, 0, detector->shape, detector->shape->backbone);
    expect(&expected, 1, shape, 0);
    detector->boundary = spw_boundary_point(history, bone);
    if (!detector->entered)
        detector->began = first_operation(history, bone, detector->boundary);
    detector->doubtful = !(goes_on && detector->shape == shape && (detector->whole || !detector->doubtful));
    detector->whole = true;
    match_allocs(detector, bone, &expected);
    detector->shape = shape;
    detector->entered = false;
    detector->start = bone;
    detector->start_known = true;
    detector->start_live_bytes = live;
    detector->cursor = detector->matched = 0;
    shape->last_seen = detector->began;
}

static void complete(struct spw_iteration *detector, struct spw_shape *shape)
{
    shape->seen++;
    for (size_t i = 0; i < detector->shape_count; i++)
        if (detector->shapes[i]->id == detector->previous)
            detector->shapes[i]->repeats = detector->shapes[i] == shape;
    detector->in_a_row = detector->previous == shape->id ? detector->in_a_row + 1 : 1;
    detector->unsettled = detector->unsettled && detector->in_a_row < SPW_SETTLED;
    detector->previous = shape->id;
}

static void take_step(struct spw_iteration *detector, uint64_t bone)
{
    struct spw_shape *shape = detector->shape;
    if (detector->cursor > 0) {
        struct expected expected = {0};
        expect(&expected, 1, shape, detector->cursor);
        if (expected.count[1])
            match_allocs(detector, bone, &expected);
    }
    detector->cursor++;
    detector->matched++;
    detector->since_back++;
    if (detector->matched == shape->distinct_after)
        detector->doubtful = false;
    if (detector->since_back >= SPW_TRIAL_RUN || detector->cursor == shape->backbone)
        detector->trial = false;
    detector->beside_cursor = shape->steps[detector->cursor].besides;
    if (detector->cursor == shape->backbone && 4 * (uint64_t)detector->matched >= 3 * (uint64_t)shape->backbone)
        complete(detector, shape);
}

/* Returns true if `other` is likelier than the best so far: the shape that keeps repeating, if there is one, else the one
 * seen most. */
static bool is_likelier(const struct spw_shape *other, const struct spw_shape *best, const struct spw_shape *repeating)
{
    if (!best || best == repeating)
        return !best;
    return other == repeating || other->seen > best->seen;
}

/* Returns a shape that equals this one so far and goes on with this token, or NULL. */
static struct spw_shape *other_shape(const struct spw_iteration *detector, uint64_t token)
{
    const struct spw_shape *shape = detector->shape;
    const bool is_complete = detector->cursor == shape->backbone;
    const struct spw_shape *repeating = is_complete && shape->repeats ? shape : NULL;
    const uint32_t step = is_complete ? 0 : detector->cursor;
    struct spw_shape *best = NULL;
    for (size_t i = 0; i < detector->shape_count; i++) {
        struct spw_shape *other = detector->shapes[i];
        if (other->backbone > step && other->steps[step].token == token &&
            other->steps[step].prefix == shape->steps[step].prefix && is_likelier(other, best, repeating))
            best = other;
    }
    return best;
}

/* Returns another shape that ends where this one should go on, or NULL. */
static struct spw_shape *shorter_shape(const struct spw_iteration *detector)
{
    const struct spw_shape *shape = detector->shape;
    const uint32_t step = detector->cursor;
    for (size_t i = 0; i < detector->shape_count; i++)
        if (detector->shapes[i]->backbone == step && detector->shapes[i]->steps[step].prefix == shape->steps[step].prefix)
            return detector->shapes[i];
    return NULL;
}

bool spw_follow(struct spw_iteration *detector, uint64_t bone)
{
    struct spw_shape *shape = detector->shape;
    const uint64_t token = spw_bone_at(&detector->history, bone)->token;
    if (detector->cursor == shape->backbone) {
        struct spw_shape *next = other_shape(detector, token);
        if (!next)
            return false;
        begin(detector, next, bone);
    } else if (shape->steps[detector->cursor].token != token) {
        const bool known = detector->start_known && detector->matched == detector->cursor &&
                           spw_history_has(&detector->history, detector->start);
        struct spw_shape *other = known ? other_shape(detector, token) : NULL;
        if (known && !other)
            other = shorter_shape(detector);
        return other && spw_follow_adopt(detector, other, detector->start, 0);
    }
    take_step(detector, bone);
    return true;
}

bool spw_follow_adopt(struct spw_iteration *detector, struct spw_shape *shape, uint64_t first, uint32_t step)
{
    const struct spw_history *history = &detector->history;
    if (step == 0) {
        detector->shape = NULL;
        detector->entered = false;
        begin(detector, shape, first);
    } else {
        const bool same = detector->lost == shape && detector->off_step == step && detector->start_known;
        detector->matched = same ? step : 0;
        detector->start_known = same;
        detector->whole = false;
        detector->shape = shape;
        detector->cursor = step;
        if (!same) {
            detector->began = spw_bone_at(history, first)->op;
            detector->boundary = spw_bone_at(history, first)->event;
        }
    }
    for (uint64_t bone = first; bone < history->bone_count; bone++) {
        if (bone > first && detector->cursor == detector->shape->backbone)
            begin(detector, detector->shape, bone);
        if (detector->shape->steps[detector->cursor].token != spw_bone_at(history, bone)->token) {
            spw_follow_leave(detector, bone);
            return false;
        }
        take_step(detector, bone);
    }
    return true;
}

void spw_follow_leave(struct spw_iteration *detector, uint64_t bone)
{
    detector->run[0] = detector->run[1] = 0;
    detector->entered = false;
    if (!detector->trial) {
        detector->lost = detector->shape;
        detector->off_step = detector->cursor == detector->shape->backbone ? 0 : detector->cursor;
        detector->off_since = bone;
        if (!detector->unsettled)
            spw_finder_restart(&detector->finder, bone);
    }
    detector->trial = false;
    detector->unsettled = true;
    detector->in_a_row = 0;
    detector->shape = NULL;
}

/* Looks for the token among those of a gap, from beside_cursor on. */
static bool match_beside(struct spw_iteration *detector, uint32_t first, uint32_t end, uint64_t token, uint32_t *ret_ordinal)
{
    const struct spw_shape *shape = detector->shape;
    for (uint32_t i = first > detector->beside_cursor ? first : detector->beside_cursor; i < end; i++)
        if (shape->besides[i].token == token) {
            *ret_ordinal = shape->besides[i].ordinal;
            detector->beside_cursor = i + 1;
            return true;
        }
    return false;
}

bool spw_follow_beside(struct spw_iteration *detector, uint64_t token, uint32_t *ret_ordinal, bool *ret_begins)
{
    const struct spw_shape *shape = detector->shape;
    const uint32_t step = detector->cursor;
    *ret_begins = false;
    if (step < shape->backbone || !detector->entered)
        if (match_beside(detector, shape->steps[step].besides, shape->steps[step + 1].besides, token, ret_ordinal))
            return true;
    if (step < shape->backbone)
        return false;
    if (!detector->entered)
        detector->beside_cursor = 0;
    if (!match_beside(detector, 0, shape->steps[1].besides, token, ret_ordinal)) {
        if (!detector->entered)
            detector->beside_cursor = shape->steps[step].besides;
        return false;
    }
    if (!detector->entered) {
        *ret_begins = true;
        detector->entered = true;
        detector->began = detector->history.op_count;
    }
    return true;
}
