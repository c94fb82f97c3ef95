/* course_replays.c - finds which operations of a course can be replayed, and until when their products can be made again. */
#include <errno.h>
#include <stdlib.h>

#include "course/course_lives.h"

/* A write to a tensor that was written before is made again by replaying all its writers, one after the other. The graph
 * would take small tensors for side buffers, which replays leave alone; for the engine, only tensors without memory of
 * their own are. */
bool spw_course_may_run_again(const struct spw_course *course, const struct spw_course_life *lives, uint32_t op)
{
    const struct spw_course_op *o = &course->ops[op];
    for (uint32_t i = 0; o->replayable && i < o->touch_count; i++) {
        const struct spw_course_touch *touch = &course->touches[o->first_touch + i];
        if (lives[touch->tensor].birth != op && touch->access & SPW_COURSE_WRITES &&
            course->tensors[touch->tensor].bytes <= SPW_SIDE_BUFFER_BYTES)
            return false;
    }
    return o->replayable;
}

/* ---- until when tensors can be made again ---- */

struct looking {
    const struct spw_course *course;
    const struct spw_course_life *lives;
    uint32_t *next_write;       /* by tensor: the first later operation that writes it; SPW_NO_INDEX: none */
    uint32_t *next_small_write; /* by small tensor, likewise */
    /* By tensor: before each operation up to this one, all its later writers can be replayed. */
    uint32_t *until;
    struct spw_course_replays *replays;
};

static bool is_write(const struct looking *l, const struct spw_course_touch *touch, uint32_t op)
{
    return touch->access & SPW_COURSE_WRITES || l->lives[touch->tensor].birth == op;
}

static uint32_t earlier(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Returns the operation before which some input of operation `op` may have changed. */
static uint32_t inputs_until(const struct looking *l, uint32_t op)
{
    const struct spw_course_op *o = &l->course->ops[op];
    const struct spw_course_call *call = &l->course->calls[op];
    uint32_t until = SPW_NO_INDEX;
    for (uint32_t i = 0; i < o->touch_count; i++) {
        const struct spw_course_touch *touch = &l->course->touches[o->first_touch + i];
        const uint32_t free_after = l->course->tensors[touch->tensor].free_after;
        if (is_write(l, touch, op) || spw_course_is_scratch(touch))
            continue;
        until = earlier(until, l->next_write[touch->tensor]);
        until = earlier(until, free_after == SPW_NO_INDEX ? SPW_NO_INDEX : free_after + 1);
    }
    for (uint32_t i = 0; i < call->small_count; i++) {
        const struct spw_course_touch *touch = &l->course->small_touches[call->first_small + i];
        if (!(touch->access & SPW_COURSE_WRITES) && !spw_course_is_scratch(touch))
            until = earlier(until, l->next_small_write[touch->tensor]);
    }
    return until;
}

/* Handles one operation; operations are visited from the last to the first. */
static void pass(struct looking *l, uint32_t op)
{
    const struct spw_course_op *o = &l->course->ops[op];
    const struct spw_course_call *call = &l->course->calls[op];
    const uint32_t until = spw_course_may_run_again(l->course, l->lives, op) ? inputs_until(l, op) : 0;
    for (uint32_t i = 0; i < o->touch_count; i++) {
        const struct spw_course_touch *touch = &l->course->touches[o->first_touch + i];
        if (!is_write(l, touch, op))
            continue;
        l->until[touch->tensor] = earlier(l->until[touch->tensor], until);
        if (l->lives[touch->tensor].birth == op)
            l->replays->again_until[touch->tensor] = l->until[touch->tensor];
        l->next_write[touch->tensor] = op;
    }
    for (uint32_t i = 0; i < call->small_count; i++) {
        const struct spw_course_touch *touch = &l->course->small_touches[call->first_small + i];
        if (touch->access & SPW_COURSE_WRITES)
            l->next_small_write[touch->tensor] = op;
    }
    for (uint32_t small = l->replays->first_freed[op]; small != SPW_NO_INDEX; small = l->replays->next_freed[small])
        l->next_small_write[small] = op;
}

static void list_freed(const struct spw_course *course, struct spw_course_replays *replays)
{
    for (uint32_t op = 0; op <= course->op_count; op++)
        replays->first_freed[op] = SPW_NO_INDEX;
    for (uint32_t i = 0; i < course->small_count; i++) {
        const uint32_t op = course->smalls[i].freed_before;
        if (op == SPW_NO_INDEX)
            continue;
        replays->next_freed[i] = replays->first_freed[op];
        replays->first_freed[op] = i;
    }
}

int spw_course_find_replays(const struct spw_course *course, const struct spw_course_life *lives,
                            struct spw_course_replays *ret_replays)
{
    const size_t tensors = (size_t)course->tensor_count + 1, smalls = (size_t)course->small_count + 1;
    struct looking l = {.course = course,
                        .lives = lives,
                        .next_write = malloc(tensors * sizeof(uint32_t)),
                        .next_small_write = malloc(smalls * sizeof(uint32_t)),
                        .until = malloc(tensors * sizeof(uint32_t)),
                        .replays = ret_replays};
    ret_replays->again_until = calloc(tensors, sizeof *ret_replays->again_until);
    ret_replays->first_freed = malloc(((size_t)course->op_count + 1) * sizeof *ret_replays->first_freed);
    ret_replays->next_freed = malloc(smalls * sizeof *ret_replays->next_freed);
    const bool is_room = l.next_write && l.next_small_write && l.until && ret_replays->again_until &&
                         ret_replays->first_freed && ret_replays->next_freed;
    if (is_room) {
        for (uint32_t i = 0; i < course->tensor_count; i++)
            l.next_write[i] = l.until[i] = SPW_NO_INDEX;
        for (uint32_t i = 0; i < course->small_count; i++)
            l.next_small_write[i] = SPW_NO_INDEX;
        list_freed(course, ret_replays);
        for (uint32_t op = course->op_count; op-- > 0;)
            pass(&l, op);
    }
    free(l.next_write);
    free(l.next_small_write);
    free(l.until);
    return is_room ? 0 : -ENOMEM;
}

void spw_course_replays_finish(struct spw_course_replays *replays)
{
    free(replays->again_until);
    free(replays->first_freed);
    free(replays->next_freed);
    *replays = (struct spw_course_replays){0};
}
