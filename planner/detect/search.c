/* search.c - works while off the path: finds the way back into a known shape, or learns a new one. */
#include "detect/detector.h"

#include <errno.h>

enum { MOST_TURNS = 4 };

static void forget(struct spw_iteration *detector, size_t index)
{
    struct spw_shape *shape = detector->shapes[index];
    if (detector->shape == shape)
        detector->shape = NULL;
    if (detector->lost == shape)
        detector->lost = NULL;
    for (size_t i = index + 1; i < detector->shape_count; i++)
        detector->shapes[i - 1] = detector->shapes[i];
    detector->shape_count--;
    spw_shape_destroy(shape);
}

static void forget_shape(struct spw_iteration *detector, const struct spw_shape *shape)
{
    for (size_t i = 0; i < detector->shape_count; i++)
        if (detector->shapes[i] == shape) {
            forget(detector, i);
            return;
        }
}

static void make_place(struct spw_iteration *detector)
{
    size_t oldest = 0;
    for (size_t i = 1; i < detector->shape_count; i++)
        if (detector->shapes[i]->last_seen < detector->shapes[oldest]->last_seen)
            oldest = i;
    if (detector->shape_count == SPW_ITERATION_SHAPES)
        forget(detector, oldest);
}

static void add_shape(struct spw_iteration *detector, struct spw_shape *shape)
{
    make_place(detector);
    shape->id = ++detector->next_shape;
    detector->shapes[detector->shape_count++] = shape;
}

int spw_search_keep(struct spw_iteration *detector, const struct spw_window *window, struct spw_shape **ret_shape)
{
    struct spw_shape *shape;
    const int r = spw_shape_create(&detector->history, window, &shape);
    if (r < 0)
        return r;
    for (size_t i = 0; i < detector->shape_count; i++)
        if (detector->shapes[i]->backbone == shape->backbone && detector->shapes[i]->sum == shape->sum) {
            shape->seen = detector->shapes[i]->seen; /* it is the same shape with another boundary */
            forget(detector, i);
            break;
        }
    add_shape(detector, shape);
    *ret_shape = shape;
    return 0;
}

int spw_search_learn(struct spw_iteration *detector, uint64_t end, uint64_t period, uint64_t run, struct spw_shape *instead)
{
    if (period == 0)
        return 0;
    const uint64_t phase = end - run - period;
    const struct spw_window window = spw_boundary_choose(&detector->history, &detector->live, end, period, phase);
    struct spw_shape *shape;
    const int r = spw_search_keep(detector, &window, &shape);
    if (r < 0)
        return r;
    if (instead)
        forget_shape(detector, instead);
    shape->seen += (window.end - phase) / period;
    shape->repeats = true;
    shape->last_seen = spw_bone_at(&detector->history, window.begin)->op;
    detector->shape = NULL;
    detector->trial = detector->unsettled = false;
    detector->suspect.lag = 0;
    if (spw_follow_adopt(detector, shape, window.end, 0))
        detector->doubtful = false;
    return 0;
}

/* Returns over how many bones before `end` the period holds, up to three times the period. */
static uint64_t run_of(const struct spw_history *history, uint64_t end, uint64_t period)
{
    uint64_t p = end;
    while (p > history->bone_first + period && end - p < 3 * period &&
           spw_bone_at(history, p - 1)->token == spw_bone_at(history, p - 1 - period)->token)
        p--;
    return end - p;
}

int spw_search_learn_period(struct spw_iteration *detector, uint64_t end, uint64_t period, struct spw_shape *instead,
                            bool *ret_learned)
{
    const uint64_t run = run_of(&detector->history, end, period);
    if (run < period || spw_period_judge(&detector->history, &detector->live, end, period, run) != SPW_VERDICT_YES)
        return 0;
    const int r = spw_search_learn(detector, end, period, run, instead);
    *ret_learned = r == 0;
    return r;
}

void spw_search_suspect(struct spw_iteration *detector, uint64_t end, uint64_t period, uint64_t least,
                        const struct spw_shape *part)
{
    const uint64_t newest = detector->history.bone_count, run = run_of(&detector->history, newest, period);
    if (run < newest - end + least || run >= period)
        return;
    detector->suspect = (struct spw_tracker){.lag = period, .run = run};
    detector->suspect_part = part->id;
}

