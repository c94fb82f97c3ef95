/* boundary.c - chooses where an iteration begins, since every rotation of a period is one too.
 *
 * The live set must be the same one period earlier, except for slight allocations (live.h). Among those points the order
 * of preference is: a point that the program named; the point with the fewest live bytes, so that no tensor of an
 * iteration is alive; the point before a copy from the host, the iteration's input; the first point since the program
 * began to repeat itself. Where memory grows with each period, points that differ by no more than the growth count as
 * equal, since which of them come after the growth depends on where one begins. */
#include "detect/boundary.h"

struct point {
    uint64_t event;
    uint64_t live_bytes;
    bool hint;  /* the program named the operation there */
    bool input; /* the next operation is a copy from the host */
};

static bool is_operation(const struct spw_event *event)
{
    return event->kind == SPW_EVENT_BONE || event->kind == SPW_EVENT_BESIDE;
}

/* Returns the best point of the gap before `bone`. Among equally good points the last one wins, except that the first of
 * a run of input copies is taken. */
static struct point best_of_gap(const struct spw_history *history, uint64_t bone)
{
    const uint64_t first = spw_history_gap(history, bone), last = spw_bone_at(history, bone)->event;
    struct point best = {.event = last, .live_bytes = UINT64_MAX};
    bool input = false;
    for (uint64_t e = last + 1; e-- > first;) {
        const struct spw_event *event = spw_event_at(history, e);
        if (is_operation(event))
            input = event->input;
        if (event->hint)
            return (struct point){.event = e, .live_bytes = event->live_bytes, .hint = true, .input = input};
        if (event->live_bytes < best.live_bytes ||
            (event->live_bytes == best.live_bytes && (input > best.input || (input && event->input))))
            best = (struct point){.event = e, .live_bytes = event->live_bytes, .input = input};
    }
    return best;
}

uint64_t spw_boundary_point(const struct spw_history *history, uint64_t bone)
{
    return best_of_gap(history, bone).event;
}

static uint64_t difference(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* `growth`: of the live bytes within a period. */
static bool is_better(const struct point *a, const struct point *b, uint64_t growth)
{
    if (a->hint != b->hint)
        return a->hint;
    if (difference(a->live_bytes, b->live_bytes) > growth)
        return a->live_bytes < b->live_bytes;
    return a->input && !b->input;
}

struct spw_window spw_boundary_choose(const struct spw_history *history, const struct spw_live *live, uint64_t end,
                                      uint64_t period, uint64_t phase)
{
    struct point best = {.live_bytes = UINT64_MAX};
    uint64_t best_bone = end - 1;
    /* In the order of the phase: the bones p of (end - period, end) with p = phase + k. */
    for (uint64_t k = 0; k < period; k++) {
        const uint64_t p = end - 1 - ((end - 1 + period - phase % period - k) % period);
        if (!spw_history_lives_alike(history, live, p, p - period))
            continue;
        struct point point = best_of_gap(history, p);
        if (point.hint && !best_of_gap(history, p - period).hint)
            point.hint = false;
        const uint64_t growth =
            difference(spw_bone_at(history, p)->live_bytes, spw_bone_at(history, p - period)->live_bytes);
        if (is_better(&point, &best, growth) || best.live_bytes == UINT64_MAX) {
            best = point;
            best_bone = p;
        }
    }
    return (struct spw_window){.begin = best_bone - period,
                               .end = best_bone,
                               .begin_event = spw_boundary_point(history, best_bone - period),
                               .end_event = spw_boundary_point(history, best_bone)};
}
