/* course.c - cuts one iteration out of a recording: which tensors belong to it, when each is used, and which one takes
 * the place of which in the next iteration. */
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
    free(course->smalls);
    free(course->small_touches);
    free(course->hits);
    free(course);
}

static void *copy_of(const void *list, size_t count, size_t element)
{
    void *copy = malloc((count + 1) * element);
    if (copy)
        memcpy(copy, list, count * element);
    return copy;
}

int spw_course_copy(const struct spw_course *course, struct spw_course **ret_course)
{
    struct spw_course *c = malloc(sizeof *c);
    if (!c)
        return -ENOMEM;
    *c = *course;
    c->ops = copy_of(course->ops, course->op_count, sizeof *c->ops);
    c->tensors = copy_of(course->tensors, course->tensor_count, sizeof *c->tensors);
    c->touches = copy_of(course->touches, course->touch_count, sizeof *c->touches);
    c->calls = copy_of(course->calls, course->op_count, sizeof *c->calls);
    c->mentions = copy_of(course->mentions, course->mention_count, sizeof *c->mentions);
    c->smalls = copy_of(course->smalls, course->small_count, sizeof *c->smalls);
    c->small_touches = copy_of(course->small_touches, course->small_touch_count, sizeof *c->small_touches);
    c->hits = copy_of(course->hits, course->hit_count, sizeof *c->hits);
    if (c->ops && c->tensors && c->touches && c->calls && c->mentions && c->smalls && c->small_touches && c->hits) {
        *ret_course = c;
        return 0;
    }
    spw_course_destroy(c);
    return -ENOMEM;
}

/* ---- which tensors belong to the iteration ---- */

struct cut {
    const struct spw_recorded *recorded;
    struct spw_course *course;
    uint32_t *number; /* by recorded tensor: its number as in course->hits */
};

/* A tensor freed before the first operation belongs to the previous iteration, one allocated after the last to the next
 * one. */
static bool belongs(const struct cut *cut, uint32_t index)
{
    const struct spw_recorded_tensor *t = &cut->recorded->tensors[index];
    if (t->small)
        return false;
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

/* Adds a touch of a small tensor. Small tensors are numbered in the order of their first touches. */
static void take_small_touch(struct cut *cut, struct spw_course_call *call, const struct spw_course_touch *touch)
{
    struct spw_course *course = cut->course;
    const struct spw_recorded_tensor *t = &cut->recorded->tensors[touch->tensor];
    uint32_t *number = &cut->number[touch->tensor];
    if (*number == SPW_NO_INDEX) {
        *number = SPW_COURSE_SMALL | course->small_count;
        course->smalls[course->small_count++] =
            (struct spw_course_small){.id = t->id,
                                      .bytes = t->bytes,
                                      .freed_before = t->freed_before < course->op_count ? t->freed_before : SPW_NO_INDEX};
    }
    course->small_touches[course->small_touch_count++] =
        (struct spw_course_touch){.tensor = *number & ~SPW_COURSE_SMALL, .access = touch->access};
    call->small_count++;
}

static void take_touches(struct cut *cut, uint32_t op)
{
    struct spw_course *course = cut->course;
    struct spw_course_op *o = &course->ops[op];
    struct spw_course_call *call = &course->calls[op];
    const struct spw_course_touch *touches = &cut->recorded->touches[o->first_touch];
    const uint32_t count = o->touch_count;
    o->first_touch = course->touch_count;
    o->touch_count = 0;
    call->first_small = course->small_touch_count;
    for (uint32_t i = 0; i < count; i++) {
        if (cut->recorded->tensors[touches[i].tensor].small) {
            take_small_touch(cut, call, &touches[i]);
            continue;
        }
        struct spw_course_tensor *t = &course->tensors[cut->number[touches[i].tensor]];
        course->touches[course->touch_count++] =
            (struct spw_course_touch){.tensor = cut->number[touches[i].tensor], .access = touches[i].access};
        o->touch_count++;
        t->first_use = t->first_use == SPW_NO_INDEX ? op : t->first_use;
        t->last_use = op;
    }
}

static void take_op(struct cut *cut, uint32_t op)
{
    const struct spw_recorded *recorded = cut->recorded;
    struct spw_course *course = cut->course;
    struct spw_course_call *call = &course->calls[op];
    take_touches(cut, op);
    const struct spw_course_mention *mentions = &recorded->mentions[call->first_mention];
    call->first_mention = course->mention_count;
    for (uint32_t i = 0; i < call->mention_count; i++)
        course->mentions[course->mention_count++] =
            (struct spw_course_mention){.offset = mentions[i].offset, .tensor = cut->number[mentions[i].tensor]};
    const uint32_t *hits = &recorded->hits[call->first_hit];
    call->first_hit = course->hit_count;
    for (uint32_t i = 0; i < call->hit_count; i++)
        course->hits[course->hit_count++] = hits[i] == SPW_NO_INDEX ? SPW_NO_INDEX : cut->number[hits[i]];
}

static void take_all(struct cut *cut)
{
    struct spw_course *course = cut->course;
    memcpy(course->ops, cut->recorded->ops, course->op_count * sizeof *course->ops);
    memcpy(course->calls, cut->recorded->calls, course->op_count * sizeof *course->calls);
    for (uint32_t op = 0; op < course->op_count; op++)
        take_op(cut, op);
}

/* ---- which tensor takes the place of which ---- */

struct candidate {
    uint64_t bytes;
    uint32_t recorded; /* index of the tensor */
};

static int by_bytes_and_order(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->recorded < y->recorded ? -1 : x->recorded > y->recorded;
}

enum role { STAYS, LEAVES, LEAVES_LATE, WAS_LATE, IS_LATE, OTHER };

/* LEAVES: comes from the previous iteration and is freed. STAYS: lives on into the next. WAS_LATE, IS_LATE: is freed
 * after the last operation, of the previous iteration or of this one. LEAVES_LATE: both LEAVES and IS_LATE. */
static enum role role_of(const struct cut *cut, uint32_t index)
{
    const struct spw_recorded_tensor *t = &cut->recorded->tensors[index];
    const uint32_t op_count = cut->course->op_count;
    const bool is_old = index < cut->recorded->live_count;
    if (t->small || (!is_old && t->alloc_before >= op_count))
        return OTHER;
    if (is_old && t->freed_before == 0)
        return WAS_LATE;
    if (t->freed_before > op_count)
        return is_old ? OTHER : STAYS;
    if (is_old)
        return t->freed_before == op_count ? LEAVES_LATE : LEAVES;
    return t->freed_before == op_count ? IS_LATE : OTHER;
}

static uint32_t list_role(const struct cut *cut, enum role role, struct candidate *list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < cut->recorded->tensor_count; i++)
        if (role_of(cut, i) == role)
            list[count++] = (struct candidate){cut->recorded->tensors[i].bytes, i};
    qsort(list, count, sizeof *list, by_bytes_and_order);
    return count;
}

