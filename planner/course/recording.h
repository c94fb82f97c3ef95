/* recording.h - writes down one iteration of one device while it happens, and makes a course of it. */
#ifndef SPILLWAY_PLANNER_RECORDING_H
#define SPILLWAY_PLANNER_RECORDING_H
#include "course/course.h"

struct spw_recording;

/* 0 or -ENOMEM. Nothing is recorded before begin(). */
int spw_recording_create(struct spw_recording **ret_recording);
void spw_recording_destroy(struct spw_recording *recording); /* NULL is fine */

/* Forgets everything; what is told with live() until the first event is alive at the beginning (later it is an allocation).
 */
void spw_recording_begin(struct spw_recording *recording);
int spw_recording_live(struct spw_recording *recording, uint64_t id, uint64_t bytes, bool evictable);

/* Events, in the order in which the host does them. Ids are never used twice. What was not told of before is passed over in
 * touches and frees. 0 or -ENOMEM: then the recording is broken, and finish() says so too. */
int spw_recording_alloc(struct spw_recording *recording, uint64_t id, uint64_t bytes, bool evictable);
int spw_recording_free(struct spw_recording *recording, uint64_t id);

struct spw_recording_touch {
    uint64_t id;          /* 0: nobody's, which counts for spw_course_learn() alone */
    uint32_t access;      /* enum spw_course_access, or-ed */
    uint64_t offset;      /* of the address within it; 0 where not known. For spw_cursor_tell() alone */
    uint64_t small_bytes; /* > 0: a small tensor of so many bytes, which needs no telling of but when it is freed */
    bool loose;           /* told of as loose (struct spw_iteration_op), behind the others */
    bool doubted;         /* the operation is not known by it: no detector is told */
};
/* Touches in the order of the parameters, one for each that was found; those of one tensor may come several times.
 * `ret_ordinal` may be NULL. */
int spw_recording_op(struct spw_recording *recording, uint64_t key, bool backbone, const struct spw_recording_touch *touches,
                     uint32_t count, uint32_t *ret_ordinal);
/* What a detector was told of operation `ordinal`, for spw_cursor_tell(): of the touches only their number is looked at, it
 * was told of so many of the first that are not doubted. Where this is not called: a launch of function `key`, or OTHER
 * beside the backbone, with all touches. */
void spw_recording_call(struct spw_recording *recording, uint32_t ordinal, const struct spw_iteration_op *call);
/* Operation `ordinal` was told of without the order of its parameters: nothing can be learned about it. */
void spw_recording_unordered(struct spw_recording *recording, uint32_t ordinal);
/* How long operation `ordinal` ran on the device; may come late, but before finish(). */
void spw_recording_duration(struct spw_recording *recording, uint32_t ordinal, double us);

/* No longer evictable: it was pinned meanwhile. */
void spw_recording_pin(struct spw_recording *recording, uint64_t id);

uint32_t spw_recording_op_count(const struct spw_recording *recording);

/* The course of the first `op_count` operations, with all that happened before the next one, but allocations behind the last
 * one, which are the next iteration's. So it is time when the next operation comes. Sooner, when the first allocation does:
 * then it is assumed that as many of each size are freed yet as were before the first operation.
 *
 * What was alive at the beginning and freed before the first operation belonged to the iteration before, and is no tensor of
 * this one. The recording stays as it is. 0; -EINVAL: there are no operations, or not so many; -ENOMEM. */
int spw_recording_finish(struct spw_recording *recording, uint32_t op_count, struct spw_course **ret_course);
#endif
