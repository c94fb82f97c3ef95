/* course-follower.h - watches a program as the engine does: tells a detector, records an iteration, then keeps the place
 * with a cursor and tells the detector nothing, until something else comes or it has had enough.
 *
 * The program has a detector of its own, which is told everything: what the two answer is compared. Labels tell whether the
 * cursor is where it believes to be. */
#ifndef SPILLWAY_TESTS_UNIT_COURSE_FOLLOWER_H
#define SPILLWAY_TESTS_UNIT_COURSE_FOLLOWER_H
#include "course/cursor.h"
#include "course/recording.h"
#include "programs.h"

enum { FOLLOWER_IDS = 1 << 18, FOLLOWER_OPS = 1 << 16 };

struct follower {
    /* what it is to do */
    uint32_t record_from; /* iterations that pass before one is recorded */
    uint32_t rest;        /* iterations that pass after the cursor was lost */
    uint32_t silences;    /* how often the cursor may be set */
    uint32_t silent_most; /* operations that the cursor may follow at a time */
    uint32_t told_at_end; /* iterations that are told when they are complete, each time that the cursor is set */

    struct program_watcher watcher;
    struct program *program;
    struct spw_iteration *detector;
    struct spw_recording *recording;
    struct spw_course *course; /* NULL: none yet */
    uint32_t shape;            /* whose it is */
    struct spw_cursor cursor;
    bool is_recording, is_complete, is_silent;
    uint32_t shortest;                /* operations of the shortest course that was followed silently; 0: none was */
    struct spw_iteration_place place; /* the detector's latest */
    uint32_t told_now;                /* iterations, since the cursor was set */
    uint64_t silent_now;
    uint64_t bytes[FOLLOWER_IDS];  /* by id; 0: not alive */
    uint32_t tensor[FOLLOWER_IDS]; /* by id: what the cursor said */

    /* how the recorded iteration really was */
    uint64_t used_bytes;              /* of who is alive and was ever touched */
    bool is_used[FOLLOWER_IDS];       /* by id */
    uint64_t used_at[FOLLOWER_OPS];   /* by operation: used_bytes */
    uint64_t op_labels[FOLLOWER_OPS]; /* by operation */
    uint64_t labels[FOLLOWER_OPS];    /* by tensor of the course */

    /* what came of it */
    uint64_t silent_ops, silent_iterations, told, lost;
    uint64_t wrong_ops, wrong_tensors, right_tensors, unknown_tensors;
    uint64_t compared, different, different_sure;
};

/* The first fields are the caller's afterwards; by default: at once, 0, any number, any
 * number, 0. */
void follower_init(struct follower *follower, struct program *program, size_t max_operations);
void follower_finish(struct follower *follower);
#endif
