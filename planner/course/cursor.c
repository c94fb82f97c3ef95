/* cursor.c - finds operations and allocations among those that the course expects next. */
#include "course/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "course/cursor_log.h"

int spw_cursor_init(struct spw_cursor *c, const struct spw_course *course)
{
    *c = (struct spw_cursor){.ops = course->ops, .op_count = course->op_count, .course = course};
    c->id = malloc(((size_t)course->tensor_count + 1) * sizeof *c->id);
    c->was = malloc(((size_t)course->tensor_count + 1) * sizeof *c->was);
    c->told = malloc(((size_t)course->live_count + 1) * sizeof *c->told);
    c->skipped = calloc((size_t)course->op_count + 1, sizeof *c->skipped);
    if (!c->id || !c->was || !c->told || !c->skipped) {
        spw_cursor_finish(c);
        return -ENOMEM;
    }
    spw_cursor_begin(c);
    return 0;
}

void spw_cursor_finish(struct spw_cursor *c)
{
    free(c->id);
    free(c->was);
    free(c->told);
    free(c->skipped);
    free(c->log);
    free(c->others);
    free(c->noted);
    free(c->noted_touches);
    *c = (struct spw_cursor){0};
}

static void to_start(struct spw_cursor *c)
{
    const struct spw_course *course = c->course;
    if (c->skipped_count)
        memset(c->skipped, 0, course->op_count * sizeof *c->skipped);
    c->op = c->alloc = c->extras = c->skipped_count = 0;
    for (uint32_t i = course->live_count; i < course->tensor_count; i++)
        c->id[i] = c->was[i] = 0;
}

void spw_cursor_begin(struct spw_cursor *c)
{
    const struct spw_course *course = c->course;
    to_start(c);
    for (uint32_t i = 0; i < course->live_count; i++)
        spw_cursor_bind(c, i, course->tensors[i].from == i ? course->tensors[i].id : 0);
    c->log_count = c->other_count = c->noted_count = c->noted_touch_count = 0;
    c->first_id = 0;
    c->forgot = false;
}

void spw_cursor_bind(struct spw_cursor *c, uint32_t tensor, uint64_t id)
{
    if (tensor < c->course->live_count)
        c->id[tensor] = c->was[tensor] = c->told[tensor] = id;
}

/* Returns true if the tensor should have been freed in the iteration that is over, and not only at its very end. */
static bool is_late(const struct spw_cursor *c, uint32_t tensor)
{
    const struct spw_course_tensor *t = &c->course->tensors[tensor];
    return c->id[tensor] != 0 && t->to == SPW_NO_INDEX && t->free_after + 1 != c->course->op_count;
}

void spw_cursor_rewind(struct spw_cursor *c)
{
    const struct spw_course *course = c->course;
    spw_cursor_fold_log(c);
    for (uint32_t i = course->live_count; i < course->tensor_count; i++)
        if (is_late(c, i))
            spw_cursor_leave(c, i);
    for (uint32_t i = 0; i < course->live_count; i++) {
        const uint32_t from = course->tensors[i].from;
        if (from != i && c->id[i] != 0)
            spw_cursor_leave(c, i);
        c->id[i] = c->was[i] = from == SPW_NO_INDEX ? 0 : c->id[from];
    }
    to_start(c);
}

int spw_cursor_rewind_telling(struct spw_cursor *c, const struct spw_cursor_listener *listener)
{
    const int r = spw_cursor_tell(c, listener);
    spw_cursor_rewind(c);
    for (uint32_t i = 0; i < c->course->live_count; i++)
        c->told[i] = c->id[i];
    c->other_count = 0;
    c->first_id = 0;
    c->forgot = false;
    return r;
}

/* ---- operations ---- */

/* Returns the next operation of the backbone, from `op` on; op_count if there is none. */
static uint32_t next_bone(const struct spw_course *course, uint32_t op)
{
    while (op < course->op_count && !course->ops[op].backbone)
        op++;
    return op;
}

static void go(struct spw_cursor *c, uint32_t op)
{
    for (; c->op < op; c->op++) {
        c->skipped[c->op] = 1;
        c->skipped_count++;
    }
}

/* Looks for an operation that is not the expected one. Between two operations of the backbone, any others may be missing. */
static enum spw_cursor_answer look_ahead(struct spw_cursor *c, uint64_t key, bool backbone)
{
    const struct spw_course *course = c->course;
    const uint32_t bone = next_bone(course, c->op);
    for (uint32_t op = c->op; op < bone && !backbone; op++)
        if (course->ops[op].key == key) {
            go(c, op);
            c->op++;
            return SPW_CURSOR_EXPECTED;
        }
    if (!backbone) {
        c->extras++;
        return SPW_CURSOR_EXTRA;
    }
    if (bone < course->op_count && course->ops[bone].key == key) {
        go(c, bone);
        c->op++;
        return SPW_CURSOR_EXPECTED;
    }
    const uint32_t first = next_bone(course, 0);
    if (bone < course->op_count || first == course->op_count || course->ops[first].key != key)
        return SPW_CURSOR_LOST;
    go(c, bone);
    return SPW_CURSOR_COMPLETE;
}

