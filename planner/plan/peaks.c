/* peaks.c - computes the most bytes at once on the device and in host copies, from the times of a schedule's steps. */
#include "plan/peaks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum { ENDS, DROPS, STARTS }; /* the order within one instant */

/* How the start or the end of a step changes the bytes in use. */
struct change {
    double at_us;
    size_t part; /* of an instant: a step that takes no time ends one part, and later steps belong to the next */
    int order;
    size_t step;
    int64_t device_bytes, host_bytes;
};

static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    if (x->order != y->order)
        return x->order - y->order;
    return (x->step > y->step) - (x->step < y->step);
}

/* Returns the bytes that a starting step takes on the device, or a drop gives back. `there` is updated step by step. */
static int64_t device_bytes(const struct spw_graph *graph, const struct spw_step *step, bool *there)
{
    if (step->kind == SPW_STEP_D2H)
        return 0;
    if (step->kind == SPW_STEP_H2D || step->kind == SPW_STEP_DROP) {
        const int64_t bytes = (int64_t)graph->tensors[step->id].bytes;
        there[step->id] = step->kind == SPW_STEP_H2D;
        return there[step->id] ? bytes : -bytes;
    }
    const struct spw_graph_op *op = &graph->ops[step->id];
    int64_t bytes = 0;
    for (uint32_t i = 0; i < op->write_count; i++) {
        const struct spw_touched_tensor *touch = &graph->touched[op->first_write + i];
        if (there[touch->tensor] || (step->kind == SPW_STEP_REPLAY && touch->side))
            continue;
        there[touch->tensor] = true;
        bytes += (int64_t)graph->tensors[touch->tensor].bytes;
    }
    return bytes;
}

/* Goes from the end to the start. Sets `last` for each copy after which the tensor's host copy is no longer needed: no
 * later copy reads it, and it need not exist at the end. On return, `wanted` says for each tensor whether its host copy
 * is needed at the start. */
static void find_last_copies(const struct spw_graph *graph, const struct spw_schedule *schedule, bool *last, bool *wanted)
{
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        wanted[i] = graph->tensors[i].persistent && schedule->start[i] != SPW_START_DEVICE;
    for (size_t i = schedule->count; i-- > 0;) {
        const struct spw_step *step = &schedule->steps[i];
        last[i] = false;
        if (step->kind != SPW_STEP_D2H && step->kind != SPW_STEP_H2D)
            continue;
        last[i] = !wanted[step->id];
        wanted[step->id] = step->kind == SPW_STEP_H2D;
    }
}

/* Returns the bytes that a starting step takes on the host, or gives back. `counted` is updated step by step: the host
 * copy takes memory. `last` then says whether the end of the step gives the memory back. */
static int64_t host_bytes(const struct spw_graph *graph, const struct spw_step *step, bool *counted, bool *last)
{
    int64_t bytes = 0;
    if (step->kind == SPW_STEP_D2H && !counted[step->id]) {
        counted[step->id] = true;
        bytes = (int64_t)graph->tensors[step->id].bytes;
    }
    if (*last) {
        *last = counted[step->id];
        counted[step->id] = false;
    }
    if (step->kind != SPW_STEP_OP)
        return bytes;
    const struct spw_graph_op *op = &graph->ops[step->id];
    for (uint32_t i = 0; i < op->write_count; i++) { /* the write makes the host copy stale */
        const uint32_t tensor = graph->touched[op->first_write + i].tensor;
        bytes -= counted[tensor] ? (int64_t)graph->tensors[tensor].bytes : 0;
        counted[tensor] = false;
    }
    return bytes;
}

/* Lists the start of each step, in the order of the steps. `changes` has room for as many ends after them. */
static void list_starts(const struct spw_graph *graph, const struct spw_schedule *schedule, const double *start_us,
                        bool *there, bool *counted, bool *last, struct change *changes)
{
    for (size_t i = 0; i < schedule->count; i++) {
        const struct spw_step *step = &schedule->steps[i];
        changes[i] = (struct change){.at_us = start_us[i], .step = i, .order = step->kind == SPW_STEP_DROP ? DROPS : STARTS};
        changes[i].device_bytes = device_bytes(graph, step, there);
        changes[i].host_bytes = host_bytes(graph, step, counted, &last[i]);
    }
}

static int compare_steps(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

/* Assigns the starts to parts of their instants, and appends the ends of the copies that give host memory back. */
static size_t list_ends(const struct spw_graph *graph, const struct spw_schedule *schedule, const double *end_us,
                        const bool *last, struct change *changes)
{
    size_t count = schedule->count;
    qsort(changes, count, sizeof *changes, compare_steps);
    for (size_t i = 0, part = 0; i < schedule->count; i++) {
        struct change *start = &changes[i];
        const double ends_us = end_us[start->step];
        part = i > 0 && changes[i - 1].at_us == start->at_us ? part : 0;
        start->part = part;
        const bool takes_no_time = ends_us == start->at_us && start->order == STARTS;
        part += takes_no_time;
        if (last[start->step])
            changes[count++] =
                (struct change){.at_us = ends_us,
                                .part = takes_no_time ? part : 0,
                                .order = ENDS,
                                .step = start->step,
                                .host_bytes = -(int64_t)graph->tensors[schedule->steps[start->step].id].bytes};
    }
    return count;
}

static int64_t more(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Counts what exists at the start. A host copy that is not needed counts, and gives its memory back at once. */
static void place_at_start(const struct spw_graph *graph, const struct spw_schedule *schedule, bool *there, bool *counted,
                           struct change *ret_start, uint64_t *ret_host_bytes)
{
    *ret_start = (struct change){0};
    *ret_host_bytes = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        const bool is_copied = t->persistent && schedule->start[i] != SPW_START_DEVICE;
        there[i] = t->persistent ? schedule->start[i] != SPW_START_HOST : t->initial;
        counted[i] &= is_copied;
        *ret_host_bytes += is_copied ? t->bytes : 0;
        ret_start->device_bytes += there[i] ? (int64_t)t->bytes : 0;
        ret_start->host_bytes += counted[i] ? (int64_t)t->bytes : 0;
    }
}

int spw_peaks(const struct spw_graph *graph, const struct spw_schedule *schedule, const double *start_us,
              const double *end_us, uint64_t *ret_peak_bytes, uint64_t *ret_host_peak_bytes)
{
    struct change *changes = malloc((2 * schedule->count + 1) * sizeof *changes);
    bool *there = malloc(2 * ((size_t)graph->tensor_count + 1) * sizeof *there);
    bool *last = malloc((schedule->count + 1) * sizeof *last);
    const int r = changes && there && last ? 0 : -ENOMEM;
    if (r == 0) {
        bool *counted = there + graph->tensor_count;
        struct change now;
        uint64_t host_peak_bytes;
        find_last_copies(graph, schedule, last, counted);
        place_at_start(graph, schedule, there, counted, &now, &host_peak_bytes);
        list_starts(graph, schedule, start_us, there, counted, last, changes);
        const size_t count = list_ends(graph, schedule, end_us, last, changes);
        qsort(changes, count, sizeof *changes, compare_changes);
        int64_t most = now.device_bytes, host_most = (int64_t)host_peak_bytes;
        for (size_t i = 0; i < count; i++) {
            most = more(most, now.device_bytes += changes[i].device_bytes);
            host_most = more(host_most, now.host_bytes += changes[i].host_bytes);
        }
        *ret_peak_bytes = (uint64_t)most;
        *ret_host_peak_bytes = (uint64_t)host_most;
    }
    free(changes);
    free(there);
    free(last);
    return r;
}
