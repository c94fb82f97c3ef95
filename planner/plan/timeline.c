/* timeline.c - times a schedule in one pass, with the times at which lanes and memory become free. */
#include "plan/timeline.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "plan/peaks.h"
#include "plan/stock.h"

struct tensor_time {
    double ready_us;    /* when its bytes are complete on the device */
    double used_us;     /* when the last step that used it, or copied it out, has ended */
    double copied_us;   /* when the last copy out has ended */
    double dropped_us;  /* when it became absent */
    bool there, copied; /* on the device; has a host copy */
    bool counted;       /* its host copy takes host memory; only used where that is limited */
};

struct interval {
    double from_us, to_us;
};

struct spw_timer {
    const struct spw_graph *graph;
    struct spw_machine machine;
    struct tensor_time *tensors;
    struct spw_stock device, host;
    bool is_host_limited;
    double lane_us[3];  /* compute, out, in: when the lane becomes free */
    double host_us;     /* when the host can submit the next step */
    double *started_us; /* starts of the last run_ahead compute steps, a ring; NULL: run_ahead is 0 */
    size_t compute_steps;
    struct interval *copies[2], *other[2]; /* of this pass, and of the pass before; where duplex < 1 */
    size_t copy_count[2], other_count[2];
    size_t room; /* of the stocks, copies and other */
    /* A pass stops at a time above limit_us. work_us is the sum of the compute lane's work. */
    double limit_us, work_us;
};

enum { COMPUTE, OUT, IN };

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* ---- memory, in order of time ---- */

/* Takes device memory. Afterwards device.from_us is the time at which it is free. */
static int take(struct spw_timer *tl, uint64_t bytes)
{
    if (spw_stock_take(&tl->device, bytes) < 0)
        return -ENOSPC;
    if (tl->machine.map_us > 0) /* the host itself waits before it maps the memory elsewhere */
        tl->host_us = later(tl->host_us, tl->device.waited_us);
    tl->host_us += tl->machine.map_us;
    return 0;
}

static int take_host(struct spw_timer *tl, uint32_t tensor)
{
    if (!tl->is_host_limited || tl->tensors[tensor].counted)
        return 0;
    tl->tensors[tensor].counted = true;
    return spw_stock_take(&tl->host, tl->graph->tensors[tensor].bytes);
}

static void give_back_host(struct spw_timer *tl, uint32_t tensor, double at_us)
{
    struct tensor_time *t = &tl->tensors[tensor];
    if (!t->counted)
        return;
    t->counted = false;
    spw_stock_give_back(&tl->host, later(at_us, t->copied_us), tl->graph->tensors[tensor].bytes);
}

/* Gives back the host copies that a recorded operation makes stale by a write, and those that it is the last to use. */
static void give_back_host_copies(struct spw_timer *tl, uint32_t index, double at_us)
{
    const struct spw_graph_op *op = &tl->graph->ops[index];
    for (uint32_t i = 0; i < op->read_count + op->write_count; i++) {
        const uint32_t tensor = tl->graph->touched[op->first_read + i].tensor;
        const struct spw_graph_tensor *t = &tl->graph->tensors[tensor];
        if (i >= op->read_count || (!t->persistent && tl->graph->uses[t->first_use + t->use_count - 1].op == index))
            give_back_host(tl, tensor, at_us);
    }
}

/* ---- copies ---- */

/* Returns how long a copy takes that starts at `start_us`: it is slower while the other lane is busy. */
static double copy_us(const struct spw_timer *tl, int lane, uint32_t tensor, double start_us)
{
    const struct spw_graph_tensor *t = &tl->graph->tensors[tensor];
    double left = lane == OUT ? t->d2h_us : t->h2d_us, now = start_us;
    if (tl->machine.chunk_bytes) {
        const uint64_t chunks = (t->bytes + tl->machine.chunk_bytes - 1) / tl->machine.chunk_bytes;
        left += tl->machine.chunk_us * (double)chunks;
    }
    const struct interval *other = tl->other[2 - lane];
    size_t low = 0, high = tl->other_count[2 - lane];
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (other[middle].to_us <= start_us)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i < tl->other_count[2 - lane] && now + left > other[i].from_us; i++) {
        if (other[i].from_us > now) {
            left -= other[i].from_us - now;
            now = other[i].from_us;
        }
        const double slowly = (other[i].to_us - now) * tl->machine.duplex;
        if (slowly >= left)
            return now + left / tl->machine.duplex - start_us;
        left -= slowly;
        now = other[i].to_us;
    }
    return now + left - start_us;
}