int spw_search_compare(struct spw_iteration *detector, uint64_t bone, bool *ret_learned)
{
    const struct spw_history *history = &detector->history;
    const uint64_t period = detector->suspect.lag;
    struct spw_shape *part = NULL;
    if (spw_bone_at(history, bone)->token != spw_bone_at(history, bone - period)->token) {
        detector->suspect.lag = 0;
        return 0;
    }
    if (++detector->suspect.run < period)
        return 0;
    detector->suspect.lag = 0;
    for (size_t i = 0; i < detector->shape_count && !part; i++)
        if (detector->shapes[i]->id == detector->suspect_part)
            part = detector->shapes[i];
    return part ? spw_search_learn_period(detector, bone + 1, period, part, ret_learned) : 0;
}

int spw_search_remember_more(struct spw_iteration *detector)
{
    const int r = spw_history_grow(&detector->history);
    if (r == -ENOSPC)
        return 0;
    return r < 0 ? r : spw_finder_grow(&detector->finder, &detector->history);
}

/* Returns over how many bones, up to the newest, the shape's steps up to `step` fit, at most back to its first step. */
static uint32_t fitting(const struct spw_history *history, const struct spw_shape *shape, uint64_t bone, uint32_t step)
{
    uint32_t count = 0;
    while (count <= step && bone - count > history->bone_first &&
           spw_bone_at(history, bone - count)->token == shape->steps[step - count].token)
        count++;
    return count;
}

static bool is_known(const struct spw_iteration *detector, uint32_t id)
{
    for (size_t i = 0; i < detector->shape_count; i++)
        if (detector->shapes[i]->id == id)
            return true;
    return false;
}

/* Returns to the path of `shape`: bone `first` is its step `step`. If what came in between has become a shape instead,
 * the path is not taken. */
static int go_back(struct spw_iteration *detector, struct spw_shape *shape, uint64_t first, uint32_t step, bool *ret_learned)
{
    const bool same = shape == detector->lost && step == detector->off_step;
    int r = 0;
    if (same && first > detector->off_since)
        r = spw_merge_remainder(detector, shape, detector->off_since, first, ret_learned);
    if (r < 0 || *ret_learned)
        return r;
    const uint32_t id = shape->id;
    const uint64_t begin = detector->off_step ? detector->start : detector->off_since;
    if (step == 0 && detector->lost && first > begin && (detector->start_known || detector->off_step == 0))
        r = spw_merge_stretch(detector, shape, begin, first);
    if (!is_known(detector, id))
        return r;
    detector->trial = true;
    detector->since_back = 0;
    (void)spw_follow_adopt(detector, shape, first, step);
    return r;
}

/* Returns the context of the bones since the path was left. */
static struct spw_context context_off_path(const struct spw_iteration *detector, uint64_t bone)
{
    struct spw_context context = detector->finder.context;
    if (context.since > bone - detector->off_since + 1)
        context.since = bone - detector->off_since + 1;
    return context;
}

/* Finds the way back by a context that occurs at one place only. */
static bool way_back_by_context(struct spw_iteration *detector, struct spw_shape *shape, uint64_t bone, int *ret,
                                bool *ret_learned)
{
    const struct spw_context context = context_off_path(detector, bone);
    uint32_t step;
    if (!spw_shape_locate(shape, &context, true, &step))
        return false;
    const uint32_t count = fitting(&detector->history, shape, bone, step);
    if (count == 0 || !spw_history_has(&detector->history, bone - count + 1))
        return false;
    uint32_t from = step + 1 - count;
    const uint32_t off = detector->off_step;
    if (from > 0 && shape == detector->lost && from < off && off <= step && bone - (step - off) >= detector->off_since)
        from = off; /* the step at which the path was left: something was inserted */
    *ret = go_back(detector, shape, bone - (step - from), from, ret_learned);
    return true;
}

/* Finds the way back by a long run from where the path was left, or from the boundary, although its context occurs
 * elsewhere too. */
