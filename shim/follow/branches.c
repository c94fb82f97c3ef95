/* branches.c - recognises an operation of the course by the tensors that it is passed. */
#include "branches.h"

#include "beginning.h"
#include "log.h"

enum {
    LEAST = 16, /* this many unknown operations in a row are always accepted; */
    PART = 4,   /* beyond that, one part in so many of the course */
    OFTEN = 4,  /* iterations in a row after which the program is taken to go on with them */
};

/* Searches from the current place on. Returns op_count if it is no operation of the course. */
static uint32_t place_of(const struct spw_plan_executor *on, const struct spw_op *op, uint64_t key)
{
    const struct spw_cursor *cursor = &on->place.cursor;
    uint32_t operation = spw_cursor_find(cursor, key, cursor->op);
    while (operation < cursor->op_count && !spw_plan_executor_fits(on, op, operation))
        operation = spw_cursor_find(cursor, key, operation + 1);
    return operation;
}

bool spw_branch_find(const struct spw_plan_executor *on, struct spw_tuned_iterations *iterations, uint32_t left,
                     const struct spw_op *op, uint64_t key, uint32_t *ret_operation)
{
    const uint32_t count = on->place.cursor.op_count, part = count / PART;
    *ret_operation = place_of(on, op, key);
    if (*ret_operation < count)
        return true;
    if (spw_beginning_comes_again(on, key))
        return count - on->place.cursor.op <= part;
    *ret_operation = SPW_NO_INDEX;
    return on->strange < (part > LEAST ? part : LEAST) && !spw_beginning_find(iterations, left, key, on->device->live_bytes);
}

enum spw_cursor_answer spw_branch_go(struct spw_plan_executor *on, uint64_t key, uint32_t operation)
{
    if (!on->has_branched)
        spw_debug("device %d: another branch at operation %u of %u", on->device->ordinal, on->place.cursor.op,
                  on->place.cursor.op_count);
    on->has_branched = true;
    on->strange++;
    if (operation == SPW_NO_INDEX)
        return SPW_CURSOR_EXTRA;
    spw_cursor_skip_to(&on->place.cursor, operation);
    on->overdue = on->now->plan->actions.first[operation];
    return spw_cursor_op(&on->place.cursor, key, true);
}

void spw_branch_end(struct spw_plan_executor *on, const struct spw_op *op, uint32_t operation)
{
    if (!on->has_branched && !on->strange_bytes)
        return;
    spw_plan_executor_recognise(on, op, operation);
    on->conforms &= !on->strange; /* the unknown operations took memory that the plan has for others */
    on->strange = 0;
}

/* Returns the bytes that an iteration allocates; UINT64_MAX if its operations are not the same. */
static uint64_t bytes_by_the_same(const struct spw_course *course, const struct spw_course *operations)
{
    uint64_t bytes = 0;
    for (uint32_t op = 0; op < course->op_count; op++)
        if (course->ops[op].key != operations->ops[op].key)
            return UINT64_MAX;
    for (uint32_t t = course->live_count; t < course->tensor_count; t++)
        bytes += course->tensors[t].bytes;
    return bytes;
}

bool spw_branch_is_nearer(const struct spw_course *course, const struct spw_tuned_iteration *other, unsigned times)
{
    if (times >= OFTEN || other->course->op_count != course->op_count)
        return times >= OFTEN || other->course->op_count > course->op_count;
    return !other->followed || bytes_by_the_same(other->course, course) > bytes_by_the_same(course, course);
}
