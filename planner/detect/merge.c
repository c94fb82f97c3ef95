/* merge.c - judges what came between two iterations: part of a longer iteration, a shape of its own, or only noise.
 *
 * Gradient accumulation looks like a shape A that is repeated with something, U, in between: A A A A U A A A A U.
 * Evaluation looks the same: T T T T T T T E. The remainder belongs to a longer iteration, A x 4 + U, when
 *   - it does not begin as the shape begins (an evaluation does: with the forward pass), and calls a function that the
 *     shape does not call (an update does), and
 *   - most of its launches are of such functions and it touches a quarter of the kept allocations, by bytes and by number
 *     (so logging is not enough); or it touches kept bytes that the shape never touches, at least a sixteenth of all
 *     (optimizer state).
 * The longer iteration is learned when its last two occurrences are equal, token by token. If the remainder was longer
 * the first time (it made states), that may be before the update comes for the third time. Limits: something that an
 * update does once in many iterations (a moving average of all weights every tenth step) makes one iteration of all ten;
 * so does an evaluation that begins with functions of its own and runs over most weights; an update that shares its
 * first functions with the forward pass does not. */
#include "detect/detector.h"

enum { FIRST_FUNCTIONS = 3, SMALL_SHARE = 8, SMALL_BONES = 4, SLOTS_PER_BONE = 64, BETTER_TRIALS = 8 };

static uint64_t hash_of(const struct spw_history *history, uint64_t begin, uint64_t end)
{
    uint64_t hash = end - begin;
    for (uint64_t p = begin; p < end; p++)
        hash = spw_live_mix(hash + spw_bone_at(history, p)->token);
    return hash | 1;
}

static bool begins_alike(const struct spw_history *history, const struct spw_shape *shape, uint64_t begin, uint64_t end)
{
    for (uint32_t i = 0; i < FIRST_FUNCTIONS && begin + i < end && i < shape->backbone; i++)
        if (spw_bone_at(history, begin + i)->function != shape->steps[i].function)
            return false;
    return true;
}

static bool belongs(struct spw_iteration *detector, const struct spw_shape *shape, uint64_t begin, uint64_t end)
{
    const struct spw_history *history = &detector->history;
    uint64_t launches = 0, unknown = 0;
    for (uint64_t p = begin; p < end; p++) {
        const struct spw_bone *bone = spw_bone_at(history, p);
        launches += bone->launch;
        unknown += bone->launch && !spw_shape_launches(shape, bone->function);
    }
    if (!unknown || begins_alike(history, shape, begin, end) || begin < shape->backbone ||
        !spw_history_has(history, begin - shape->backbone))
        return false;
    const uint64_t unit = begin - shape->backbone; /* the latest occurrence of the shape */
    const struct spw_coverage here = spw_period_coverage(history, &detector->live, unit, begin, end);
    if (2 * unknown > launches && 4 * here.count >= here.all_count && here.bytes >= here.all_bytes / 4)
        return true;
    const struct spw_coverage without = spw_period_coverage(history, &detector->live, unit, unit, begin);
    const struct spw_coverage with = spw_period_coverage(history, &detector->live, unit, unit, end);
    return with.bytes - without.bytes > 0 && with.bytes - without.bytes >= with.all_bytes / 16;
}

static bool comes_at(const struct spw_history *history, const struct spw_shape *shape, uint64_t bone, uint64_t end)
{
    if (bone + shape->backbone > end)
        return false;
    for (uint32_t i = 0; i < shape->backbone; i++)
        if (spw_bone_at(history, bone + i)->token != shape->steps[i].token)
            return false;
    return true;
}

/* Returns the first bone of [begin, end) at which the whole shape occurs before `last`, else `end`. */
static uint64_t first_of(const struct spw_history *history, const struct spw_shape *shape, uint64_t begin, uint64_t end,
                         uint64_t last)
{
    while (begin < end && !comes_at(history, shape, begin, last))
        begin++;
    return begin;
}

