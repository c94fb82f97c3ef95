/* detector.h - declares the inside of a detector: iteration.c takes calls, follow.c follows a shape, search.c finds the way
 * back or a new shape, and merge.c judges what came in between.
 *
 * States.
 *   ON the path: shape != NULL. `cursor` is the next step expected. When it is shape->backbone, an iteration is complete
 *       and the boundary has not been passed yet. The bones [start, now) belong to this iteration, as far as `matched`
 *       says.
 *   OFF the path: shape == NULL, since bone `off_since`. `lost` (may be NULL) is the shape that was followed until then,
 *       and `off_step` the step that it was at. The finder is at work. */
#ifndef SPILLWAY_PLANNER_DETECTOR_H
#define SPILLWAY_PLANNER_DETECTOR_H
#include "detect/history.h"
#include "detect/iteration.h"
#include "detect/live.h"
#include "detect/period.h"
#include "detect/shape.h"

enum { SPW_STRETCHES = 8, SPW_REMAINDERS = 4, SPW_SURE_RUN = 16, SPW_TRIAL_RUN = 64, SPW_SETTLED = 2, SPW_REMEMBERED = 32 };

struct spw_stretch { /* bones between two places on the path */
    uint64_t hash;   /* of its tokens; 0: none */
    uint64_t bones;
    uint64_t end;   /* position after its last bone */
    uint32_t shape; /* the shape whose path they interrupted */
};

struct spw_remembered { /* shapes learned by another process and not yet met in this one */
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
    bool hint_in_gap; /* since the last bone, an iteration began with an operation outside the backbone */

    struct spw_shape *shape;
    uint32_t cursor, matched;
    uint32_t since_back;    /* steps taken since the path was found again */
    uint32_t beside_cursor; /* the next operation outside the backbone that may match */
    /* An operation outside the backbone has passed the boundary, before the first bone. */
    bool entered;
    bool whole; /* everything since the boundary has matched */
    /* The iteration may have begun earlier: nothing excludes that, and another shape came before it. */
    bool doubtful;
    bool trial; /* back on the path for a moment only, which may be a coincidence */
    /* The path was left, and no shape has come SPW_SETTLED times in a row since: the finder goes on. */
    bool unsettled;
    uint32_t in_a_row; /* how often in a row the same shape was completed */
    uint64_t start;    /* the bone at which this iteration began */
    uint64_t began;    /* its first operation */
    uint64_t boundary; /* the event before which it began */
    uint64_t start_live_bytes;
    bool start_known;
    uint32_t previous; /* the shape of the last complete iteration; 0: none */
    uint64_t ended;    /* the bone after the last one that completed an iteration of the shape */
    uint64_t copies;   /* hash of the operations outside the backbone in the previous iteration */

    struct spw_shape *lost;
    uint32_t off_step;
    uint64_t off_since;
    /* How many of the last bones fit `lost` from off_step on, and from 0 on. */
    uint32_t run[2];
    /* Seen once between two iterations; a new one replaces the oldest. */
    struct spw_stretch stretches[SPW_STRETCHES];
    uint32_t stretch_next;
    struct spw_stretch remainders[SPW_REMAINDERS]; /* the latest that may belong to a longer iteration */
    uint32_t remainder_next;
    uint64_t remainder_end;        /* end of the latest of them */
    uint64_t ends[SPW_REMAINDERS]; /* ends of the latest remainders, whether they may belong to one or not */
    uint32_t end_next;
    /* lag 0: none. Else: how far two iterations that end in the same remainder are equal so far. */
    struct spw_tracker suspect;
    uint32_t suspect_part; /* the shape that they consist of */
};

/* ---- follow.c */

/* Takes the newest bone while on the path. Returns true if it fits the path, or the path of another shape. */
bool spw_follow(struct spw_iteration *detector, uint64_t bone);

/* Handles only the usual case of spw_follow(): in the middle of an iteration the expected step comes, with no allocation
 * before it. Returns false in all other cases, which spw_follow() handles. */
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