static void note_copy(struct spw_timer *tl, int lane, double from_us, double to_us)
{
    if (tl->machine.duplex < 1)
        tl->copies[lane - OUT][tl->copy_count[lane - OUT]++] = (struct interval){from_us, to_us};
}

/* ---- steps ---- */

static int time_op(struct spw_timer *tl, const struct spw_graph_op *op, bool is_replay, double *ret_start_us)
{
    const struct spw_touched_tensor *reads = &tl->graph->touched[op->first_read];
    const struct spw_touched_tensor *writes = &tl->graph->touched[op->first_write];
    double start_us = tl->lane_us[COMPUTE];
    for (uint32_t i = 0; i < op->read_count; i++) {
        const struct tensor_time *t = &tl->tensors[reads[i].tensor];
        if (is_replay && reads[i].side)
            continue;
        if (!t->there)
            return -EINVAL;
        start_us = later(start_us, t->ready_us);
        if (tl->graph->tensors[reads[i].tensor].copied_alone)
            start_us = later(start_us, t->copied_us);
    }
    for (uint32_t i = 0; i < op->write_count; i++) {
        const uint32_t tensor = writes[i].tensor;
        const struct tensor_time *t = &tl->tensors[tensor];
        if (is_replay && writes[i].side)
            continue;
        if (t->there) {
            start_us = later(start_us, t->used_us);
            continue;
        }
        if (take(tl, tl->graph->tensors[tensor].bytes) < 0)
            return -ENOSPC;
        start_us = later(start_us, later(tl->device.from_us, t->dropped_us));
    }
    if (tl->started_us && tl->compute_steps >= tl->machine.run_ahead)
        tl->host_us = later(tl->host_us, tl->started_us[tl->compute_steps % tl->machine.run_ahead]);
    start_us = later(start_us, tl->host_us);
    if (tl->started_us)
        tl->started_us[tl->compute_steps++ % tl->machine.run_ahead] = start_us;
    const double end_us = start_us + op->us;
    for (uint32_t i = 0; i < op->read_count; i++)
        if (!(is_replay && reads[i].side))
            tl->tensors[reads[i].tensor].used_us = later(tl->tensors[reads[i].tensor].used_us, end_us);
    for (uint32_t i = 0; i < op->write_count; i++) {
        struct tensor_time *t = &tl->tensors[writes[i].tensor];
        if (is_replay && writes[i].side)
            continue;
        t->there = true;
        t->copied &= is_replay; /* a write by a recorded operation makes the host copy stale */
        t->ready_us = end_us;
        t->used_us = later(t->used_us, end_us);
    }
    tl->lane_us[COMPUTE] = end_us;
    *ret_start_us = start_us;
    return 0;
}

static int time_d2h(struct spw_timer *tl, uint32_t tensor, double *ret_start_us)
{
    struct tensor_time *t = &tl->tensors[tensor];
    if (!t->there)
        return -EINVAL;
    if (take_host(tl, tensor) < 0)
        return -ENOSPC;
    const double from_us = tl->graph->tensors[tensor].copied_alone ? t->used_us : t->ready_us;
    const double start_us = later(later(tl->lane_us[OUT], from_us), later(tl->host_us, tl->host.from_us));
    const double end_us = start_us + copy_us(tl, OUT, tensor, start_us);
    t->copied = true;
    t->copied_us = end_us;
    t->used_us = later(t->used_us, end_us);
    tl->lane_us[OUT] = end_us;
    note_copy(tl, OUT, start_us, end_us);
    *ret_start_us = start_us;
    return 0;
}