enum spw_cursor_answer spw_cursor_op(struct spw_cursor *c, uint64_t key, bool backbone)
{
    if (c->op == c->course->op_count)
        return SPW_CURSOR_COMPLETE;
    if (!spw_cursor_expects(c, key) || c->course->ops[c->op].backbone != backbone)
        return look_ahead(c, key, backbone);
    spw_cursor_advance(c);
    return SPW_CURSOR_EXPECTED;
}

uint32_t spw_cursor_find(const struct spw_cursor *c, uint64_t key, uint32_t op)
{
    const struct spw_course *course = c->course;
    while (op < course->op_count && (!course->ops[op].backbone || course->ops[op].key != key))
        op++;
    return op;
}

void spw_cursor_skip_to(struct spw_cursor *c, uint32_t op)
{
    go(c, op);
}

/* ---- allocations and frees ---- */

static bool is_free_for(const struct spw_cursor *c, uint32_t tensor, uint64_t bytes)
{
    return c->was[tensor] == 0 && c->course->tensors[tensor].bytes == bytes;
}

/* Returns the first allocation of the gap in which the cursor is. */
static uint32_t first_of_gap(const struct spw_cursor *c)
{
    const struct spw_course *course = c->course;
    uint32_t op = c->op;
    while (op > 0 && !course->ops[op - 1].backbone)
        op--;
    return op > 0 ? course->ops[op - 1].first_alloc : 0;
}

static uint32_t end_of_gap(const struct spw_cursor *c)
{
    const struct spw_course *course = c->course;
    const uint32_t bone = next_bone(course, c->op);
    return bone < course->op_count ? course->ops[bone].first_alloc : course->tensor_count - course->live_count;
}

/* Finds a tensor that lives on into the next iteration; it may be allocated at any time (by a loader's thread). Returns
 * course->tensor_count if there is none. */
static uint32_t find_carried_over(const struct spw_cursor *c, uint64_t bytes)
{
    const struct spw_course *course = c->course;
    uint32_t i = course->live_count;
    while (i < course->tensor_count &&
           (course->tensors[i].to == SPW_NO_INDEX || course->tensors[i].bytes != bytes || c->id[i] != 0))
        i++;
    return i;
}

uint32_t spw_cursor_alloc(struct spw_cursor *c, uint64_t id, uint64_t bytes)
{
    const uint32_t live = c->course->live_count, count = c->course->tensor_count;
    const uint32_t first = first_of_gap(c), end = end_of_gap(c);
    uint32_t alloc = c->alloc;
    if (alloc < first || alloc >= end || !is_free_for(c, live + alloc, bytes))
        for (alloc = first; alloc < end && !is_free_for(c, live + alloc, bytes);)
            alloc++;
    const uint32_t tensor = alloc < end ? live + alloc : find_carried_over(c, bytes);
    c->first_id = c->first_id ? c->first_id : id;
    spw_cursor_log(c, (struct spw_cursor_event){.id = id, .bytes = bytes, .is_other = tensor == count});
    if (tensor == count)
        return SPW_NO_INDEX;
    c->id[tensor] = c->was[tensor] = id;
    if (alloc < end)
        c->alloc = alloc + 1;
    return tensor;
}

/* Returns the last event of that kind for the id, or NULL. */
static struct spw_cursor_event *event_of(const struct spw_cursor *c, uint64_t id, enum spw_cursor_event_kind kind)
{
    for (uint32_t i = c->log_count; i-- > 0 && id != 0;)
        if (c->log[i].id == id && c->log[i].kind == kind)
            return &c->log[i];
    return NULL;
}

bool spw_cursor_recognise(struct spw_cursor *c, uint32_t tensor, uint64_t id)
{
    struct spw_cursor_event *event = tensor >= c->course->live_count ? event_of(c, id, SPW_CURSOR_ALLOC) : NULL;
    if (!event || !event->is_other)
        return false;
    for (int kind = SPW_CURSOR_ALLOC; kind <= SPW_CURSOR_FREE; kind++) {
        struct spw_cursor_event *former = event_of(c, c->was[tensor], (enum spw_cursor_event_kind)kind);
        if (former)
            former->is_other = true;
    }
    event->is_other = false;
    c->id[tensor] = c->was[tensor] = id;
    return true;
}

bool spw_cursor_free(struct spw_cursor *c, uint32_t tensor, uint64_t id)
{
    const struct spw_course *course = c->course;
    if (tensor < course->tensor_count && c->id[tensor] != id) /* it had that number in the previous iteration */
        tensor = course->tensors[tensor].to;
    const bool is_ours = tensor < course->tensor_count && c->id[tensor] == id;
    if (is_ours)
        c->id[tensor] = 0;
    spw_cursor_log(c, (struct spw_cursor_event){.id = id, .kind = SPW_CURSOR_FREE, .is_other = !is_ours});
    return is_ours;
}