static bool way_back_by_run(struct spw_iteration *detector, uint64_t bone, int *ret, bool *ret_learned)
{
    struct spw_shape *shape = detector->lost;
    const uint64_t token = spw_bone_at(&detector->history, bone)->token;
    for (int i = 0; i < 2 && shape; i++) {
        const uint32_t base = i ? 0 : detector->off_step;
        uint32_t *run = &detector->run[i];
        if (shape->steps[base + *run].token != token)
            *run = 0;
        *run += shape->steps[base + *run].token == token;
        if (*run < SPW_SURE_RUN && base + *run < shape->backbone)
            continue;
        const uint64_t first = bone - *run + 1;
        if (*run >= 2 && spw_history_has(&detector->history, first)) {
            *ret = go_back(detector, shape, first, base, ret_learned);
            detector->whole = *ret_learned;
            return true;
        }
        *run = 0;
    }
    return false;
}

/* Takes a shape that another process has learned. The finder goes on until the shape has proven to be what this process
 * does. */
static bool way_to_remembered(struct spw_iteration *detector, uint64_t bone, int *ret, bool *ret_learned)
{
    const struct spw_context context = context_off_path(detector, bone);
    uint32_t step;
    struct spw_shape *shape = spw_remembered_take(&detector->remembered, &context, &step);
    if (!shape)
        return false;
    add_shape(detector, shape);
    detector->unsettled = true;
    return way_back_by_context(detector, shape, bone, ret, ret_learned);
}

static bool way_back(struct spw_iteration *detector, uint64_t bone, int *ret, bool *ret_learned)
{
    if (detector->lost && way_back_by_context(detector, detector->lost, bone, ret, ret_learned))
        return true;
    for (size_t i = 0; i < detector->shape_count; i++)
        if (detector->shapes[i] != detector->lost &&
            way_back_by_context(detector, detector->shapes[i], bone, ret, ret_learned))
            return true;
    return way_back_by_run(detector, bone, ret, ret_learned) || way_to_remembered(detector, bone, ret, ret_learned);
}

/* Returns true if the repetition occurs in what the shape repeats, as often: then it is a loop within the shape, or the
 * shape itself, and not another iteration. */
static bool is_within(const struct spw_history *history, const struct spw_shape *shape, uint64_t end, uint64_t period,
                      uint64_t run)
{
    uint64_t wanted = 0, here = 0, leaving = 1;
    const uint64_t most = 2 * (uint64_t)shape->backbone > 2 * period ? 2 * (uint64_t)shape->backbone : 2 * period;
    const uint64_t count = run + period < most ? run + period : most;
    for (uint64_t i = 0; i < count; i++) {
        wanted = wanted * SPW_CONTEXT_BASE + spw_bone_at(history, end - count + i)->token;
        leaving *= SPW_CONTEXT_BASE;
    }
    for (uint64_t i = 0; i < shape->backbone + count; i++) {
        here = here * SPW_CONTEXT_BASE + shape->steps[i % shape->backbone].token;
        if (i >= count)
            here -= shape->steps[(i - count) % shape->backbone].token * leaving;
        if (i + 1 >= count && here == wanted)
            return true;
    }
    return false;
}

static bool is_known_period(const struct spw_iteration *detector, uint64_t end, const struct spw_tracker *candidate)
{
    for (size_t i = 0; i < detector->shape_count; i++) {
        const struct spw_shape *shape = detector->shapes[i];
        const bool is_of_this_process = shape->seen || shape == detector->shape;
        if (is_of_this_process && is_within(&detector->history, shape, end, candidate->lag, candidate->run))
            return true;
    }
    return false;
}

/* Judges the candidate and then a few multiples of its lag, since the same calls may be made on different tensors in
 * turn, as by models of the same form. A multiple has to use most of the kept allocations, however often it came. */
static enum spw_verdict judge_turns(struct spw_iteration *detector, uint64_t end, const struct spw_tracker *proposed,
                                    struct spw_tracker *ret_candidate)
{
    const uint64_t lag = proposed->lag;
    enum spw_verdict verdict = spw_period_judge(&detector->history, &detector->live, end, lag, proposed->run);
    *ret_candidate = *proposed;
    for (uint64_t turns = 2; turns <= MOST_TURNS && verdict == SPW_VERDICT_NO; turns++) {
        if (proposed->run < (2 * turns - 1) * lag)
            return SPW_VERDICT_NO;
        *ret_candidate = (struct spw_tracker){.lag = turns * lag, .run = proposed->run - (turns - 1) * lag};
        verdict = spw_period_judge(&detector->history, &detector->live, end, turns * lag, turns * lag);
    }
    return verdict;
}