static int time_h2d(struct spw_timer *tl, uint32_t tensor, double *ret_start_us)
{
    struct tensor_time *t = &tl->tensors[tensor];
    if (t->there || !t->copied)
        return -EINVAL;
    if (take(tl, tl->graph->tensors[tensor].bytes) < 0)
        return -ENOSPC;
    double start_us = later(later(tl->lane_us[IN], t->copied_us), later(tl->device.from_us, t->dropped_us));
    start_us = later(start_us, tl->host_us);
    const double end_us = start_us + copy_us(tl, IN, tensor, start_us);
    t->there = true;
    t->ready_us = end_us;
    t->used_us = end_us;
    tl->lane_us[IN] = end_us;
    note_copy(tl, IN, start_us, end_us);
    *ret_start_us = start_us;
    return 0;
}

static int time_drop(struct spw_timer *tl, uint32_t tensor, double *ret_start_us)
{
    struct tensor_time *t = &tl->tensors[tensor];
    if (!t->there)
        return -EINVAL;
    t->there = false;
    t->dropped_us = later(t->used_us, t->ready_us);
    tl->host_us += tl->machine.unmap_us;
    spw_stock_give_back(&tl->device, t->dropped_us, tl->graph->tensors[tensor].bytes);
    *ret_start_us = t->dropped_us;
    return 0;
}

static int time_step(struct spw_timer *tl, const struct spw_step *step, double *ret_start_us)
{
    const struct spw_graph *graph = tl->graph;
    const bool is_op = step->kind == SPW_STEP_OP || step->kind == SPW_STEP_REPLAY;
    if (step->id >= (is_op ? graph->op_count : graph->tensor_count))
        return -EINVAL;
    if (step->kind != SPW_STEP_DROP)
        tl->host_us += tl->machine.launch_us;
    switch (step->kind) {
    case SPW_STEP_OP:
    case SPW_STEP_REPLAY: {
        const int r = time_op(tl, &graph->ops[step->id], step->kind == SPW_STEP_REPLAY, ret_start_us);
        if (r == 0 && tl->is_host_limited && step->kind == SPW_STEP_OP)
            give_back_host_copies(tl, step->id, *ret_start_us);
        return r;
    }
    case SPW_STEP_D2H:
        return time_d2h(tl, step->id, ret_start_us);
    case SPW_STEP_H2D:
        return time_h2d(tl, step->id, ret_start_us);
    case SPW_STEP_DROP:
        return time_drop(tl, step->id, ret_start_us);
    default:
        return -EINVAL;
    }
}

static int place_at_start(struct spw_timer *tl, const uint8_t *start)
{
    for (uint32_t i = 0; i < tl->graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &tl->graph->tensors[i];
        tl->tensors[i] = (struct tensor_time){.there = t->persistent ? start[i] != SPW_START_HOST : t->initial,
                                              .copied = t->persistent && start[i] != SPW_START_DEVICE};
        if (tl->tensors[i].there)
            tl->device.used_bytes += t->bytes;
        if (tl->tensors[i].copied && take_host(tl, i) < 0)
            return -ENOSPC;
    }
    return tl->device.used_bytes > tl->device.bytes ? -ENOSPC : 0;
}

/* Returns true if the work that the compute lane has left exceeds the limit, whatever else it waits for. Allows for
 * rounding errors of the sums. */
static bool is_late(const struct spw_timer *tl, double done_us)
{
    return (tl->lane_us[COMPUTE] + (tl->work_us - done_us)) * (1 - 1e-9) > tl->limit_us;
}

