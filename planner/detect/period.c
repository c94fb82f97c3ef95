/* period.c - the repetition finder: remembers where each context of 2 and of 16 tokens was last seen, and follows lags.
 *
 * A lag d holds over a run of r tokens when token[i] == token[i - d] for the last r positions i; r >= d means that a
 * stretch of length d came twice in a row (a square). This is the comparison of Main and Lorentz ("An O(n log n)
 * algorithm for finding all repetitions in a string", 1984), in one direction, with hashes of contexts as in Karp and
 * Rabin ("Efficient randomized pattern-matching algorithms", 1987) to propose the lags. A proposal requires comparing
 * tokens backwards. That is paid from a credit to which each token adds, so the cost per token is bounded whatever the
 * program does. */
#include "detect/period.h"

#include <errno.h>
#include <stdlib.h>

enum { CREDIT_PER_TOKEN = 4, CREDIT_AT_FIRST = 1024, CREDIT_MOST = 1 << 24, WORTH_REMEMBERING = 32 };
static const int TABLE_CONTEXT[2] = {SPW_CONTEXT_2, SPW_CONTEXT_16};

static int make_tables(struct spw_finder *finder, size_t capacity)
{
    uint32_t *tables = calloc(2 * capacity, sizeof(*tables));
    if (!tables)
        return -ENOMEM;
    free(finder->last[0]);
    finder->last[0] = tables;
    finder->last[1] = tables + capacity;
    finder->capacity = capacity;
    return 0;
}

int spw_finder_init(struct spw_finder *finder, const struct spw_history *history)
{
    *finder = (struct spw_finder){.credit = CREDIT_AT_FIRST};
    return make_tables(finder, 2 * history->bone_capacity);
}

void spw_finder_finish(struct spw_finder *finder)
{
    free(finder->last[0]);
    finder->last[0] = NULL;
}

void spw_finder_restart(struct spw_finder *finder, uint64_t position)
{
    finder->floor = position;
    finder->context = (struct spw_context){0};
    finder->keep = finder->recent = (struct spw_tracker){0};
    for (int i = 0; i < SPW_FINDER_SEEN; i++)
        finder->seen[i] = (struct spw_stretch_seen){0};
}

/* Returns the first bone that is not ignored. */
static uint64_t first_bone(const struct spw_finder *finder, const struct spw_history *history)
{
    return finder->floor > history->bone_first ? finder->floor : history->bone_first;
}

static uint64_t token_at(const struct spw_history *history, uint64_t position)
{
    return spw_bone_at(history, position)->token;
}

static void take(struct spw_context *context, const struct spw_history *history, uint64_t position)
{
    uint64_t left[SPW_CONTEXTS];
    for (int k = 0; k < SPW_CONTEXTS; k++)
        left[k] = context->since >= SPW_CONTEXT_TOKENS[k] ? token_at(history, position - SPW_CONTEXT_TOKENS[k]) : 0;
    spw_context_take(context, token_at(history, position), left);
}

static uint32_t *slot(const struct spw_finder *finder, int table)
{
    const uint64_t hash = finder->context.hash[TABLE_CONTEXT[table]] * 0x9e3779b97f4a7c15u;
    return &finder->last[table][hash >> 32 & (finder->capacity - 1)];
}

static bool is_full(const struct spw_finder *finder, int table)
{
    return finder->context.since >= SPW_CONTEXT_TOKENS[TABLE_CONTEXT[table]];
}

int spw_finder_grow(struct spw_finder *finder, const struct spw_history *history)
{
    const int r = make_tables(finder, 2 * history->bone_capacity);
    if (r < 0)
        return r;
    const struct spw_context now = finder->context;
    finder->context = (struct spw_context){0};
    for (uint64_t p = history->bone_first; p < history->bone_count; p++) {
        take(&finder->context, history, p);
        for (int table = 0; table < 2; table++)
            if (is_full(finder, table))
                *slot(finder, table) = (uint32_t)p;
    }
    finder->context = now;
    return 0;
}

static struct spw_stretch_seen *find_seen(struct spw_finder *finder, uint64_t lag)
{
    for (int i = 0; i < SPW_FINDER_SEEN; i++)
        if (finder->seen[i].lag == lag)
            return &finder->seen[i];
    return NULL;
}