/* Returns how many bones of one period belong to the shape. The shape occurs at bone `begin`, where the period starts. */
static uint64_t bones_of(const struct spw_history *history, const struct spw_shape *shape, uint64_t begin, uint64_t end)
{
    uint64_t bones = 0;
    while ((begin = first_of(history, shape, begin, end, end)) < end) {
        bones += shape->backbone;
        begin += shape->backbone;
    }
    return bones;
}

static bool any_belongs(struct spw_iteration *detector, const struct spw_shape *shape, uint64_t begin, uint64_t end)
{
    const struct spw_history *history = &detector->history;
    while (begin < end) {
        const uint64_t rest = begin + shape->backbone, next = first_of(history, shape, rest, end, end);
        if (next > rest && belongs(detector, shape, rest, next))
            return true;
        begin = next;
    }
    return false;
}

bool spw_merge_is_whole(struct spw_iteration *detector, uint64_t end, uint64_t period, uint64_t run)
{
    const struct spw_history *history = &detector->history;
    const struct spw_shape *most = NULL;
    uint64_t most_bones = 0, begin = 0;
    for (size_t i = 0; i < detector->shape_count; i++) {
        const struct spw_shape *shape = detector->shapes[i];
        const uint64_t first = first_of(history, shape, end - 2 * period, end - period, end);
        const uint64_t bones = first < end - period ? bones_of(history, shape, first, first + period) : 0;
        if (bones > most_bones) {
            most = shape;
            most_bones = bones;
            begin = first;
        }
    }
    return !most || (run >= 2 * period && any_belongs(detector, most, begin, begin + period));
}

/* Returns an earlier remainder that is the same, and replaces it by `now`. Several different ones may occur in one
 * iteration, since the path may be found again for a moment only. */
static struct spw_stretch exchange_remainder(struct spw_iteration *detector, const struct spw_stretch *now)
{
    struct spw_stretch *place = NULL, before = {0};
    for (int i = 0; i < SPW_REMAINDERS && !place; i++)
        if (detector->remainders[i].hash == now->hash && detector->remainders[i].shape == now->shape)
            place = &detector->remainders[i];
    if (place)
        before = *place;
    else
        place = &detector->remainders[detector->remainder_next++ % SPW_REMAINDERS];
    *place = *now;
    return before;
}

/* Handles a remainder that belongs to a longer iteration and has not come like this before. It may still end an iteration
 * whose remainder was longer the last time, since the first update makes states. */
static void suspect(struct spw_iteration *detector, const struct spw_shape *shape, uint64_t begin, uint64_t end)
{
    for (int i = 0; i < SPW_REMAINDERS && !detector->suspect.lag; i++)
        if (detector->ends[i] && detector->ends[i] < begin)
            spw_search_suspect(detector, end, end - detector->ends[i], end - begin, shape);
}

int spw_merge_remainder(struct spw_iteration *detector, struct spw_shape *shape, uint64_t begin, uint64_t end,
                        bool *ret_learned)
{
    const struct spw_history *history = &detector->history;
    int r = 0;
    if (!spw_history_has(history, begin) || (end - detector->remainder_end) * SLOTS_PER_BONE < detector->live.capacity)
        return 0;
    if (belongs(detector, shape, begin, end)) {
        const struct spw_stretch now = {
            .hash = hash_of(history, begin, end), .bones = end - begin, .end = end, .shape = shape->id};
        const struct spw_stretch before = exchange_remainder(detector, &now);
        const uint64_t period = end - before.end;
        detector->remainder_end = end;
        if (before.hash && end >= 2 * period && !spw_history_has(history, end - 2 * period))
            return spw_search_remember_more(detector);
        if (before.hash)
            r = spw_search_learn_period(detector, end, period, shape, ret_learned);
        if (r == 0 && !*ret_learned)
            suspect(detector, shape, begin, end);
    }
    detector->ends[detector->end_next++ % SPW_REMAINDERS] = end;
    return r;
}

