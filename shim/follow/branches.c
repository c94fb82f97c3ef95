/* branches.c - tells by its tensors which operation of the course one is. */
#include "branches.h"

#include "beginning.h"
#include "log.h"

enum {
    LEAST = 16, /* operations in a row that are always few; */
    PART = 4,   /* else one of so many of the course is */
};

/* From the place on; op_count: it is none of the course. */
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
    if (!on->has_branched)
        return;
    spw_plan_executor_recognise(on, op, operation);
    on->conforms &= !on->strange; /* they had memory that the plan has others for */
    on->strange = 0;
}
