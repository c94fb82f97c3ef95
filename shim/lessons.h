/* lessons.h - what is known about each function: which of its parameters lead to what its launches write, and whether
 * running a launch again gives the same bytes.
 *
 * A function, with as many addresses of ours among its parameters, is first looked at: what of all that it touches is
 * different afterwards? Then it is tried: launched again, with something else where its output was. Each of it is done
 * twice where there is time, of launches with different geometry where there are any. All of it takes time of the
 * device, so an iteration gets an allowance, and the whole of learning another. What is known of a function holds until its
 * module is unloaded; each operation that is replayed is watched on top of that (reruns of one function may differ by a
 * parameter).
 *
 * Decides only; trial.c carries it out. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_LESSONS_H
#define SPILLWAY_SHIM_LESSONS_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "verdicts.h"

enum { SPW_LESSON_HITS = 64 }; /* a function with more addresses than that is not learned about */

enum spw_lesson_step { SPW_LESSON_NOTHING, SPW_LESSON_LOOK, SPW_LESSON_TRY };

struct spw_lesson {
    CUfunction function; /* NULL: forgotten */
    uint32_t hits;
    uint8_t looks, tries, failures; /* ended; of either kind without an answer */
    bool under_way;
    uint64_t looked_at, tried_at; /* geometry of the last */
    uint64_t written;             /* a bit for each address: was different after some launch */
    enum spw_replay_verdict verdict;
};

struct spw_lessons {
    struct spw_lesson *list;
    uint32_t count, room;
    double allowed_us, spent_us; /* of this iteration, at most and so far; as the durations of operations let expect */
    double left_us;              /* of all iterations */
    bool is_fresh;               /* no iteration has begun yet */
    bool is_complete;            /* for the iterations that came */
};

/* Something is to be learned, of iterations whose operations take so long together. What is known stays. */
void spw_lessons_begin(struct spw_lessons *lessons, double iteration_us);

/* The next iteration begins. True: in the last one nothing was left to be learned, or not with the time that is left. */
bool spw_lessons_round(struct spw_lessons *lessons);

/* What is to be done with this launch, which takes about `us`. Unless that is nothing, the lesson is under way, *ret_lesson
 * its index, until one of the three below ends it. */
enum spw_lesson_step spw_lessons_next(struct spw_lessons *lessons, CUfunction function, uint32_t hits, uint64_t geometry,
                                      double us, uint32_t *ret_lesson);
void spw_lesson_looked(struct spw_lessons *lessons, uint32_t lesson, uint64_t written);
void spw_lesson_tried(struct spw_lessons *lessons, uint32_t lesson, enum spw_replay_verdict verdict);
void spw_lesson_missed(struct spw_lessons *lessons, uint32_t lesson); /* there was no answer */

/* NULL: nothing is known. Good until the next call that may change anything. */
const struct spw_lesson *spw_lessons_of(const struct spw_lessons *lessons, CUfunction function, uint32_t hits);

/* A replay turned out to be wrong, for good: all of the function's. */
void spw_lessons_condemn(struct spw_lessons *lessons, CUfunction function, enum spw_replay_verdict verdict);

void spw_lessons_forget(struct spw_lessons *lessons, CUfunction function); /* its handle may mean another one */
void spw_lessons_finish(struct spw_lessons *lessons);
#endif
