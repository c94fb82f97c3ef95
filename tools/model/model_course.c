/* model_course.c - feeds a recording with the iteration, as a run would. */
#include "model_course.h"

#include <errno.h>
#include <stdlib.h>

#include "course/recording.h"
#include "grow.h"

struct telling {
    const struct model *m;
    const struct model_course_terms *terms;
    struct spw_recording *recording;
    uint32_t *first, *next; /* by operation: tensors that are freed after it; by tensor: the next in that list */
    struct spw_recording_touch *touches;
    size_t touch_room;
    uint32_t touch_count;
};

static uint64_t id_of(uint32_t tensor)
{
    return (uint64_t)tensor + 1;
}

static bool is_small(const struct telling *t, uint32_t tensor)
{
    return t->m->tensors[tensor].bytes < t->terms->small_bytes;
}

/* Returns true if the tensor exists before the iteration. */
static bool is_there_first(const struct model_tensor *t)
{
    return t->persistent || t->ordinal == MODEL_NONE;
}

static int tell_tensor(struct telling *t, uint32_t tensor)
{
    const struct model_tensor *it = &t->m->tensors[tensor];
    const bool evictable = it->kind != SPW_ALLOC_MANAGED && it->kind != SPW_ALLOC_VMM;
    if (!t->terms->is_there[tensor] || is_small(t, tensor))
        return 0;
    return is_there_first(it) ? spw_recording_live(t->recording, id_of(tensor), it->bytes, evictable)
                              : spw_recording_alloc(t->recording, id_of(tensor), it->bytes, evictable);
}

static int add_touch(struct telling *t, uint32_t tensor, uint32_t access)
{
    if (!t->terms->is_there[tensor])
        return 0;
    if (SPW_GROW(t->touches, t->touch_room, t->touch_count + 1) < 0)
        return -ENOMEM;
    t->touches[t->touch_count++] = (struct spw_recording_touch){
        .id = id_of(tensor), .access = access, .small_bytes = is_small(t, tensor) ? t->m->tensors[tensor].bytes : 0};
    return 0;
}

static uint32_t access_of(const struct model_touch *touch)
{
    return (touch->access & SPW_ACCESS_READ ? SPW_COURSE_READS : 0) |
           (touch->access & SPW_ACCESS_WRITE ? SPW_COURSE_WRITES : 0) | (touch->believed ? SPW_COURSE_BELIEVED : 0);
}

/* Lists the touches. An operation whose touches are unknown may touch every tensor that is alive. */
static int list_touches(struct telling *t, uint32_t index)
{
    const struct model_op *op = &t->m->iteration[index];
    int r = 0;
    t->touch_count = 0;
    for (uint32_t i = 0; r == 0 && op->everything && i < t->m->tensor_count; i++)
        if (t->m->tensors[i].alloc_before <= index && index <= t->m->tensors[i].free_after)
            r = add_touch(t, i, SPW_COURSE_READS | SPW_COURSE_WRITES);
    for (uint32_t i = 0; r == 0 && !op->everything && i < op->touch_count; i++) {
        const struct model_touch *touch = &t->m->touches[op->first_touch + i];
        r = add_touch(t, touch->tensor, access_of(touch));
    }
    return r;
}

static int tell_op(struct telling *t, uint32_t index)
{
    const struct model_op *op = &t->m->iteration[index];
    int r = list_touches(t, index);
    if (r == 0)
        r = spw_recording_op(t->recording, index, true, t->touches, t->touch_count, NULL);
    if (r == 0)
        spw_recording_duration(t->recording, index, op->timed ? (double)op->share_ns / 1000.0 : 0);
    for (uint32_t i = t->first[index]; r == 0 && i != MODEL_NONE; i = t->next[i])
        r = spw_recording_free(t->recording, id_of(i));
    return r;
}

static void list_frees(struct telling *t)
{
    const struct model *m = t->m;
    for (uint32_t op = 0; op < m->iteration_count; op++)
        t->first[op] = MODEL_NONE;
    for (uint32_t i = 0; i < m->tensor_count; i++) {
        const struct model_tensor *it = &m->tensors[i];
        if (it->persistent || it->lives_on || !t->terms->is_there[i])
            continue;
        t->next[i] = t->first[it->free_after];
        t->first[it->free_after] = i;
    }
}

static int tell(struct telling *t)
{
    const struct model *m = t->m;
    uint32_t told = 0;
    int r = 0;
    spw_recording_begin(t->recording);
    list_frees(t);
    for (uint32_t op = 0; r == 0 && op < m->iteration_count; op++) {
        for (; r == 0 && told < m->tensor_count && m->tensors[told].alloc_before <= op; told++)
            r = tell_tensor(t, told);
        if (r == 0)
            r = tell_op(t, op);
    }
    return r;
}

static int make_course(const struct model *m, const struct model_course_terms *terms, struct spw_course **ret_course)
{
    struct telling t = {.m = m, .terms = terms};
    int r = spw_recording_create(&t.recording);
    t.first = malloc((m->iteration_count + 1) * sizeof(*t.first));
    t.next = malloc((m->tensor_count + 1) * sizeof(*t.next));
    if (r == 0)
        r = t.first && t.next ? tell(&t) : -ENOMEM;
    if (r == 0)
        r = spw_recording_finish(t.recording, m->iteration_count, ret_course);
    for (uint32_t op = 0; r == 0 && op < m->iteration_count; op++)
        (*ret_course)->ops[op].replayable = terms->replayable[op];
    spw_recording_destroy(t.recording);
    free(t.first);
    free(t.next);
    free(t.touches);
    return r;
}

int model_course_make(const struct model *m, const struct model_course_terms *terms, struct model_course *ret_course,
                      struct spw_graph_problem *ret_problem)
{
    const struct spw_course_terms of_graph = {
        .d2h_bytes_per_us = terms->d2h_bytes_per_us, .h2d_bytes_per_us = terms->h2d_bytes_per_us, .may_replay = true};
    struct spw_course *course;
    int r = make_course(m, terms, &course);
    if (r != 0)
        return r;
    r = spw_course_graph(course, &of_graph, &ret_course->graph, &ret_course->tensor_of, ret_problem);
    for (uint32_t i = 0, small = 0; r == 0 && i < ret_course->graph->tensor_count; i++) {
        uint32_t *of = &ret_course->tensor_of[i];
        const uint64_t id = *of == SPW_NO_INDEX ? course->smalls[small++].id : course->tensors[*of].id;
        *of = (uint32_t)(id - 1);
    }
    spw_course_destroy(course);
    return r;
}

void model_course_finish(struct model_course *course)
{
    spw_graph_destroy(course->graph);
    free(course->tensor_of);
}