/* Takes an operation outside the backbone before it becomes an event. Returns false if the shape has none like it here. */
bool spw_follow_beside(struct spw_iteration *detector, uint64_t token, uint32_t *ret_ordinal, bool *ret_begins);

/* Puts the detector on the path: the bones from `first` to the newest are the steps from `step` on of `shape`. Returns
 * false, with the detector off the path, if they are not. */
bool spw_follow_adopt(struct spw_iteration *detector, struct spw_shape *shape, uint64_t first, uint32_t step);
void spw_follow_leave(struct spw_iteration *detector, uint64_t bone);

/* ---- search.c: these return 0 or -ENOMEM */

/* Takes the newest bone while off the path. */
int spw_search(struct spw_iteration *detector, uint64_t bone, bool *ret_learned);

/* Takes the newest bone while on the path but unsettled. Shapes that alternate may be parts of one iteration, and one of
 * them may be followed for a while only because it begins like the real one. If something else repeats, it is learned. */
int spw_search_doubt(struct spw_iteration *detector, uint64_t bone, bool *ret_learned);

/* Makes a shape of the last `period` bones before `end`, which repeat those before them over a run of `run`, and follows
 * it. `instead`: the shape that it replaces, or NULL. */
int spw_search_learn(struct spw_iteration *detector, uint64_t end, uint64_t period, uint64_t run, struct spw_shape *instead);

/* Handles the newest bone, which has a hint. Leaves the path if the shape has no hint there, and forgets a shape that was
 * learned before there were hints. */
void spw_search_heed(struct spw_iteration *detector, uint64_t bone);

/* Makes a shape of the window without following it. */
int spw_search_keep(struct spw_iteration *detector, const struct spw_window *window, struct spw_shape **ret_shape);

/* Learns the period if the tokens repeat over it and the last two periods before `end` are iterations. `instead` as
 * above. */
int spw_search_learn_period(struct spw_iteration *detector, uint64_t end, uint64_t period, struct spw_shape *instead,
                            bool *ret_learned);

/* Considers whether an iteration that consists of the shape `part` and a remainder, and ends before bone `end`, has this
 * period. If the last `least` bones before `end` came one period earlier too, and the iteration has not come twice yet,
 * goes on comparing until it has. */
void spw_search_suspect(struct spw_iteration *detector, uint64_t end, uint64_t period, uint64_t least,
                        const struct spw_shape *part);

/* Takes the newest bone while that comparison goes on. */
int spw_search_compare(struct spw_iteration *detector, uint64_t bone, bool *ret_learned);

/* Doubles the capacity of the history unless it is at its limit. */
int spw_search_remember_more(struct spw_iteration *detector);

/* ---- remembered.c */

void spw_remembered_finish(struct spw_remembered *remembered);

/* Returns the remembered shape in which this context of 16 tokens ends at only one step, and passes it to the caller;
 * NULL if there is none. */
struct spw_shape *spw_remembered_take(struct spw_remembered *remembered, const struct spw_context *context,
                                      uint32_t *ret_step);

/* ---- merge.c: these return 0 or -ENOMEM and set *ret_learned if they follow a shape that they have learned */

/* Takes the bones [begin, end) that came in between at one place of `shape`. */
int spw_merge_remainder(struct spw_iteration *detector, struct spw_shape *shape, uint64_t begin, uint64_t end,
                        bool *ret_learned);

/* Returns true if the bones that repeat with this period over a run of `run` bones up to `end` are one iteration, and not
 * a known one with something added that does not belong to it. If it contains known iterations, it must have come three
 * times: an evaluation that equals the beginning of a training step, before two such steps, looks like a repetition and
 * is none. */
bool spw_merge_is_whole(struct spw_iteration *detector, uint64_t end, uint64_t period, uint64_t run);

/* Takes the bones [begin, end) that came between two iterations. */
int spw_merge_stretch(struct spw_iteration *detector, const struct spw_shape *shape, uint64_t begin, uint64_t end);

/* Handles a complete iteration of the shape that is followed. Bone `end` is the newest, and comes after it. */
int spw_merge_completed(struct spw_iteration *detector, uint64_t end, bool *ret_learned);
#endif
