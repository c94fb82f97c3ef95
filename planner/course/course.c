/* course.c - cuts one iteration out of what was recorded: who belongs to it, when each is used, and who takes whose place in
 * the next one. */
#include "course/course.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "course/course_make.h"

void spw_course_destroy(struct spw_course *course)
{
    if (!course)
        return;
    free(course->ops);
    free(course->tensors);
    free(course->touches);
    free(course->calls);
    free(course->mentions);
    free(course);
}

/* ---- who belongs to it ---- */

struct cut {
    const struct spw_recorded *recorded;
    struct spw_course *course;
    uint32_t *number; /* by recorded tensor: its number in the course; SPW_NO_INDEX: it is not in it */
};

/* Freed before the first operation: that was the end of the iteration before. Allocated behind the last: the next one's. */
static bool belongs(const struct cut *cut, uint32_t index)
{
    const struct spw_recorded_tensor *t = &cut->recorded->tensors[index];
    return index < cut->recorded->live_count ? t->freed_before != 0 : t->alloc_before < cut->course->op_count;
}

static uint32_t freed_after(const struct spw_recorded_tensor *t, uint32_t op_count)
{
    if (t->freed_before > op_count)
        return SPW_NO_INDEX;
    return t->freed_before > t->alloc_before ? t->freed_before - 1 : t->alloc_before;
}

static void number_tensors(struct cut *cut)
{
    struct spw_course *course = cut->course;
    for (uint32_t i = 0; i < cut->recorded->tensor_count; i++) {
        const struct spw_recorded_tensor *t = &cut->recorded->tensors[i];
        cut->number[i] = SPW_NO_INDEX;
        if (!belongs(cut, i))
            continue;
        course->live_count += i < cut->recorded->live_count;
        cut->number[i] = course->tensor_count++;
        course->tensors[cut->number[i]] = (struct spw_course_tensor){.id = t->id,
                                                                     .bytes = t->bytes,
                                                                     .alloc_before = t->alloc_before,
                                                                     .free_after = freed_after(t, course->op_count),
                                                                     .first_use = SPW_NO_INDEX,
                                                                     .last_use = SPW_NO_INDEX,
                                                                     .from = SPW_NO_INDEX,
                                                                     .to = SPW_NO_INDEX,
                                                                     .evictable = t->evictable};
    }
}

static void take_op(struct cut *cut, uint32_t op)
{
    const struct spw_recorded *recorded = cut->recorded;
    struct spw_course *course = cut->course;
    const struct spw_course_call *call = &course->calls[op];
    for (uint32_t i = 0; i < course->ops[op].touch_count; i++) {
        const struct spw_course_touch *touch = &recorded->touches[course->touch_count];
        struct spw_course_tensor *t = &course->tensors[cut->number[touch->tensor]];
        course->touches[course->touch_count++] =
            (struct spw_course_touch){.tensor = cut->number[touch->tensor], .access = touch->access};
        t->first_use = t->first_use == SPW_NO_INDEX ? op : t->first_use;
        t->last_use = op;
    }
    for (uint32_t i = 0; i < call->mention_count; i++) {
        const struct spw_course_mention *mention = &recorded->mentions[course->mention_count];
        course->mentions[course->mention_count++] =
            (struct spw_course_mention){.offset = mention->offset, .tensor = cut->number[mention->tensor]};
    }
}

static void take_all(struct cut *cut)
{
    struct spw_course *course = cut->course;
    memcpy(course->ops, cut->recorded->ops, course->op_count * sizeof *course->ops);
    memcpy(course->calls, cut->recorded->calls, course->op_count * sizeof *course->calls);
    for (uint32_t op = 0; op < course->op_count; op++)
        take_op(cut, op);
}

/* ---- who takes whose place ---- */

struct candidate {
    uint64_t bytes;
    uint32_t tensor;
};

static int by_bytes_and_order(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

/* Those that come from the iteration before and are freed, against those that live on into the next: of each size the first
 * with the first, and so on. `list` has room for all tensors. */
static void pair(struct spw_course *course, struct candidate *list)
{
    uint32_t leaving = 0, staying = 0, s = 0;
    for (uint32_t i = 0; i < course->live_count; i++)
        if (course->tensors[i].free_after == SPW_NO_INDEX)
            course->tensors[i].from = course->tensors[i].to = i;
        else
            list[leaving++] = (struct candidate){course->tensors[i].bytes, i};
    struct candidate *stay = list + leaving;
    for (uint32_t i = course->live_count; i < course->tensor_count; i++)
        if (course->tensors[i].free_after == SPW_NO_INDEX)
            stay[staying++] = (struct candidate){course->tensors[i].bytes, i};
    qsort(list, leaving, sizeof *list, by_bytes_and_order);
    qsort(stay, staying, sizeof *stay, by_bytes_and_order);
    for (uint32_t l = 0; l < leaving; l++) {
        while (s < staying && stay[s].bytes < list[l].bytes)
            s++;
        if (s == staying || stay[s].bytes != list[l].bytes)
            continue;
        course->tensors[list[l].tensor].from = stay[s].tensor;
        course->tensors[stay[s++].tensor].to = list[l].tensor;
    }
}

/* ---- */

static struct spw_course *make_room(const struct spw_recorded *recorded, uint32_t op_count)
{
    struct spw_course *course = calloc(1, sizeof *course);
    if (!course)
        return NULL;
    course->op_count = op_count;
    course->ops = malloc(op_count * sizeof *course->ops);
    course->calls = malloc(op_count * sizeof *course->calls);
    course->tensors = malloc(((size_t)recorded->tensor_count + 1) * sizeof *course->tensors);
    course->touches = malloc(((size_t)recorded->touch_count + 1) * sizeof *course->touches);
    course->mentions = malloc(((size_t)recorded->mention_count + 1) * sizeof *course->mentions);
    if (course->ops && course->calls && course->tensors && course->touches && course->mentions)
        return course;
    spw_course_destroy(course);
    return NULL;
}

int spw_course_make(const struct spw_recorded *recorded, uint32_t op_count, struct spw_course **ret_course)
{
    struct cut cut = {.recorded = recorded, .course = make_room(recorded, op_count)};
    struct candidate *list = malloc(((size_t)recorded->tensor_count + 1) * sizeof *list);
    cut.number = malloc(((size_t)recorded->tensor_count + 1) * sizeof *cut.number);
    const bool is_room = cut.course && cut.number && list;
    if (is_room) {
        number_tensors(&cut);
        take_all(&cut);
        pair(cut.course, list);
        *ret_course = cut.course;
    } else {
        spw_course_destroy(cut.course);
    }
    free(cut.number);
    free(list);
    return is_room ? 0 : -ENOMEM;
}
