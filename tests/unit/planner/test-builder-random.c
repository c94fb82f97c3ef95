/* test-builder-random.c - random steps on random small graphs: the builder lets pass what the checker accepts, and no more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/builder.h"
#include "plan/random.h"
#include "plan/timeline.h"
#include "tiny.h"

enum { TENSORS = 6, OPS = 7, STEPS = 60, MOST = STEPS + 4 * TENSORS };

/* ---- random graphs ---- */

static uint32_t below(uint64_t *seed, uint32_t limit)
{
    return (uint32_t)spw_random_below(seed, limit);
}

/* Durations and sizes from 0 to 4, so that what is equal, and what is nothing, is met often. */
static struct spw_graph *random_graph(uint64_t *seed)
{
    struct tiny_tensor tensors[TENSORS] = {0};
    struct tiny_op ops[OPS] = {0};
    const uint32_t tensor_count = 2 + below(seed, TENSORS - 1), op_count = 2 + below(seed, OPS - 1);
    uint32_t readable = 0;
    for (uint32_t i = 0; i < tensor_count; i++) {
        const uint32_t sort = below(seed, 4);
        tensors[i] = (struct tiny_tensor){.persistent = sort == 0, .initial = sort == 1};
        tensors[i].fixed = below(seed, 8) == 0;
        tensors[i].bytes = below(seed, 5);
        if (below(seed, 2) == 0) /* not a side buffer */
            tensors[i].bytes += SPW_SIDE_BUFFER_BYTES + 1;
        if (sort < 2)
            readable |= T(i);
    }
    for (uint32_t i = 0; i < op_count; i++) {
        const uint32_t all = T(tensor_count) - 1;
        ops[i] = (struct tiny_op){.us = below(seed, 5), .fixed = below(seed, 5) == 0};
        ops[i].reads = below(seed, all + 1) & below(seed, all + 1) & readable;
        ops[i].writes = below(seed, all + 1) & below(seed, all + 1);
        readable |= ops[i].writes;
    }
    struct spw_graph *graph = tiny_graph(tensors, tensor_count, ops, op_count);
    for (uint32_t i = 0; i < tensor_count; i++) { /* copies that take no longer than operations do */
        graph->tensors[i].d2h_us = below(seed, 5);
        graph->tensors[i].h2d_us = below(seed, 5);
        if (below(seed, 4) == 0) /* some remain allocated beyond their last use */
            graph->tensors[i].free_after = op_count - 1;
    }
    return graph;
}

static void random_starts(const struct spw_graph *graph, uint8_t *start, uint64_t *seed)
{
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        start[i] = graph->tensors[i].persistent && graph->tensors[i].evictable ? below(seed, SPW_START_CLEAN + 1) : 0;
}

/* ---- random steps ---- */

static struct spw_step random_step(const struct spw_builder *builder, uint64_t *seed)
{
    static const uint8_t kinds[] = {SPW_STEP_OP,  SPW_STEP_OP,  SPW_STEP_REPLAY, SPW_STEP_D2H,
                                    SPW_STEP_H2D, SPW_STEP_H2D, SPW_STEP_DROP};
    const uint32_t kind = kinds[below(seed, sizeof kinds)];
    if (kind == SPW_STEP_OP)
        return (struct spw_step){kind, builder->next_op};
    return (struct spw_step){kind,
                             below(seed, kind == SPW_STEP_REPLAY ? builder->graph->op_count : builder->graph->tensor_count)};
}

static int build(struct spw_builder *builder, struct spw_step step)
{
    switch (step.kind) {
    case SPW_STEP_OP:
        return spw_build_op(builder);
    case SPW_STEP_REPLAY:
        return spw_build_replay(builder, step.id);
    case SPW_STEP_D2H:
        return spw_build_d2h(builder, step.id);
    case SPW_STEP_H2D:
        return spw_build_h2d(builder, step.id);
    default:
        return spw_build_drop(builder, step.id);
    }
}

