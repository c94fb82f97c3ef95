/* detector.h - the inside of a detector, and who does what: iteration.c takes calls, follow.c stays on the path of a shape,
 * search.c finds the way back or a new shape, merge.c tells what was between.
 *
 * States.
 *   ON the path: shape != NULL. `cursor` is the step expected next; shape->backbone means that an iteration is complete
 *       and the boundary has not been passed yet. The bones [start, now) are this iteration's, as far as `matched` says.
 *   OFF the path: shape == NULL, since bone `off_since`; `lost` (may be NULL) is the shape that was followed until then, and
 *       `off_step` where in it. The finder is at work. */
#ifndef SPILLWAY_PLANNER_DETECTOR_H
#define SPILLWAY_PLANNER_DETECTOR_H
#include "detect/history.h"
#include "detect/iteration.h"
#include "detect/live.h"
#include "detect/period.h"
#include "detect/shape.h"

enum { SPW_STRETCHES = 8, SPW_REMAINDERS = 4, SPW_SURE_RUN = 16, SPW_TRIAL_RUN = 64, SPW_SETTLED = 2, SPW_REMEMBERED = 32 };

struct spw_stretch { /* something between two places on the path */
    uint64_t hash;   /* of its tokens; 0: none */
    uint64_t bones;
    uint64_t end;   /* position after its last bone */
    uint32_t shape; /* whose path it interrupted */
};

struct spw_remembered { /* shapes that another process has learned, and that were not met yet in this one */
    struct spw_shape *shapes[SPW_REMEMBERED];
    size_t count;
};

struct spw_iteration {
    struct spw_history history;
    struct spw_live live;
    struct spw_finder finder;
    struct spw_shape *shapes[SPW_ITERATION_SHAPES];
    size_t shape_count;
    uint32_t next_shape;
    struct spw_remembered remembered;
    bool hint;        /* an iteration begins with the next event */
    bool hint_in_gap; /* since the last bone, one began with an event beside the backbone */

    struct spw_shape *shape;
    uint32_t cursor, matched;
    uint32_t since_back;    /* steps taken since the way back was found */
    uint32_t beside_cursor; /* the next operation beside the backbone that may match */
    bool entered;           /* the boundary was passed by an operation beside the backbone, before the first bone */
    bool whole;             /* everything since the boundary has matched */
    bool doubtful;          /* it may have begun earlier: nothing tells, and it wasn't the same shape that went before */
    bool trial;             /* back on the path a moment ago, which may have been a coincidence */
    bool unsettled;    /* the path was left, and no shape has come SPW_SETTLED times in a row since: the finder goes on */
    uint32_t in_a_row; /* how often the same one was completed since then */
    uint64_t start;    /* the bone at which this iteration began */
    uint64_t began;    /* its first operation */
    uint64_t boundary; /* the event before which it began */
    uint64_t start_live_bytes;
    bool start_known;
    uint32_t previous; /* the shape of the last complete iteration; 0: none */
    uint64_t ended;    /* the bone behind the last one that completed an iteration of the shape */
    uint64_t copies;   /* hash of those beside the backbone in the iteration before */

    struct spw_shape *lost;
    uint32_t off_step;
    uint64_t off_since;
    uint32_t run[2];                             /* how many of the last bones fit `lost` from off_step on, and from 0 on */
    struct spw_stretch stretches[SPW_STRETCHES]; /* seen once between two iterations; the newest replaces the oldest */
    uint32_t stretch_next;
    struct spw_stretch remainders[SPW_REMAINDERS]; /* the latest that might belong to a longer iteration */
    uint32_t remainder_next;
    uint64_t remainder_end;        /* of the latest of them */
    uint64_t ends[SPW_REMAINDERS]; /* of the latest, whether they might or not */
    uint32_t end_next;
    struct spw_tracker
        suspect;           /* lag 0: none; else how far the iterations that end in the same remainder are equal so far */
    uint32_t suspect_part; /* the shape that they consist of */
};

/* ---- follow.c */

/* The newest bone, while on the path: true when it fits (another shape's path may be the one that fits). */
bool spw_follow(struct spw_iteration *detector, uint64_t bone);

/* The usual case of that, and nothing else: in the middle of an iteration the expected step comes, with no allocation before
 * it. False: something else, which spw_follow() is for. */
