/* random-schedules.c - walks at random through what the builder lets pass, and damages what comes out. */
#include "random-schedules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/builder.h"
#include "plan/timeline.h"

enum { MOST_TENSORS = 9, MOST_OPS = 9, MOST_TRIES = 300 };

static uint64_t next_random(uint64_t *seed) /* splitmix64 */
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static uint32_t below(uint64_t *seed, uint32_t limit)
{
    return (uint32_t)(next_random(seed) % limit);
}

static bool one_in(uint64_t *seed, uint32_t times)
{
    return below(seed, times) == 0;
}

/* ---- a graph ---- */

struct sketch {
    struct spw_graph_tensor tensors[MOST_TENSORS];
    struct spw_graph_op ops[MOST_OPS];
    uint32_t reads[MOST_OPS][MOST_TENSORS], writes[MOST_OPS][MOST_TENSORS];
    uint32_t tensor_count, op_count, least_us;
    bool written[MOST_TENSORS], used[MOST_TENSORS];
};

static void sketch_tensors(struct sketch *sketch, bool plain, uint64_t *seed)
{
    sketch->tensor_count = 2 + below(seed, MOST_TENSORS - 1);
    for (uint32_t i = 0; i < sketch->tensor_count; i++) {
        struct spw_graph_tensor *t = &sketch->tensors[i];
        *t = (struct spw_graph_tensor){.id = i}; /* one draw in each statement: the order is the same with every compiler */
        t->d2h_us = sketch->least_us + below(seed, 4);
        t->h2d_us = sketch->least_us + below(seed, 4);
        t->bytes = one_in(seed, 3) ? below(seed, 9) : SPW_SIDE_BUFFER_BYTES * below(seed, 5);
        t->bytes += one_in(seed, 2);
        t->evictable = !one_in(seed, 8);
        t->persistent = !plain && one_in(seed, 4);
        t->initial = !t->persistent && one_in(seed, 4);
    }
}

static void sketch_use(struct sketch *sketch, uint32_t tensor, uint32_t op)
{
    struct spw_graph_tensor *t = &sketch->tensors[tensor];
    if (!sketch->used[tensor] && !t->initial)
        t->alloc_before = op;
    sketch->used[tensor] = true;
    t->free_after = op;
}

static void sketch_op(struct sketch *sketch, uint32_t index, bool plain, uint64_t *seed)
{
    struct spw_graph_op *op = &sketch->ops[index];
    *op = (struct spw_graph_op){.us = sketch->least_us + below(seed, 4)};
    op->replayable = !one_in(seed, 5);
    for (uint32_t i = 0; i < sketch->tensor_count; i++) {
        const struct spw_graph_tensor *t = &sketch->tensors[i];
        if ((t->persistent || t->initial || sketch->written[i]) && one_in(seed, 3)) {
            sketch->reads[index][op->read_count++] = i;
            sketch_use(sketch, i, index);
        }
    }
    for (uint32_t i = 0; i < sketch->tensor_count; i++) {
        if ((plain && (sketch->tensors[i].initial || sketch->written[i])) || !one_in(seed, sketch->written[i] ? 6 : 3))
            continue;
        sketch->writes[index][op->write_count++] = i;
        sketch->written[i] = true;
        sketch_use(sketch, i, index);
    }
}

static struct spw_graph *random_graph(bool plain, uint64_t *seed)
{
    struct sketch sketch = {0};
    struct spw_graph *graph;
    struct spw_graph_problem problem;
    sketch.least_us = one_in(seed, 2); /* or some take no time */
    sketch_tensors(&sketch, plain, seed);
    sketch.op_count = 1 + below(seed, MOST_OPS);
    for (uint32_t i = 0; i < sketch.op_count; i++)
        sketch_op(&sketch, i, plain, seed);
    if (spw_graph_create(1, 1, &graph) < 0)
        abort();
    for (uint32_t i = 0; i < sketch.tensor_count; i++) {
        if (!plain && one_in(seed, 4)) /* some stay allocated for longer */
            sketch.tensors[i].free_after = sketch.op_count - 1;
        if (spw_graph_add_tensor(graph, &sketch.tensors[i]) < 0)
            abort();
    }
    for (uint32_t i = 0; i < sketch.op_count; i++)
        if (spw_graph_add_op(graph, &sketch.ops[i], sketch.reads[i], sketch.ops[i].read_count, sketch.writes[i],
                             sketch.ops[i].write_count) < 0)
            abort();
    if (spw_graph_finish(graph, &problem) < 0)
        abort();
    return graph;
}

/* ---- a schedule ---- */

/* Any step at all, the next operation most often; whether the builder takes it. */
static bool try_step(struct spw_builder *builder, uint64_t *seed)
{
    const uint32_t tensor = below(seed, builder->graph->tensor_count);
    switch (below(seed, 8)) {
    case 0:
    case 1:
    case 2:
        return spw_build_op(builder) == 0;
    case 3:
        return spw_build_replay(builder, below(seed, builder->graph->op_count)) == 0;
    case 4:
        return spw_build_d2h(builder, tensor) == 0;
    case 5:
    case 6:
        return spw_build_h2d(builder, tensor) == 0;
    default: /* seldom what is needed and could not come back */
        if (builder->places[tensor].host != builder->places[tensor].device && !spw_build_is_dead(builder, tensor) &&
            !one_in(seed, 4))
            return false;
        return spw_build_drop(builder, tensor) == 0;
    }
}