/* Takes the repetition that the finder proposes, up to the newest bone, and learns it if it is an iteration that is not
 * known. */
static int take_candidate(struct spw_iteration *detector, uint64_t bone, const struct spw_tracker *proposed,
                          bool *ret_learned)
{
    struct spw_tracker candidate;
    const enum spw_verdict verdict = judge_turns(detector, bone + 1, proposed, &candidate);
    if (verdict == SPW_VERDICT_FORGOTTEN)
        return spw_search_remember_more(detector);
    if (verdict != SPW_VERDICT_YES || is_known_period(detector, bone + 1, &candidate) ||
        !spw_merge_is_whole(detector, bone + 1, candidate.lag, candidate.run))
        return 0;
    const int r = spw_search_learn(detector, bone + 1, candidate.lag, candidate.run, NULL);
    *ret_learned = r == 0;
    return r;
}

int spw_search_doubt(struct spw_iteration *detector, uint64_t bone, bool *ret_learned)
{
    struct spw_tracker candidate;
    return spw_finder_look(&detector->finder, &detector->history, &candidate)
               ? take_candidate(detector, bone, &candidate, ret_learned)
               : 0;
}

/* ---- hints ---- */

/* Returns the shape that begins with a hint and this token and was seen most, or NULL. */
static struct spw_shape *hinted_shape(const struct spw_iteration *detector, uint64_t token)
{
    struct spw_shape *best = NULL;
    for (size_t i = 0; i < detector->shape_count; i++) {
        struct spw_shape *shape = detector->shapes[i];
        if (shape->steps[0].hint && shape->steps[0].token == token && (!best || shape->seen > best->seen))
            best = shape;
    }
    return best;
}

static bool any_hinted_shape(const struct spw_iteration *detector)
{
    for (size_t i = 0; i < detector->shape_count; i++)
        if (detector->shapes[i]->hints)
            return true;
    return false;
}

void spw_search_heed(struct spw_iteration *detector, uint64_t bone)
{
    struct spw_shape *shape = detector->shape;
    const uint64_t token = spw_bone_at(&detector->history, bone)->token;
    if (!shape)
        return;
    const bool ends = detector->cursor == shape->backbone;
    struct spw_shape *hinted = hinted_shape(detector, token);
    if (shape->steps[ends ? 0 : detector->cursor].hint || (ends && (hinted || shape->steps[0].token != token)))
        return;
    const bool before_hints = !any_hinted_shape(detector);
    if (hinted || before_hints)
        spw_follow_leave(detector, bone);
    if (before_hints)
        forget_shape(detector, shape);
}

/* Handles a bone with a hint while off the path: learns the stretch between the last three hints if it came twice, or
 * follows a known shape that begins like this. */
static int search_by_hint(struct spw_iteration *detector, uint64_t bone, bool *ret_learned)
{
    const struct spw_history *history = &detector->history;
    const uint64_t period = history->hints[0] - history->hints[1];
    struct spw_shape *shape = hinted_shape(detector, spw_bone_at(history, bone)->token);
    int r = 0;
    if (history->hint_count >= 3 && history->hints[1] - history->hints[2] == period)
        r = spw_search_learn_period(detector, bone + 1, period, NULL, ret_learned);
    if (r == 0 && !*ret_learned && shape)
        r = go_back(detector, shape, bone, 0, ret_learned);
    return r;
}

int spw_search(struct spw_iteration *detector, uint64_t bone, bool *ret_learned)
{
    struct spw_history *history = &detector->history;
    struct spw_tracker candidate;
    int r = 0;
    const bool due = spw_finder_look(&detector->finder, history, &candidate);
    if (spw_bone_at(history, bone)->hint) {
        r = search_by_hint(detector, bone, ret_learned);
        if (r < 0 || detector->shape)
            return r;
    }
    if (due) {
        r = take_candidate(detector, bone, &candidate, ret_learned);
        if (r < 0 || *ret_learned)
            return r;
    }
    if (way_back(detector, bone, &r, ret_learned) && detector->shape)
        return r;
    if (spw_history_is_full(history) && 2 * (bone - detector->off_since) >= history->bone_capacity)
        return spw_search_remember_more(detector);
    return r;
}
