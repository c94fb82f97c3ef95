/* branches.h - finds a device's place on its course again when another operation comes than the course expects.
 *
 * A program that branches by data does a few operations more, or fewer, than in the recorded iteration, and then goes
 * on as it did there. The first operation that is passed the tensors that an operation of the course should be passed
 * tells the place. A place says where a plan's actions are due; it says nothing of the bytes of tensors. Engine lock
 * held throughout. */
#ifndef SPILLWAY_SHIM_BRANCHES_H
#define SPILLWAY_SHIM_BRANCHES_H
#include "plan_executor.h"

/* For an operation of the backbone that is not the expected one. Returns true if the course goes on: with operation
 * *ret_operation (op_count: with the first of the next iteration), or, if that is SPW_NO_INDEX, where it was, after an
 * operation that it does not have. Returns false if too many of these came in a row, or another of these `iterations`
 * begins. `left`: see beginning.h. */
bool spw_branch_find(const struct spw_plan_executor *on, struct spw_tuned_iterations *iterations, uint32_t left,
                     const struct spw_op *op, uint64_t key, uint32_t *ret_operation);

/* Lets the course go on at that operation, or where it was. What the plan had for skipped operations is done only as far as
 * it matters for later ones. */
enum spw_cursor_answer spw_branch_go(struct spw_plan_executor *on, uint64_t key, uint32_t operation);

/* Call when operation `operation` has come, expected or found. While an allocation of this iteration may have been taken
 * for another, what the operation is passed tells more of which block is which tensor. */
void spw_branch_end(struct spw_plan_executor *on, const struct spw_op *op, uint32_t operation);

/* For when another iteration, which has a course too, has ended for the `times`th time in a row while the device was on
 * this course. Returns true if that is the iteration to follow. If it is shorter, or does the same with no larger tensors
 * and was followed before, the program may do it only now and then, and it has to come more often. */
bool spw_branch_is_nearer(const struct spw_course *course, const struct spw_tuned_iteration *other, unsigned times);
#endif
