/* recording.h - records one iteration of one device while it happens, and makes a course of it. */
#ifndef SPILLWAY_PLANNER_RECORDING_H
#define SPILLWAY_PLANNER_RECORDING_H
#include "course/course.h"

struct spw_recording;

/* Returns 0 or -ENOMEM. Nothing is recorded before spw_recording_begin(). */
int spw_recording_create(struct spw_recording **ret_recording);
void spw_recording_destroy(struct spw_recording *recording); /* NULL is allowed */

/* Forgets everything. Tensors that spw_recording_live() reports before the first event are alive at the beginning; later
 * ones count as allocations. */
void spw_recording_begin(struct spw_recording *recording);
int spw_recording_live(struct spw_recording *recording, uint64_t id, uint64_t bytes, bool evictable);

/* Events, in the order in which the host does them. Ids are never used twice. Touches and frees with unknown ids are
 * ignored. Returns 0 or -ENOMEM: then the recording is broken, and finish() returns -ENOMEM too. */
int spw_recording_alloc(struct spw_recording *recording, uint64_t id, uint64_t bytes, bool evictable);
int spw_recording_free(struct spw_recording *recording, uint64_t id);

struct spw_recording_touch {
    uint64_t id;          /* 0: no allocation; it only counts for spw_course_learn() */
    uint32_t access;      /* enum spw_course_access, or-ed */
    uint64_t offset;      /* of the address within the tensor; 0 if unknown. Only for spw_cursor_tell() */
    uint64_t small_bytes; /* > 0: a small tensor of this size; of such tensors only frees need to be reported */
    bool loose;           /* reported as loose (struct spw_iteration_op), after the others */
    bool doubted;         /* not part of the operation's identity: not reported to a detector */
};
/* Records an operation. The touches come in the order of the parameters, one for each address found; a tensor may come
 * several times. `ret_ordinal` may be NULL. */
int spw_recording_op(struct spw_recording *recording, uint64_t key, bool backbone, const struct spw_recording_touch *touches,
                     uint32_t count, uint32_t *ret_ordinal);
/* Stores what a detector was told about operation `ordinal`, for spw_cursor_tell(). Of the touches only the number is
 * used: the detector was told that many of the first ones that are not doubted. Without this call, the operation counts
 * as a launch of function `key`, or as OTHER outside the backbone, with all touches. */
void spw_recording_call(struct spw_recording *recording, uint32_t ordinal, const struct spw_iteration_op *call);
/* Operation `ordinal` was recorded without the order of its parameters: nothing can be learned about it. */
void spw_recording_unordered(struct spw_recording *recording, uint32_t ordinal);
/* Sets how long operation `ordinal` ran on the device. It may come late, but has to come before finish(). */
void spw_recording_duration(struct spw_recording *recording, uint32_t ordinal, double us);

/* Makes a tensor not evictable, since it was pinned meanwhile. */
void spw_recording_pin(struct spw_recording *recording, uint64_t id);

uint32_t spw_recording_op_count(const struct spw_recording *recording);

/* Makes a course of the first `op_count` operations and of everything up to the next operation, except for allocations after
 * the last one, which belong to the next iteration. So it is best called when the next operation comes. If it is called
 * earlier, at the first allocation after the last operation, it assumes that as many tensors of each size will still be
 * freed as were freed before the first operation.
 *
 * Tensors that were alive at the beginning and freed before the first operation belonged to the previous iteration and
 * are not part of the course. The recording does not change. Returns 0; -EINVAL: there are no operations, or fewer;
 * -ENOMEM. */
int spw_recording_finish(struct spw_recording *recording, uint32_t op_count, struct spw_course **ret_course);
#endif