/* What is needed and could not come back is dropped seldom: else few iterations would come to an end. */
static bool is_rash(const struct spw_builder *builder, struct spw_step step, uint64_t *seed)
{
    const struct spw_builder_place *place = &builder->places[step.id];
    return step.kind == SPW_STEP_DROP && place->host != place->device && !spw_build_is_dead(builder, step.id) &&
           below(seed, 4) > 0;
}

/* The same step again, and nothing has changed where it is refused. */
static int build_or_leave(struct spw_builder *builder, struct spw_step step)
{
    struct spw_builder before;
    struct spw_builder_place places[TENSORS];
    memcpy(&before, builder, sizeof before);
    const size_t count = builder->schedule->count;
    memcpy(places, builder->places, builder->graph->tensor_count * sizeof *places);
    const int r = build(builder, step);
    if (r == 0) {
        assert_int_equal(builder->schedule->count, count + 1);
        assert_int_equal(builder->schedule->steps[count].kind, step.kind);
        assert_int_equal(builder->schedule->steps[count].id, step.id);
    } else {
        assert_memory_equal(builder, &before, sizeof before);
        assert_memory_equal(builder->places, places, builder->graph->tensor_count * sizeof *places);
        assert_int_equal(builder->schedule->count, count);
    }
    return r;
}

/* ---- the checker ---- */

struct events {
    struct spw_timed_step list[MOST];
    size_t count;
};

/* Whether the checker finds nothing wrong but that it isn't all. */
static bool is_right_so_far(const struct spw_graph *graph, const uint8_t *start, const struct events *events,
                            const struct spw_check_rules *rules)
{
    const struct spw_check check = tiny_check(graph, start, events->list, events->count, rules);
    return check.fault == SPW_FAULT_NONE ||
           (check.event == events->count && (check.fault == SPW_FAULT_END || check.fault == SPW_FAULT_ORDER));
}

static bool is_right(const struct spw_graph *graph, const struct spw_schedule *schedule, const struct spw_check_rules *rules,
                     bool is_whole)
{
    const struct spw_machine machine = {.duplex = 1, .host_bytes = rules->host_bytes};
    double starts[MOST];
    struct events events = {.count = schedule->count};
    struct spw_timing timing;
    assert_in_range(schedule->count, 0, MOST);
    assert_int_equal(spw_timeline(graph, schedule, &machine, rules->device_bytes, starts, &timing, NULL), 0);
    for (size_t i = 0; i < schedule->count; i++)
        events.list[i] = (struct spw_timed_step){schedule->steps[i].kind, schedule->steps[i].id, starts[i]};
    const struct spw_check check = tiny_check(graph, schedule->start, events.list, events.count, rules);
    if (!is_whole)
        return is_right_so_far(graph, schedule->start, &events, rules);
    return check.fault == SPW_FAULT_NONE && check.time_us == timing.time_us && check.peak_bytes == timing.peak_bytes &&
           check.host_peak_bytes == timing.host_peak_bytes && check.d2h_bytes == timing.d2h_bytes &&
           check.stall_us == timing.stall_us;
}

struct world {
    struct spw_graph *graph;
    struct spw_schedule schedule;
    struct spw_builder builder;
    struct spw_check_rules rules;
    uint64_t seed;
};

/* False: what starts on the device does not fit. */
static bool begin(struct world *world, uint64_t number, bool may_lack_host)
{
    world->seed = number * 0x2545f4914f6cdd1d + 1;
    world->graph = random_graph(&world->seed);
    world->rules = TINY_FREE;
    world->rules.device_bytes = world->graph->peak_bytes * (2 + below(&world->seed, 4)) / 4;
    if (may_lack_host && below(&world->seed, 2) == 0)
        world->rules.host_bytes = world->graph->peak_bytes * (1 + below(&world->seed, 4)) / 6;
    assert_int_equal(spw_schedule_init(&world->schedule, world->graph), 0);
    random_starts(world->graph, world->schedule.start, &world->seed);
    if (spw_builder_init(&world->builder, world->graph, &world->schedule, world->rules.device_bytes,
                         world->rules.host_bytes) == 0)
        return true;
    spw_schedule_finish(&world->schedule);
    spw_graph_destroy(world->graph);
    return false;
}

