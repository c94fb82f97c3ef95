/* peaks.c - the most bytes at once on the device and in host copies, once each step of a schedule has its time. */
#include "peaks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct change { /* of the bytes on the device */
    double at_us;
    size_t step;
    int64_t bytes;
    bool takes_no_time; /* it is over before what follows it at the same instant */
};

static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* At one instant drops come before starts, up to what takes no time; then again with what stands behind that. */
static uint64_t highest(struct change *changes, size_t count, uint64_t before)
{
    int64_t now = (int64_t)before, most = now;
    qsort(changes, count, sizeof *changes, compare_changes);
    for (size_t i = 0; i < count;) {
        int64_t begun = 0;
        const double at_us = changes[i].at_us;
        size_t last = SIZE_MAX; /* the step that takes no time, once it is met */
        for (; i < count && changes[i].at_us == at_us && (last == SIZE_MAX || changes[i].step == last); i++) {
            if (changes[i].bytes < 0)
                now += changes[i].bytes;
            else
                begun += changes[i].bytes;
            if (changes[i].takes_no_time)
                last = changes[i].step;
        }
        now += begun;
        most = now > most ? now : most;
    }
    return (uint64_t)most;
}

static bool takes_no_time(const struct spw_graph *graph, const struct spw_step *step)
{
    switch (step->kind) {
    case SPW_STEP_D2H:
        return graph->tensors[step->id].d2h_us == 0;
    case SPW_STEP_H2D:
        return graph->tensors[step->id].h2d_us == 0;
    case SPW_STEP_DROP:
        return false; /* it is nothing that others could follow */
    default:
        return graph->ops[step->id].us == 0;
    }
}

/* What a step changes on the device: an entry for each tensor that appears or goes, or one of 0 bytes. `there` follows the
 * steps. */
static size_t list_changes(const struct spw_graph *graph, const struct spw_step *step, struct change at, bool *there,
                           struct change *changes)
{
    size_t count = 0;
    at.takes_no_time = takes_no_time(graph, step);
    if (at.takes_no_time)
        changes[count++] = at;
    if (step->kind == SPW_STEP_H2D || step->kind == SPW_STEP_DROP) {
        const int64_t bytes = (int64_t)graph->tensors[step->id].bytes;
        there[step->id] = step->kind == SPW_STEP_H2D;
        at.bytes = there[step->id] ? bytes : -bytes;
        changes[count++] = at;
    }
    if (step->kind != SPW_STEP_OP && step->kind != SPW_STEP_REPLAY)
        return count;
    const struct spw_graph_op *op = &graph->ops[step->id];
    for (uint32_t i = 0; i < op->write_count; i++) {
        const struct spw_touched_tensor *touch = &graph->touched[op->first_write + i];
        if (there[touch->tensor] || (step->kind == SPW_STEP_REPLAY && touch->side))
            continue;
        there[touch->tensor] = true;
        at.bytes = (int64_t)graph->tensors[touch->tensor].bytes;
        changes[count++] = at;
    }
    return count;
}

static int find_peak(const struct spw_graph *graph, const struct spw_schedule *schedule, const double *starts,
                     uint64_t *ret_bytes)
{
    size_t room = 1;
    for (size_t i = 0; i < schedule->count; i++) {
        const struct spw_step *step = &schedule->steps[i];
        room += step->kind <= SPW_STEP_REPLAY ? graph->ops[step->id].write_count + 1 : 2;
    }
    struct change *changes = malloc(room * sizeof *changes);
    bool *there = malloc(((size_t)graph->tensor_count + 1) * sizeof *there);
    int r = changes && there ? 0 : -ENOMEM;
    if (r == 0) {
        uint64_t before = 0;
        size_t count = 0;
        for (uint32_t i = 0; i < graph->tensor_count; i++) {
            const struct spw_graph_tensor *t = &graph->tensors[i];
            there[i] = t->persistent ? schedule->start[i] != SPW_START_HOST : t->initial;
            before += there[i] ? t->bytes : 0;
        }
        for (size_t i = 0; i < schedule->count; i++)
            count += list_changes(graph, &schedule->steps[i], (struct change){.at_us = starts[i], .step = i}, there,
                                  changes + count);
        *ret_bytes = highest(changes, count, before);
    }
    free(changes);
    free(there);
    return r;
}

/* What a copy changes in host memory; `wanted` says, for each tensor, whether a later step reads the host copy. */
static size_t list_host_changes(const struct spw_graph *graph, const struct spw_step *step, double at_us, bool *wanted,
                                struct change *changes)
{
    const struct spw_graph_tensor *t = &graph->tensors[step->id];
    const int64_t bytes = (int64_t)t->bytes;
    const bool is_last = !wanted[step->id], is_out = step->kind == SPW_STEP_D2H;
    size_t count = 0;
    if (is_out)
        changes[count++] = (struct change){at_us, bytes};
    if (is_last)
        changes[count++] = (struct change){at_us + (is_out ? t->d2h_us : t->h2d_us), -bytes};
    wanted[step->id] = !is_out;
    return count;
}

/* From the end to the start, since what comes later says how long a host copy is wanted. */
static int find_host_peak(const struct spw_graph *graph, const struct spw_schedule *schedule, const double *starts,
                          uint64_t *ret_bytes)
{
    bool *wanted = malloc((size_t)graph->tensor_count + 1);
    struct change *changes = malloc((2 * schedule->count + graph->tensor_count + 1) * sizeof *changes);
    const int r = wanted && changes ? 0 : -ENOMEM;
    if (r == 0) {
        uint64_t before = 0;
        size_t count = 0;
        for (uint32_t i = 0; i < graph->tensor_count; i++)
            wanted[i] = graph->tensors[i].persistent && schedule->start[i] != SPW_START_DEVICE;
        for (size_t i = schedule->count; i-- > 0;) {
            const struct spw_step *step = &schedule->steps[i];
            if (step->kind == SPW_STEP_D2H || step->kind == SPW_STEP_H2D)
                count += list_host_changes(graph, step, starts[i], wanted, changes + count);
        }
        for (uint32_t i = 0; i < graph->tensor_count; i++) {
            if (!graph->tensors[i].persistent || schedule->start[i] == SPW_START_DEVICE)
                continue;
            before += graph->tensors[i].bytes;
            if (!wanted[i])
                changes[count++] = (struct change){0, -(int64_t)graph->tensors[i].bytes};
        }
        *ret_bytes = highest(changes, count, before);
    }
    free(changes);
    free(wanted);
    return r;
}

int spw_peaks(const struct spw_graph *graph, const struct spw_schedule *schedule, const double *start_us,
              struct spw_timing *timing)
{
    const int r = find_peak(graph, schedule, start_us, &timing->peak_bytes);
    return r < 0 ? r : find_host_peak(graph, schedule, start_us, &timing->host_peak_bytes);
}