/* Removes from `list` one entry for each entry of the same size in `others`, the first ones first. Returns how many are
 * left. */
static uint32_t take_away(struct candidate *list, uint32_t count, const struct candidate *others, uint32_t other_count)
{
    uint32_t left = 0, o = 0;
    for (uint32_t i = 0; i < count; i++) {
        while (o < other_count && others[o].bytes < list[i].bytes)
            o++;
        if (o < other_count && others[o].bytes == list[i].bytes)
            o++;
        else
            list[left++] = list[i];
    }
    return left;
}

/* Records that `stays` takes the place of `leaves` when the iteration comes again. */
static void follow(struct cut *cut, uint32_t leaves, uint32_t stays)
{
    struct spw_course_tensor *tensors = cut->course->tensors;
    const uint32_t to = cut->number[leaves], from = cut->number[stays];
    if (to == SPW_NO_INDEX) {
        tensors[from].free_after = cut->course->op_count - 1;
    } else {
        tensors[to].from = from;
        tensors[from].to = to;
    }
}

/* Pairs the tensors that leave, and those whose free was late last time and is still due this time, with those that stay:
 * within each size the first with the first, and so on. Each list has room for all tensors. */
static void pair(struct cut *cut, struct candidate *leave, struct candidate *stay)
{
    uint32_t late = list_role(cut, IS_LATE, stay), s = 0;
    late += list_role(cut, LEAVES_LATE, stay + late);
    qsort(stay, late, sizeof *stay, by_bytes_and_order);
    uint32_t leaving = take_away(leave, list_role(cut, WAS_LATE, leave), stay, late);
    leaving += list_role(cut, LEAVES, leave + leaving);
    leaving += list_role(cut, LEAVES_LATE, leave + leaving);
    qsort(leave, leaving, sizeof *leave, by_bytes_and_order);
    const uint32_t staying = list_role(cut, STAYS, stay);
    for (uint32_t l = 0; l < leaving; l++) {
        while (s < staying && stay[s].bytes < leave[l].bytes)
            s++;
        if (s < staying && stay[s].bytes == leave[l].bytes)
            follow(cut, leave[l].recorded, stay[s++].recorded);
    }
    for (uint32_t i = 0; i < cut->course->live_count; i++)
        if (cut->course->tensors[i].free_after == SPW_NO_INDEX)
            cut->course->tensors[i].from = cut->course->tensors[i].to = i;
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
    course->smalls = malloc(((size_t)recorded->small_count + 1) * sizeof *course->smalls);
    course->small_touches = malloc(((size_t)recorded->touch_count + 1) * sizeof *course->small_touches);
    course->hits = malloc(((size_t)recorded->hit_count + 1) * sizeof *course->hits);
    if (course->ops && course->calls && course->tensors && course->touches && course->mentions && course->smalls &&
        course->small_touches && course->hits)
        return course;
    spw_course_destroy(course);
    return NULL;
}

int spw_course_make(const struct spw_recorded *recorded, uint32_t op_count, struct spw_course **ret_course)
{
    const size_t tensors = (size_t)recorded->tensor_count + 1;
    struct cut cut = {.recorded = recorded, .course = make_room(recorded, op_count)};
    struct candidate *leave = malloc(tensors * sizeof *leave), *stay = malloc(tensors * sizeof *stay);
    cut.number = malloc(tensors * sizeof *cut.number);
    const bool is_room = cut.course && cut.number && leave && stay;
    if (is_room) {
        number_tensors(&cut);
        take_all(&cut);
        pair(&cut, leave, stay);
        *ret_course = cut.course;
    } else {
        spw_course_destroy(cut.course);
    }
    free(cut.number);
    free(leave);
    free(stay);
    return is_room ? 0 : -ENOMEM;
}
