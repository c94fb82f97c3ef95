/* period.h - proposes periods of the backbone while it grows, and judges whether a period is an iteration. */
#ifndef SPILLWAY_PLANNER_PERIOD_H
#define SPILLWAY_PLANNER_PERIOD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detect/context.h"
#include "detect/history.h"
#include "detect/live.h"

struct spw_tracker {   /* a lag at which the last `run` tokens repeat earlier ones */
    uint64_t lag, run; /* lag 0: none */
    uint64_t due;      /* the run at which it is judged next */
};

struct spw_stretch_seen { /* tokens [from, to] were found equal to those `lag` earlier */
    uint64_t lag, from, to;
};

enum { SPW_FINDER_SEEN = 8 };

struct spw_finder {
    uint32_t *last[2]; /* where each context of 2 and of 16 tokens was last seen: lower half of a position */
    size_t capacity;   /* of each, a power of two */
    struct spw_context context;
    uint64_t floor;  /* bones before this one are ignored */
    uint64_t credit; /* steps that may be spent on comparing backwards */
    /* So that a lag that is taken up again is not compared again. */
    struct spw_stretch_seen seen[SPW_FINDER_SEEN];
    uint32_t next_seen;
    struct spw_tracker keep; /* keeps its lag as long as it holds, so inner loops do not disturb it */
    /* Changes to the most recent occurrence, so it finds the shortest among multiples. */
    struct spw_tracker recent;
};

int spw_finder_init(struct spw_finder *finder, const struct spw_history *history);
void spw_finder_finish(struct spw_finder *finder);

/* Adapts the finder to a history that has grown. Returns 0, or -ENOMEM: it goes on with the smaller tables. */
int spw_finder_grow(struct spw_finder *finder, const struct spw_history *history);

/* Starts again with bone `position`, the next one to come. */
void spw_finder_restart(struct spw_finder *finder, uint64_t position);

/* Takes the newest token. Returns true if a lag has to be judged now. */
bool spw_finder_look(struct spw_finder *finder, const struct spw_history *history, struct spw_tracker *ret_candidate);

enum spw_verdict { SPW_VERDICT_NO, SPW_VERDICT_YES, SPW_VERDICT_FORGOTTEN }; /* FORGOTTEN: longer than the history */

/* Judges whether the last `lag` bones before `end` and the `lag` bones before these are two iterations. Tokens have to
 * repeat at this lag over the last `run` bones, run >= lag. */
enum spw_verdict spw_period_judge(const struct spw_history *history, struct spw_live *live, uint64_t end, uint64_t lag,
                                  uint64_t run);

/* How much of what was alive before bone `old`, and still is, is touched by the bones [first, end). */
struct spw_coverage {
    uint64_t count, bytes, all_count, all_bytes;
};
struct spw_coverage spw_period_coverage(const struct spw_history *history, struct spw_live *live, uint64_t old,
                                        uint64_t first, uint64_t end);
#endif