static void end(struct world *world)
{
    spw_builder_finish(&world->builder);
    spw_schedule_finish(&world->schedule);
    spw_graph_destroy(world->graph);
}

static void whatever_is_built_is_valid_once_it_is_timed(void **state)
{
    uint32_t whole = 0, short_of_host = 0;
    for (uint64_t number = 0; number < 20000; number++) {
        struct world world;
        if (!begin(&world, number, true))
            continue;
        for (uint32_t i = 0; i < STEPS && world.builder.next_op < world.graph->op_count; i++) {
            const struct spw_step step = random_step(&world.builder, &world.seed);
            if (!is_rash(&world.builder, step, &world.seed))
                (void)build_or_leave(&world.builder, step);
        }
        if (!is_right(world.graph, &world.schedule, &world.rules, false))
            fail_msg("case %llu is wrong", (unsigned long long)number);
        if (spw_build_end(&world.builder) == 0) {
            if (!is_right(world.graph, &world.schedule, &world.rules, true))
                fail_msg("case %llu is wrong as a whole", (unsigned long long)number);
            whole++;
            short_of_host += world.rules.host_bytes != UINT64_MAX;
        }
        end(&world);
    }
    assert_true(whole > 4000 && short_of_host > 1000);
}

/* One after another, each as the one before has ended: the builder refuses just what the checker does, but for copies out of
 * what the host has already. */
static void one_after_another_both_accept_the_same_steps(void **state)
{
    uint32_t accepted[SPW_STEP_KINDS] = {0}, refused[SPW_STEP_KINDS] = {0};
    for (uint64_t number = 0; number < 4000; number++) {
        struct world world;
        struct events events = {.count = 0};
        double now = 0;
        if (!begin(&world, number, false))
            continue;
        for (; events.count < world.schedule.count; events.count++) /* inputs that nobody uses */
            events.list[events.count] = (struct spw_timed_step){SPW_STEP_DROP, world.schedule.steps[events.count].id, 0};
        for (uint32_t i = 0; i < STEPS; i++) {
            const struct spw_step step = random_step(&world.builder, &world.seed);
            if (is_rash(&world.builder, step, &world.seed))
                continue;
            const struct spw_builder_place was =
                step.kind >= SPW_STEP_D2H ? world.builder.places[step.id] : (struct spw_builder_place){0};
            const bool is_idle = step.kind == SPW_STEP_D2H && was.device != SPW_ABSENT && was.device == was.host;
            events.list[events.count++] = (struct spw_timed_step){step.kind, step.id, now};
            const bool is_taken = build_or_leave(&world.builder, step) == 0;
            if (!is_idle && is_taken != is_right_so_far(world.graph, world.schedule.start, &events, &world.rules))
                fail_msg("case %llu: %s %u is %s", (unsigned long long)number, spw_step_name(step.kind), step.id,
                         is_taken ? "built, and wrong" : "refused, and right");
            accepted[step.kind] += is_taken;
            refused[step.kind] += !is_taken;
            if (is_taken)
                now += step.kind == SPW_STEP_D2H      ? world.graph->tensors[step.id].d2h_us
                       : step.kind == SPW_STEP_H2D    ? world.graph->tensors[step.id].h2d_us
                       : step.kind <= SPW_STEP_REPLAY ? world.graph->ops[step.id].us
                                                      : 0;
            else
                events.count--;
        }
        end(&world);
    }
    for (int kind = 0; kind < SPW_STEP_KINDS; kind++)
        assert_true(accepted[kind] > 2000 && refused[kind] > 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_another_both_accept_the_same_steps),
        cmocka_unit_test(whatever_is_built_is_valid_once_it_is_timed),
    };
    return cmocka_run_group_tests_name("builder-random", tests, NULL, NULL);
}
