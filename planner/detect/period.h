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
    uint64_t due;      /* the run at which it is to be judged next */
};

struct spw_stretch_seen { /* tokens [from, to] were compared with those `lag` earlier, and are equal */
    uint64_t lag, from, to;
};

enum { SPW_FINDER_SEEN = 8 };

struct spw_finder {
    uint32_t *last[2]; /* where a context of 2 and of 16 tokens was last seen: lower half of a position */
    size_t capacity;   /* of each, a power of two */
    struct spw_context context;
    uint64_t floor;                                /* bones before this one don't count */
    uint64_t credit;                               /* steps that may be spent on looking back */
    struct spw_stretch_seen seen[SPW_FINDER_SEEN]; /* so that a lag that is taken up again isn't compared anew */
    uint32_t next_seen;
    struct spw_tracker keep;   /* keeps its lag as long as it holds: sees through inner loops */
    struct spw_tracker recent; /* changes to the most recent occurrence: finds the short one among multiples */
};

int spw_finder_init(struct spw_finder *finder, const struct spw_history *history);
void spw_finder_finish(struct spw_finder *finder);

/* After the history has grown. 0 or -ENOMEM: it goes on with the smaller tables. */
int spw_finder_grow(struct spw_finder *finder, const struct spw_history *history);

/* Begins anew with bone `position`, the next to be looked at. */
void spw_finder_restart(struct spw_finder *finder, uint64_t position);

/* Looks at the newest token. True when a lag is to be judged now. */
bool spw_finder_look(struct spw_finder *finder, const struct spw_history *history, struct spw_tracker *ret_candidate);

enum spw_verdict { SPW_VERDICT_NO, SPW_VERDICT_YES, SPW_VERDICT_FORGOTTEN }; /* FORGOTTEN: longer than what is remembered */

/* Whether the last `lag` bones before `end` and the `lag` bones before these are two iterations, given that tokens repeat at
 * this lag over the last `run` bones, run >= lag. */
enum spw_verdict spw_period_judge(const struct spw_history *history, struct spw_live *live, uint64_t end, uint64_t lag,
                                  uint64_t run);

/* How much of what was alive before bone `old`, and still is, the bones [first, end) touch. */
struct spw_coverage {
    uint64_t count, bytes, all_count, all_bytes;
};
struct spw_coverage spw_period_coverage(const struct spw_history *history, struct spw_live *live, uint64_t old,
                                        uint64_t first, uint64_t end);
#endif