/* Times all steps once. `starts` may be NULL. */
static int run(struct spw_timer *tl, const struct spw_schedule *schedule, double *starts, struct spw_timing *timing,
               size_t *ret_stuck)
{
    spw_stock_begin(&tl->device);
    spw_stock_begin(&tl->host);
    tl->host_us = 0;
    tl->compute_steps = tl->copy_count[0] = tl->copy_count[1] = 0;
    memset(tl->lane_us, 0, sizeof tl->lane_us);
    *timing = (struct spw_timing){0};
    *ret_stuck = 0;
    double done_us = 0;
    int r = place_at_start(tl, schedule->start);
    for (size_t i = 0; i < schedule->count && r == 0; i++) {
        const struct spw_step *step = &schedule->steps[i];
        double start_us = 0;
        *ret_stuck = i;
        r = time_step(tl, step, &start_us);
        if (r < 0)
            break;
        if (starts)
            starts[i] = start_us;
        if (step->kind <= SPW_STEP_REPLAY) {
            done_us += tl->graph->ops[step->id].us;
            r = is_late(tl, done_us) ? -ETIME : 0;
        }
        if (step->kind == SPW_STEP_OP)
            timing->ops_us = tl->lane_us[COMPUTE];
        else if (step->kind == SPW_STEP_REPLAY)
            timing->replayed_us += tl->graph->ops[step->id].us, timing->replays++;
        else if (step->kind == SPW_STEP_D2H)
            timing->d2h_bytes += tl->graph->tensors[step->id].bytes;
        else if (step->kind == SPW_STEP_H2D)
            timing->h2d_bytes += tl->graph->tensors[step->id].bytes;
    }
    timing->time_us = later(timing->ops_us, later(tl->lane_us[OUT], tl->lane_us[IN]));
    timing->stall_us = timing->time_us - tl->graph->compute_us - timing->replayed_us;
    return r;
}

/* ---- creating and destroying a timer ---- */

static void finish_stock(struct spw_stock *stock)
{
    free(stock->heap);
    for (int i = 0; i < SPW_FREED_ROWS; i++)
        free(stock->rows[i].list);
}

void spw_timer_destroy(struct spw_timer *tl)
{
    if (!tl)
        return;
    free(tl->tensors);
    finish_stock(&tl->device);
    finish_stock(&tl->host);
    free(tl->started_us);
    for (int i = 0; i < 2; i++) {
        free(tl->copies[i]);
        free(tl->other[i]);
    }
    free(tl);
}

int spw_timer_create(const struct spw_graph *graph, const struct spw_machine *machine, struct spw_timer **ret_timer)
{
    struct spw_timer *tl = calloc(1, sizeof *tl);
    if (!tl)
        return -ENOMEM;
    tl->graph = graph;
    tl->machine = machine ? *machine : (struct spw_machine){.duplex = 1};
    tl->is_host_limited = tl->machine.host_bytes != 0 && tl->machine.host_bytes != UINT64_MAX;
    tl->host.bytes = tl->machine.host_bytes;
    tl->tensors = calloc((size_t)graph->tensor_count + 1, sizeof *tl->tensors);
    if (tl->machine.run_ahead)
        tl->started_us = malloc(tl->machine.run_ahead * sizeof *tl->started_us);
    if (!tl->tensors || (tl->machine.run_ahead && !tl->started_us)) {
        spw_timer_destroy(tl);
        return -ENOMEM;
    }
    *ret_timer = tl;
    return 0;
}

static int make_stock_room(struct spw_stock *stock, size_t had, size_t room)
{
    int r = SPW_RESIZE(stock->heap, had, room);
    for (int i = 0; i < SPW_FREED_ROWS && r == 0; i++)
        r = SPW_RESIZE(stock->rows[i].list, had, room);
    return r;
}

/* Each step drops or copies at most once, and each host copy that is made, or exists at the start, gives its memory back
 * at most once. */
static int make_room(struct spw_timer *tl, size_t steps)
{
    if (steps <= tl->room)
        return 0;
    const size_t room = steps + steps / 4 + 64;
    if (make_stock_room(&tl->device, tl->room, room) < 0)
        return -ENOMEM;
    if (tl->is_host_limited && make_stock_room(&tl->host, tl->room, room + tl->graph->tensor_count) < 0)
        return -ENOMEM;
    for (int i = 0; i < 2 && tl->machine.duplex < 1; i++)
        if (SPW_RESIZE(tl->copies[i], tl->room, room) < 0 || SPW_RESIZE(tl->other[i], tl->room, room) < 0)
            return -ENOMEM;
    tl->room = room;
    return 0;
}

