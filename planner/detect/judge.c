/* judge.c - judges whether a stretch that repeats is an iteration, or only a loop inside one.
 *
 * Inner loops (layers, time steps) repeat too. An iteration differs from them in this:
 *   1. The live set is the same at both ends, at least at one rotation: a forward loop leaves activations behind. Slight
 *      allocations do not count (a loss that is kept on the device; live.h). The live set is the same in the last
 *      sixteenth: an evaluation has the same operations as the forward pass of the step after it, but only the latter
 *      leaves activations behind.
 *   2. The same operation touches the same allocations again, while a layer has weights of its own. Every operation is
 *      compared with the one a period earlier. An allocation that was alive then already must be the same one. A younger
 *      one must have been made about as many allocations ago, and so must one that was made in the period before (an input
 *      that is fetched one iteration ahead). One operation in eight may differ (buffers used in turn).
 *   3. It uses most of the kept allocations: parameters, gradients, states. The less of them it uses, the more often it
 *      must have been repeated: two occurrences for three quarters (of the bytes and of the number), three for a third,
 *      else a thousand that are half of the whole run. If hardly any kept allocations are known, the share tells nothing;
 *      then four occurrences that are half of the whole run are enough, if there are copies to or from the host in each.
 *   4. There are at least seven operations in all: two equal launches in a row are not a loop.
 *   5. While the program gives hints, they come at the same operations in both occurrences, and there is at least one.
 *      Hints that have stopped (65536 operations without one, or twice as many as there were between the last two) do not
 *      count.
 * Limits: a loop that repeats exactly, on the same memory, and uses most of the kept allocations is taken for the
 * iteration until the rest has been seen (gradient accumulation is such a loop; see merge.c). A program that keeps more
 * than slight allocations in every iteration (outputs as large as its layers') never has the same live set again and is
 * not recognised. */
#include "detect/period.h"

enum {
    DIFFERENT_SHARE = 8,
    LAST_SHARE = 16,
    LOOSE_ALLOCS = 2,
    FEWEST_OPERATIONS = 7,
    FEW_KEPT = 8,
    HINTS_STOPPED = 1 << 16
};

/* Returns true if the allocation was made in the `bones` bones before `position`. */
static bool was_made_since(const struct spw_history *history, uint64_t position, uint64_t bones, uint32_t id)
{
    return position >= bones && spw_history_has(history, position - bones) &&
           (int32_t)(id - spw_bone_at(history, position - bones)->newest) > 0;
}

/* Returns the number of touches that are part of the operation's identity. */
static uint32_t sure_touches(const struct spw_bone *bone)
{
    return bone->touch_count - bone->loose_count;
}

/* Returns true if the touches of the bones at `position` and `lag` earlier correspond. */
static bool same_objects(const struct spw_history *history, uint64_t position, uint64_t lag)
{
    const struct spw_bone *now = spw_bone_at(history, position), *before = spw_bone_at(history, position - lag);
    const uint32_t shift = now->newest - before->newest;
    for (uint32_t t = 0; t < sure_touches(now) && t < sure_touches(before); t++) {
        const struct spw_touched *a = spw_touched_at(history, now->touches + t),
                                 *b = spw_touched_at(history, before->touches + t);
        if (a->id == b->id) {
            if (a->offset != b->offset)
                return false;
            continue;
        }
        if ((int32_t)(a->id - before->newest) <= 0 && !was_made_since(history, position, 2 * lag, a->id))
            return false; /* it existed already, and another one was used */
        const int32_t off = (int32_t)(a->id - b->id - shift);
        if (off < -LOOSE_ALLOCS || off > LOOSE_ALLOCS)
            return false;
    }
    return true;
}

static bool corresponds(const struct spw_history *history, const struct spw_live *live, uint64_t end, uint64_t lag)
{
    const uint64_t last = end - 1 - lag / LAST_SHARE;
    uint64_t different = 0, same_live = 0;
    for (uint64_t p = end - lag; p < end; p++) {
        same_live += p >= last && spw_history_lives_alike(history, live, p, p - lag);
        if (!same_objects(history, p, lag) && ++different * DIFFERENT_SHARE > lag)
            return false;
    }
    return same_live > 0;
}

static bool hints_are_given(const struct spw_history *history)
{
    const uint64_t since = history->bone_count - history->hints[0], between = history->hints[0] - history->hints[1];
    return history->hint_count && (since <= HINTS_STOPPED || (history->hint_count > 1 && since <= 2 * between));
}

