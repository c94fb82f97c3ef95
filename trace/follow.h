/* follow.h - leads the iteration detector along a trace's records: while they are made, in the shim, and when they are read,
 * in the tools, so that both find the same.
 *
 * Memory that counts is the device's; operations that are captured into a graph are left out, since the graph's launches are
 * what repeats. A launch is not recognised by what it touches at a place that no number of 4 bytes has: words of structures
 * that look like addresses by chance look like these. Numbers in answers are the trace's. One user at a time. */
#ifndef SPILLWAY_TRACE_FOLLOW_H
#define SPILLWAY_TRACE_FOLLOW_H
#include "../planner/detect/iteration.h"
#include "record.h"

struct spw_trace_follow;

/* 0 or -ENOMEM. `max_operations` as for spw_iteration_create(). */
int spw_follow_create(size_t max_operations, struct spw_trace_follow **ret_follow);
void spw_follow_destroy(struct spw_trace_follow *follow); /* NULL is fine */

/* The next record of these kinds. 0 or -ENOMEM: it was left out, and the detector goes on. */
int spw_follow_alloc(struct spw_trace_follow *follow, const struct spw_record_alloc *alloc);
int spw_follow_free(struct spw_trace_follow *follow, uint64_t id);
int spw_follow_function(struct spw_trace_follow *follow, uint32_t id, const char *name);

/* A mark; of hints the detector is told, the others say what it found itself. */
void spw_follow_mark(struct spw_trace_follow *follow, const struct spw_record_mark *mark);

/* Operation `number`; `touches` are the first of op->touches, in their order: all of them, or SPW_FOLLOW_TOUCHES if there
 * are more. */
enum { SPW_FOLLOW_TOUCHES = 64 };
int spw_follow_op(struct spw_trace_follow *follow, uint64_t number, const struct spw_record_op *op,
                  const struct spw_iteration_touch *touches, struct spw_iteration_place *ret_place);

/* For whoever makes the records: kernels with this in their names begin iterations, those that are told of from now on. The
 * text stays the caller's and has to outlive the follower. */
void spw_follow_hint(struct spw_trace_follow *follow, const char *part_of_name);

/* Whether the operation is such a kernel, and a mark has to come before it. */
bool spw_follow_is_hint(const struct spw_trace_follow *follow, const struct spw_record_op *op);

/* The shape with this id; false: it is not known (any more). */
bool spw_follow_shape(const struct spw_trace_follow *follow, uint32_t id, struct spw_iteration_shape *ret_shape);

/* The detector itself, for questions. */
const struct spw_iteration *spw_follow_detector(const struct spw_trace_follow *follow);
#endif
