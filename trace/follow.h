/* follow.h - runs the iteration detector along a trace's records: in the shim while they are made, and in the tools while
 * they are read, so that both find the same.
 *
 * Only memory of the device counts. Operations that are captured into a graph are left out, since the graph's launches
 * are what repeats. A launch is not recognised by touches at offsets that no 4-byte number has: words of structures that
 * look like addresses by chance are often like that. The numbers of operations in answers are the trace's. Only one
 * thread at a time may use a follower. */
#ifndef SPILLWAY_TRACE_FOLLOW_H
#define SPILLWAY_TRACE_FOLLOW_H
#include "../planner/detect/iteration.h"
#include "record.h"

struct spw_trace_follow;

enum spw_follow_by {
    SPW_FOLLOW_BY_ALL,     /* kernels, geometry, tensors and their sizes */
    SPW_FOLLOW_BY_KERNELS, /* kernels and their order alone, for tensors of other sizes in each iteration */
};

/* Creates a follower; `max_operations` as for spw_iteration_create(). Returns 0 or -ENOMEM. */
int spw_follow_create(enum spw_follow_by by, size_t max_operations, struct spw_trace_follow **ret_follow);
void spw_follow_destroy(struct spw_trace_follow *follow); /* NULL is fine */

/* Take the next record of these kinds. Return 0, or -ENOMEM: it was left out, and the detector goes on. */
int spw_follow_alloc(struct spw_trace_follow *follow, const struct spw_record_alloc *alloc);
int spw_follow_free(struct spw_trace_follow *follow, uint64_t id);
int spw_follow_function(struct spw_trace_follow *follow, uint32_t id, const char *name);

/* Takes a mark. Hints are passed to the detector; other marks say what the detector itself found. */
void spw_follow_mark(struct spw_trace_follow *follow, const struct spw_record_mark *mark);

/* Takes operation `number`. `touches` are the first of op->touches, in order: all of them, or SPW_FOLLOW_TOUCHES if there
 * are more. */
enum { SPW_FOLLOW_TOUCHES = 64 };
int spw_follow_op(struct spw_trace_follow *follow, uint64_t number, const struct spw_record_op *op,
                  const struct spw_iteration_touch *touches, struct spw_iteration_place *ret_place);

/* For the side that makes the records: kernels whose name contains this text begin iterations, if their function records
 * come after this call. The text belongs to the caller and has to outlive the follower. */
void spw_follow_hint(struct spw_trace_follow *follow, const char *part_of_name);

/* Returns true if the operation is such a kernel, so that a mark has to come before it. */
bool spw_follow_is_hint(const struct spw_trace_follow *follow, const struct spw_record_op *op);

/* Gets the shape with this id. Returns false if it is not known (any more). */
bool spw_follow_shape(const struct spw_trace_follow *follow, uint32_t id, struct spw_iteration_shape *ret_shape);

/* Iterations are found by their kernels alone if one of at least SPW_FOLLOW_LEAST operations has come SPW_FOLLOW_OFTEN
 * times, and if the iterations found that way have 1.5 times the operations of those found by all
 * (spw_follow_explains_more()). */
enum { SPW_FOLLOW_LEAST = 16, SPW_FOLLOW_OFTEN = 6 };
bool spw_follow_explains_more(uint64_t operations_by_kernels, uint64_t operations_by_all);

/* Returns how often the most frequent shape has come, and stores the operations of all shapes in *ret_operations. By
 * kernels, shapes shorter than SPW_FOLLOW_LEAST do not count. */
uint64_t spw_follow_seen(const struct spw_trace_follow *follow, uint64_t *ret_operations);

/* The detector itself, for questions. */
const struct spw_iteration *spw_follow_detector(const struct spw_trace_follow *follow);
#endif
