/* branches.h - where on its course a device is, when something else comes than what the course expects.
 *
 * A program that branches by data does a few operations more, or fewer, than in the iteration that was recorded, and goes on
 * as it did then. The first operation that is given the tensors that one of the course should be given tells the place. That
 * place says where a plan's actions are due, and nothing of any tensor's bytes. Engine lock held throughout. */
#ifndef SPILLWAY_SHIM_BRANCHES_H
#define SPILLWAY_SHIM_BRANCHES_H
#include "plan_executor.h"

/* An operation of the backbone that is not the one expected. True: the course goes on with operation *ret_operation, which
 * it is (op_count: the first one of the next iteration), or SPW_NO_INDEX, where it was, behind something that the course
 * does not have. False: too much of that came in a row, or another one of these `iterations` begins. `left`: beginning.h. */
bool spw_branch_find(const struct spw_plan_executor *on, struct spw_tuned_iterations *iterations, uint32_t left,
                     const struct spw_op *op, uint64_t key, uint32_t *ret_operation);

/* The course goes on there, or where it was. What the plan had for operations that did not come is done only as far as it
 * matters for those that do. */
enum spw_cursor_answer spw_branch_go(struct spw_plan_executor *on, uint64_t key, uint32_t operation);

/* Operation `operation` has come, the one that was expected, or that was found: what it is given tells more of who is who,
 * where an allocation of this iteration may have been taken for another. */
void spw_branch_end(struct spw_plan_executor *on, const struct spw_op *op, uint32_t operation);

/* While the device was on this course another iteration has ended, for the `times`th time in a row, which has a course too:
 * that is the one to follow. What is shorter, or does the same with no larger tensors and was followed before, may be what
 * the program does now and then, and has to come more often. */
bool spw_branch_is_nearer(const struct spw_course *course, const struct spw_tuned_iteration *other, unsigned times);
#endif
