/* course_keep.c - adds copies out that no planner asks for, since in its graph the tensor's life is over.
 *
 * A tensor is not held (course_graph.c) by an operation that would then need more memory than there is. An example are
 * gradients that the program frees after one optimizer launch for all tensors. A plan drops them before that launch. The
 * engine cannot: the program still owns them and might read them, so they are evicted with a copy. Such a copy would not
 * be in the plan's time, and the operation would wait for it, since it would be submitted as late as the drop. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "course/course.h"
#include "plan/lineage.h"

#define ABSENT UINT32_MAX

struct state {             /* of a tensor of the graph, while the steps are visited in order */
    uint32_t device, host; /* versions */
    /* Position after the step that completed its contents, and after the last step that needed it. */
    size_t complete, used;
};

struct keeping {
    const struct spw_course *course;
    const struct spw_graph *graph;
    const uint32_t *tensor_of;
    bool late;
    struct state *states;
    uint32_t *before; /* by step, and one more at the end: number of copies inserted before it */
    struct copy {
        size_t position;
        uint32_t tensor;
    } * copies; /* in the order of the drops */
    uint32_t count;
};

static void run(struct keeping *k, const struct spw_step *step, size_t behind)
{
    const struct spw_graph_op *op = &k->graph->ops[step->id];
    for (uint32_t i = 0; i < op->read_count + op->write_count; i++) {
        const struct spw_touched_tensor *touch = &k->graph->touched[op->first_read + i];
        struct state *s = &k->states[touch->tensor];
        if (step->kind == SPW_STEP_REPLAY && touch->side)
            continue;
        s->used = behind;
        if (i < op->read_count)
            continue;
        s->device = touch->version;
        s->host = step->kind == SPW_STEP_REPLAY ? s->host : ABSENT;
        s->complete = behind;
    }
}

/* Returns true if the program still owns the tensor at operation `op`, no other copy of its contents exists, and no
 * operation that a plan may replay makes them again. */
static bool is_lost(const struct keeping *k, uint32_t tensor, uint32_t op)
{
    const struct state *s = &k->states[tensor];
    const uint32_t of_course = k->tensor_of[tensor];
    if (of_course == SPW_NO_INDEX || s->device == ABSENT || s->host == s->device)
        return false;
    const struct spw_course_tensor *t = &k->course->tensors[of_course];
    return t->free_after != SPW_NO_INDEX && t->free_after >= op &&
           spw_lineage_first_maker(k->graph, tensor, s->device) == SPW_NO_INDEX;
}

static void drop(struct keeping *k, uint32_t tensor, uint32_t op, size_t position)
{
    struct state *s = &k->states[tensor];
    if (is_lost(k, tensor, op)) {
        const size_t soonest = k->graph->tensors[tensor].copied_alone ? s->used : s->complete;
        k->copies[k->count++] = (struct copy){k->late ? position : soonest, tensor};
    }
    s->device = ABSENT;
}

static void find_copies(struct keeping *k, const struct spw_schedule *schedule)
{
    uint32_t op = 0;
    for (uint32_t i = 0; i < k->graph->tensor_count; i++)
        k->states[i] = (struct state){.device = schedule->start[i] == SPW_START_HOST ? ABSENT : 0,
                                      .host = schedule->start[i] == SPW_START_DEVICE ? ABSENT : 0};
    for (size_t i = 0; i < schedule->count; i++) {
        const struct spw_step *step = &schedule->steps[i];
        struct state *s = step->kind <= SPW_STEP_REPLAY ? NULL : &k->states[step->id];
        if (!s)
            run(k, step, i + 1);
        else if (step->kind == SPW_STEP_DROP)
            drop(k, step->id, op, i);
        else if (step->kind == SPW_STEP_D2H)
            s->host = s->device;
        else
            *s = (struct state){s->host, s->host, i + 1, i + 1};
        op += step->kind == SPW_STEP_OP;
    }
}

/* Moves the steps, from the last to the first, to their places after the copies before them. */
static void insert(struct keeping *k, struct spw_schedule *schedule)
{
    for (uint32_t i = 0; i < k->count; i++)
        k->before[k->copies[i].position]++;
    uint32_t still = k->count;
    for (size_t i = schedule->count; i-- > 0;) {
        still -= k->before[i + 1];
        schedule->steps[i + still] = schedule->steps[i];
        k->before[i + 1] = (uint32_t)(i + 1) + still; /* where the copies before the next step begin */
    }
    k->before[0] = 0;
    for (uint32_t i = 0; i < k->count; i++)
        schedule->steps[k->before[k->copies[i].position]++] = (struct spw_step){SPW_STEP_D2H, k->copies[i].tensor};
    schedule->count += k->count;
}

int spw_course_keep(const struct spw_course *course, const struct spw_graph *graph, const uint32_t *tensor_of, bool late,
                    struct spw_schedule *schedule, uint32_t *ret_count)
{
    struct keeping k = {.course = course, .graph = graph, .tensor_of = tensor_of, .late = late};
    k.states = calloc((size_t)graph->tensor_count + 1, sizeof *k.states);
    k.before = calloc(schedule->count + 1, sizeof *k.before);
    k.copies = calloc(schedule->count + 1, sizeof *k.copies);
    int r = k.states && k.before && k.copies ? 0 : -ENOMEM;
    if (r == 0)
        find_copies(&k, schedule);
    if (r == 0)
        r = spw_schedule_reserve(schedule, schedule->count + k.count);
    if (r == 0) {
        insert(&k, schedule);
        *ret_count = k.count;
    }
    free(k.states);
    free(k.before);
    free(k.copies);
    return r;
}