static inline bool spw_follow_next(struct spw_iteration *detector, uint64_t token)
{
    const struct spw_shape *shape = detector->shape;
    const uint32_t cursor = detector->cursor;
    const struct spw_shape_step *step = &shape->steps[cursor];
    if (cursor == 0 || cursor + 1 >= shape->backbone || step->token != token || step[0].allocs != step[1].allocs ||
        detector->unsettled || detector->suspect.lag)
        return false;
    detector->cursor = cursor + 1;
    detector->since_back++;
    detector->matched++;
    if (detector->matched == shape->distinct_after)
        detector->doubtful = false;
    detector->beside_cursor = step[1].besides;
    return true;
}

/* The same for an operation beside the backbone, before it becomes an event. False: the shape has none like it here. */
bool spw_follow_beside(struct spw_iteration *detector, uint64_t token, uint32_t *ret_ordinal, bool *ret_begins);

/* Puts the detector on the path: the bones from `first` to the newest are the steps from `step` on of `shape`. False, and
 * off the path, when they are not. */
bool spw_follow_adopt(struct spw_iteration *detector, struct spw_shape *shape, uint64_t first, uint32_t step);
void spw_follow_leave(struct spw_iteration *detector, uint64_t bone);

/* ---- search.c: 0 or -ENOMEM */

/* The newest bone, while off the path. */
int spw_search(struct spw_iteration *detector, uint64_t bone, bool *ret_learned);

/* The newest bone, on the path but unsettled: shapes that come in turns may be parts of one iteration, and one of them may
 * be followed for a while only because it begins like what is there. What repeats all the same is learned. */
int spw_search_doubt(struct spw_iteration *detector, uint64_t bone, bool *ret_learned);

/* The last `period` bones before `end` repeat those before them, over a run of `run`: makes a shape of them and follows it.
 * `instead`: the shape that it replaces, or NULL. */
int spw_search_learn(struct spw_iteration *detector, uint64_t end, uint64_t period, uint64_t run, struct spw_shape *instead);

/* The newest bone has a hint. Leaves the path where the shape has none there; a shape that was learned before there were
 * hints is forgotten. */
void spw_search_heed(struct spw_iteration *detector, uint64_t bone);

/* Makes a shape of the window, without following it. */
int spw_search_keep(struct spw_iteration *detector, const struct spw_window *window, struct spw_shape **ret_shape);

/* Learns the period when tokens repeat over it and its last two times before `end` are iterations. `instead` as above. */
int spw_search_learn_period(struct spw_iteration *detector, uint64_t end, uint64_t period, struct spw_shape *instead,
                            bool *ret_learned);

/* An iteration that consists of the shape `part` and a remainder, and ends before bone `end`, may have this period: if the
 * last `least` bones before `end` came a period earlier too, and it has not come twice yet, goes on comparing until it has.
 */
void spw_search_suspect(struct spw_iteration *detector, uint64_t end, uint64_t period, uint64_t least,
                        const struct spw_shape *part);

/* The newest bone, while that is compared. */
int spw_search_compare(struct spw_iteration *detector, uint64_t bone, bool *ret_learned);

/* Lets the history hold twice as much, unless it is at its limit. */
int spw_search_remember_more(struct spw_iteration *detector);

/* ---- remembered.c */

void spw_remembered_finish(struct spw_remembered *remembered);

/* The one with the only step at which this context of 16 tokens ends: it is the caller's from then on. NULL: none. */
struct spw_shape *spw_remembered_take(struct spw_remembered *remembered, const struct spw_context *context,
                                      uint32_t *ret_step);

/* ---- merge.c: 0 or -ENOMEM; *ret_learned when a new shape is followed now */

/* The bones [begin, end) came in between, at one place of `shape`. */
int spw_merge_remainder(struct spw_iteration *detector, struct spw_shape *shape, uint64_t begin, uint64_t end,
                        bool *ret_learned);

/* What repeats with this period over a run of `run` bones up to `end` is one iteration: not one that is known, with
 * something beside it that does not belong to it. Where it has known ones in it, it must have come three times: an
 * evaluation that is the beginning of a training step, before two of these, makes a square that is none. */
bool spw_merge_is_whole(struct spw_iteration *detector, uint64_t end, uint64_t period, uint64_t run);

/* The bones [begin, end) came between two iterations. */
int spw_merge_stretch(struct spw_iteration *detector, const struct spw_shape *shape, uint64_t begin, uint64_t end);

/* An iteration of the shape that is followed is complete; bone `end` is the newest, and comes next. */
int spw_merge_completed(struct spw_iteration *detector, uint64_t end, bool *ret_learned);
#endif