/* Remembers the stretch up to bone `end` over which the tracker's lag held, before the tracker gives it up. */
static void remember(struct spw_finder *finder, const struct spw_tracker *tracker, uint64_t end)
{
    if (!tracker->lag || tracker->run < WORTH_REMEMBERING)
        return;
    struct spw_stretch_seen *seen = find_seen(finder, tracker->lag);
    if (!seen)
        seen = &finder->seen[finder->next_seen++ % SPW_FINDER_SEEN];
    *seen = (struct spw_stretch_seen){.lag = tracker->lag, .from = end - tracker->run, .to = end - 1};
}

/* Returns over how many tokens, up to and including `position`, the lag holds, as far as the credit reaches. */
static uint64_t look_back(struct spw_finder *finder, const struct spw_history *history, uint64_t position, uint64_t lag)
{
    /* The first bone that has another one to compare with. */
    const uint64_t first = first_bone(finder, history) + lag;
    const struct spw_stretch_seen *seen = NULL;
    uint64_t p = position + 1;
    while (p > first && finder->credit > 0 && token_at(history, p - 1) == token_at(history, p - 1 - lag)) {
        if (position + 1 - p == WORTH_REMEMBERING)
            seen = find_seen(finder, lag);
        if (seen && p - 1 <= seen->to && p - 1 >= seen->from) {
            p = seen->from > first ? seen->from : first;
            break;
        }
        p--;
        finder->credit--;
    }
    return position + 1 - p;
}

static bool follow_lag(struct spw_tracker *tracker, const struct spw_history *history, uint64_t position)
{
    if (!tracker->lag || position < history->bone_first + tracker->lag ||
        token_at(history, position) != token_at(history, position - tracker->lag))
        return false;
    tracker->run++;
    return true;
}

static void adopt(struct spw_finder *finder, struct spw_tracker *tracker, const struct spw_history *history,
                  uint64_t position, const uint64_t lags[2])
{
    for (int table = 1; table >= 0; table--) {
        if (!lags[table] || lags[table] == tracker->lag)
            continue;
        const uint64_t run = look_back(finder, history, position, lags[table]);
        if (run < SPW_CONTEXT_TOKENS[TABLE_CONTEXT[table]])
            continue;
        remember(finder, tracker, position + 1);
        *tracker = (struct spw_tracker){.lag = lags[table], .run = run, .due = lags[table]};
        return;
    }
}

static bool is_due(struct spw_tracker *tracker, struct spw_tracker *ret_candidate)
{
    if (!tracker->lag || tracker->run < tracker->due)
        return false;
    const uint64_t pause = tracker->run / 4 > tracker->lag ? tracker->run / 4 : tracker->lag;
    tracker->due = tracker->run + pause;
    *ret_candidate = *tracker;
    return true;
}

bool spw_finder_look(struct spw_finder *finder, const struct spw_history *history, struct spw_tracker *ret_candidate)
{
    const uint64_t position = history->bone_count - 1;
    uint64_t lags[2] = {0, 0};
    take(&finder->context, history, position);
    for (int table = 0; table < 2; table++)
        if (is_full(finder, table)) {
            uint32_t *last = slot(finder, table);
            const uint32_t lag = (uint32_t)position - *last;
            lags[table] = lag > 0 && lag <= position - first_bone(finder, history) ? lag : 0;
            *last = (uint32_t)position;
        }
    finder->credit += finder->credit < CREDIT_MOST ? CREDIT_PER_TOKEN : 0;

    if (!follow_lag(&finder->keep, history, position)) {
        remember(finder, &finder->keep, position);
        finder->keep.lag = 0;
        adopt(finder, &finder->keep, history, position, lags);
    }
    const bool holds = follow_lag(&finder->recent, history, position);
    if (!holds) {
        remember(finder, &finder->recent, position);
        finder->recent.lag = 0;
    }
    if (!holds || (lags[1] && lags[1] < finder->recent.lag))
        adopt(finder, &finder->recent, history, position, lags);
    if (is_due(&finder->keep, ret_candidate))
        return true;
    return finder->recent.lag != finder->keep.lag && is_due(&finder->recent, ret_candidate);
}