/* Returns true if all copies end as in the pass before, or if all copies go in one direction and need no second pass. */
static bool is_settled(const struct spw_timer *tl, double time_us)
{
    if (tl->copy_count[0] == 0 || tl->copy_count[1] == 0)
        return true;
    for (int i = 0; i < 2; i++) {
        if (tl->copy_count[i] != tl->other_count[i])
            return false;
        for (size_t n = 0; n < tl->copy_count[i]; n++)
            if (fabs(tl->copies[i][n].to_us - tl->other[i][n].to_us) > 1e-6 * time_us)
                return false;
    }
    return true;
}

/* Where copies slow each other down, each pass uses the other direction's copies from the pass before, until two passes
 * agree. In the first pass nothing is slowed down, so no later pass takes less time. */
static int run_passes(struct spw_timer *tl, const struct spw_schedule *schedule, uint64_t budget_bytes, double limit_us,
                      double *ret_start_us, struct spw_timing *ret_timing, size_t *ret_stuck)
{
    enum { MOST_PASSES = 64 };
    size_t stuck;
    if (make_room(tl, schedule->count) < 0)
        return -ENOMEM;
    tl->device.bytes = budget_bytes;
    tl->other_count[0] = tl->other_count[1] = 0;
    tl->limit_us = limit_us;
    int r = run(tl, schedule, ret_start_us, ret_timing, ret_stuck ? ret_stuck : &stuck);
    r = r == 0 && ret_timing->time_us * (1 - 1e-9) > limit_us ? -ETIME : r;
    tl->limit_us = INFINITY; /* a later pass may take longer than the last one will */
    for (int pass = 1; pass < MOST_PASSES && r == 0 && tl->machine.duplex < 1 && !is_settled(tl, ret_timing->time_us);
         pass++) {
        for (int i = 0; i < 2; i++) {
            struct interval *spare = tl->other[i];
            tl->other[i] = tl->copies[i];
            tl->other_count[i] = tl->copy_count[i];
            tl->copies[i] = spare;
        }
        r = run(tl, schedule, ret_start_us, ret_timing, ret_stuck ? ret_stuck : &stuck);
    }
    return r;
}

int spw_timer_run(struct spw_timer *timer, const struct spw_schedule *schedule, uint64_t budget_bytes, double *ret_start_us,
                  struct spw_timing *ret_timing, size_t *ret_stuck)
{
    return run_passes(timer, schedule, budget_bytes, INFINITY, ret_start_us, ret_timing, ret_stuck);
}

int spw_timer_run_within(struct spw_timer *timer, const struct spw_schedule *schedule, uint64_t budget_bytes, double work_us,
                         double limit_us, struct spw_timing *ret_timing)
{
    timer->work_us = work_us;
    return run_passes(timer, schedule, budget_bytes, limit_us, NULL, ret_timing, NULL);
}

static double end_of(const struct spw_timer *tl, const struct spw_step *step, double start_us)
{
    if (step->kind == SPW_STEP_DROP)
        return start_us;
    if (step->kind == SPW_STEP_OP || step->kind == SPW_STEP_REPLAY)
        return start_us + tl->graph->ops[step->id].us;
    return start_us + copy_us(tl, step->kind == SPW_STEP_D2H ? OUT : IN, step->id, start_us);
}

int spw_timeline(const struct spw_graph *graph, const struct spw_schedule *schedule, const struct spw_machine *machine,
                 uint64_t budget_bytes, double *ret_start_us, struct spw_timing *ret_timing, size_t *ret_stuck)
{
    struct spw_timer *timer;
    struct spw_timing timing;
    int r = spw_timer_create(graph, machine, &timer);
    if (r < 0)
        return r;
    double *times = malloc((2 * schedule->count + 1) * sizeof *times);
    double *starts = ret_start_us ? ret_start_us : times, *ends = times + schedule->count;
    r = times ? spw_timer_run(timer, schedule, budget_bytes, starts, &timing, ret_stuck) : -ENOMEM;
    for (size_t i = 0; i < schedule->count && r == 0; i++)
        ends[i] = end_of(timer, &schedule->steps[i], starts[i]);
    if (r == 0)
        r = spw_peaks(graph, schedule, starts, ends, &timing.peak_bytes, &timing.host_peak_bytes);
    if (r == 0)
        *ret_timing = timing;
    free(times);
    spw_timer_destroy(timer);
    return r;
}