static bool random_schedule(const struct random_case *one, struct spw_schedule *schedule, uint64_t *seed)
{
    struct spw_builder builder;
    memcpy(schedule->start, one->start, one->graph->tensor_count);
    if (spw_builder_init(&builder, one->graph, schedule, one->rules.device_bytes, one->rules.host_bytes) < 0)
        return false;
    for (uint32_t i = 0; i < MOST_TRIES && builder.next_op < one->graph->op_count; i++)
        (void)try_step(&builder, seed);
    const bool well = spw_build_end(&builder) == 0 && schedule->count <= RESIMULATE_EVENTS / 2;
    spw_builder_finish(&builder);
    return well;
}

static bool time_schedule(struct random_case *one, const struct spw_schedule *schedule)
{
    double starts[RESIMULATE_EVENTS];
    const struct spw_machine machine = {.duplex = 1, .host_bytes = one->rules.host_bytes};
    struct spw_timing timing;
    if (spw_timeline(one->graph, schedule, &machine, one->rules.device_bytes, starts, &timing, NULL) < 0)
        return false;
    one->count = schedule->count;
    one->time_us = timing.time_us;
    one->peak_bytes = timing.peak_bytes;
    one->host_peak_bytes = timing.host_peak_bytes;
    for (size_t i = 0; i < schedule->count; i++)
        one->events[i] = (struct spw_timed_step){schedule->steps[i].kind, schedule->steps[i].id, starts[i]};
    return true;
}

bool random_case_make(struct random_case *one, uint64_t *seed)
{
    const bool plain = one_in(seed, 4);
    struct spw_schedule schedule;
    *one = (struct random_case){.graph = random_graph(plain, seed)};
    one->rules = (struct spw_check_rules){.host_bytes = UINT64_MAX, .may_replay = true, .may_copy = true};
    one->rules.device_bytes = one->graph->peak_bytes * (2 + below(seed, 4)) / 4;
    if (one_in(seed, 2))
        one->rules.host_bytes = one->graph->peak_bytes * (1 + below(seed, 4)) / 6;
    one->rules.model_s = plain && one_in(seed, 2);
    for (uint32_t i = 0; i < one->graph->tensor_count; i++)
        if (one->graph->tensors[i].persistent && one->graph->tensors[i].evictable)
            one->start[i] = (uint8_t)below(seed, SPW_START_CLEAN + 1);
    if (spw_schedule_init(&schedule, one->graph) < 0)
        abort();
    const bool well = random_schedule(one, &schedule, seed) && time_schedule(one, &schedule);
    spw_schedule_finish(&schedule);
    if (!well)
        random_case_finish(one);
    return well;
}

void random_case_finish(struct random_case *one)
{
    spw_graph_destroy(one->graph);
    one->graph = NULL;
}

/* ---- damage ---- */

static void leave_out(struct random_case *one, size_t event)
{
    memmove(&one->events[event], &one->events[event + 1], (--one->count - event) * sizeof one->events[0]);
}

static void double_up(struct random_case *one, size_t event, uint64_t *seed)
{
    if (one->count == RESIMULATE_EVENTS)
        return;
    one->events[one->count] = one->events[event];
    one->events[one->count++].start_us += below(seed, 12) / 2.0;
}

static void exchange(struct random_case *one, size_t a, size_t b, bool times_only)
{
    const struct spw_timed_step was = one->events[a];
    one->events[a] = one->events[b];
    one->events[b] = was;
    if (times_only) {
        one->events[b].start_us = one->events[a].start_us;
        one->events[a].start_us = was.start_us;
    }
}

static void make_another(struct random_case *one, struct spw_timed_step *event, uint64_t *seed)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -1, 1e300};
    switch (below(seed, 12)) {
    case 0:
        event->start_us = odd[below(seed, sizeof odd / sizeof odd[0])];
        break;
    case 1:
        event->id = one_in(seed, 2) ? UINT32_MAX : one->graph->tensor_count;
        break;
    case 2:
    case 3:
    case 4:
        event->kind = below(seed, SPW_STEP_KINDS + one_in(seed, 8));
        break;
    default:
        event->id = below(seed, one->graph->tensor_count);
    }
}

static void change_rules(struct random_case *one, uint64_t *seed)
{
    const uint32_t tensor = below(seed, one->graph->tensor_count);
    switch (below(seed, 6)) {
    case 0:
        one->rules.may_copy = false;
        break;
    case 1:
        one->rules.may_replay = false;
        break;
    case 2:
        one->start[tensor] = (uint8_t)below(seed, SPW_START_CLEAN + 2);
        break;
    case 3:
        one->rules.host_bytes = one->graph->peak_bytes * below(seed, 4) / 4;
        break;
    default:
        one->rules.device_bytes -= one->rules.device_bytes / 8 * below(seed, 3);
    }
}

void random_case_damage(struct random_case *one, uint64_t *seed)
{
    if (one->count == 0)
        return;
    const size_t a = below(seed, (uint32_t)one->count), b = below(seed, (uint32_t)one->count);
    switch (below(seed, 10)) {
    case 0:
        leave_out(one, a);
        break;
    case 1:
        double_up(one, a, seed);
        break;
    case 2:
        exchange(one, a, b, false);
        break;
    case 3:
        exchange(one, a, b, true);
        break;
    case 4:
        make_another(one, &one->events[a], seed);
        break;
    case 5:
        change_rules(one, seed);
        break;
    case 6: /* all that comes later moves */
        for (size_t i = 0, from = a; i < one->count; i++)
            one->events[i].start_us += i >= from ? 0.5 : 0;
        break;
    default:
        one->events[a].start_us += (below(seed, 13) - 6.0) / 2;
    }
}