static bool hints_agree(const struct spw_history *history, uint64_t end, uint64_t lag)
{
    bool any = false;
    if (!hints_are_given(history))
        return true;
    for (uint64_t p = end - lag; p < end; p++) {
        if (spw_bone_at(history, p)->hint != spw_bone_at(history, p - lag)->hint)
            return false;
        any |= spw_bone_at(history, p)->hint;
    }
    return any;
}

struct spw_coverage spw_period_coverage(const struct spw_history *history, struct spw_live *live, uint64_t old,
                                        uint64_t first, uint64_t end)
{
    struct spw_coverage coverage = {0};
    const uint32_t newest = spw_bone_at(history, old)->newest;
    const uint64_t newest_id = live->newest - (uint32_t)((uint32_t)live->newest - newest);
    const uint32_t mark = ++live->mark;
    for (size_t i = 0; i < live->capacity; i++)
        if (live->slots[i].id && live->slots[i].id <= newest_id && !live->slots[i].slight) {
            coverage.all_count++;
            coverage.all_bytes += live->slots[i].bytes;
        }
    for (uint64_t p = first; p < end; p++) {
        const struct spw_bone *bone = spw_bone_at(history, p);
        if (bone->everything) {
            coverage.count = coverage.all_count;
            coverage.bytes = coverage.all_bytes;
            return coverage;
        }
        for (uint32_t t = 0; t < bone->touch_count; t++) {
            const uint32_t id = spw_touched_at(history, bone->touches + t)->id;
            if ((int32_t)(id - newest) > 0)
                continue;
            struct spw_live_entry *entry = spw_live_find(live, live->newest - (uint32_t)((uint32_t)live->newest - id));
            if (!entry || entry->slight || entry->mark == mark)
                continue;
            entry->mark = mark;
            coverage.count++;
            coverage.bytes += entry->bytes;
        }
    }
    return coverage;
}

static bool at_least(const struct spw_coverage *coverage, unsigned part, unsigned of)
{
    return coverage->count * of >= coverage->all_count * part &&
           (double)coverage->bytes * of >= (double)coverage->all_bytes * part;
}

/* Returns the number of operations in the bones [first, end) and between them. */
static uint64_t operations(const struct spw_history *history, uint64_t first, uint64_t end)
{
    return spw_bone_at(history, end - 1)->op - spw_bone_at(history, first)->op + 1;
}

/* Returns true if there are copies in the bones [first, end), or before the first. */
static bool copies_are_made(const struct spw_history *history, uint64_t first, uint64_t end)
{
    for (uint64_t e = spw_history_gap(history, first); e < spw_bone_at(history, end - 1)->event; e++)
        if (spw_event_at(history, e)->kind == SPW_EVENT_BESIDE)
            return true;
    return false;
}

/* Returns true if it has come often enough for its share of the kept allocations. */
static bool is_enough(const struct spw_history *history, const struct spw_coverage *coverage, uint64_t end, uint64_t lag,
                      uint64_t run)
{
    const bool is_most = 2 * run >= history->bone_count;
    if (at_least(coverage, 3, 4) || (run >= 2 * lag && at_least(coverage, 1, 3)) || (run >= 1023 * lag && is_most))
        return true;
    return coverage->all_count < FEW_KEPT && run >= 3 * lag && is_most &&
           copies_are_made(history, end - 2 * lag, end - lag) && copies_are_made(history, end - lag, end);
}

enum spw_verdict spw_period_judge(const struct spw_history *history, struct spw_live *live, uint64_t end, uint64_t lag,
                                  uint64_t run)
{
    if (end < 2 * lag || !spw_history_has(history, end - 2 * lag))
        return SPW_VERDICT_FORGOTTEN;
    if (!hints_agree(history, end, lag) || !corresponds(history, live, end, lag))
        return SPW_VERDICT_NO;
    if (run < FEWEST_OPERATIONS && operations(history, end - run - lag, end) < FEWEST_OPERATIONS)
        return SPW_VERDICT_NO;
    const struct spw_coverage coverage = spw_period_coverage(history, live, end - 2 * lag, end - lag, end);
    return is_enough(history, &coverage, end, lag, run) ? SPW_VERDICT_YES : SPW_VERDICT_NO;
}