int spw_merge_stretch(struct spw_iteration *detector, const struct spw_shape *shape, uint64_t begin, uint64_t end)
{
    const struct spw_history *history = &detector->history;
    const uint64_t bones = end - begin;
    if (bones <= SMALL_BONES || bones * SMALL_SHARE <= shape->backbone || !spw_history_has(history, begin) ||
        !spw_history_lives_alike(history, &detector->live, begin, end))
        return 0;
    const uint64_t hash = hash_of(history, begin, end);
    for (int i = 0; i < SPW_STRETCHES; i++) {
        struct spw_stretch *stretch = &detector->stretches[i];
        if (stretch->hash != hash || stretch->bones != bones)
            continue;
        const struct spw_window window = {.begin = begin,
                                          .end = end,
                                          .begin_event = spw_boundary_point(history, begin),
                                          .end_event = spw_boundary_point(history, end)};
        struct spw_shape *kept;
        stretch->hash = 0;
        const int r = spw_search_keep(detector, &window, &kept);
        if (r < 0)
            return r;
        kept->seen += 2;
        kept->last_seen = spw_bone_at(history, begin)->op;
        return 0;
    }
    detector->stretches[detector->stretch_next++ % SPW_STRETCHES] =
        (struct spw_stretch){.hash = hash, .bones = bones, .end = end, .shape = shape->id};
    return 0;
}

/* Returns a hash of the copies from and to the host within the window, in order, and their number. */
static uint64_t copies_of(const struct spw_history *history, const struct spw_window *window, uint32_t *ret_count)
{
    uint64_t hash = 0;
    *ret_count = 0;
    for (uint64_t e = window->begin_event; e < window->end_event; e++) {
        const struct spw_event *event = spw_event_at(history, e);
        if (event->kind != SPW_EVENT_BESIDE)
            continue;
        hash = spw_live_mix(hash + event->value);
        (*ret_count)++;
    }
    return hash;
}

static uint64_t copies_of_shape(const struct spw_shape *shape)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < shape->beside_count; i++)
        hash = spw_live_mix(hash + shape->besides[i].token);
    return hash;
}

/* Replaces the shape by this iteration if it has fewer copies, or the same as the one before. The iteration that the
 * shape was learned from may have had too many copies (logging) or too few (something else was in its gap). */
static int take_better(struct spw_iteration *detector, uint64_t begin, uint64_t end, bool *ret_learned)
{
    const struct spw_history *history = &detector->history;
    const struct spw_window window = {.begin = begin,
                                      .end = end,
                                      .begin_event = spw_boundary_point(history, begin),
                                      .end_event = spw_boundary_point(history, end)};
    uint32_t count;
    const uint64_t copies = copies_of(history, &window, &count), before = detector->copies;
    detector->copies = copies;
    if (copies == copies_of_shape(detector->shape) || (count >= detector->shape->beside_count && copies != before))
        return 0;
    struct spw_shape *shape;
    const uint64_t last_seen = detector->shape->last_seen;
    const int r = spw_search_keep(detector, &window, &shape); /* replaces the one that is followed */
    if (r < 0)
        return r;
    *ret_learned = true;
    shape->last_seen = last_seen;
    (void)spw_follow_adopt(detector, shape, end, 0);
    return 0;
}

int spw_merge_completed(struct spw_iteration *detector, uint64_t end, bool *ret_learned)
{
    const uint64_t begin = detector->ended;
    detector->ended = end;
    if (!detector->start_known || !detector->whole)
        return begin < end ? spw_search_learn_period(detector, end, end - begin, NULL, ret_learned)
                           : 0; /* another way, twice in a row */
    if (detector->shape->seen >= BETTER_TRIALS || !spw_history_has(&detector->history, detector->start))
        return 0;
    return take_better(detector, detector->start, end, ret_learned);
}
