/* test-stages.c - schedules of stages become steps that are valid, replay what has been forgotten, and nothing else. */
#include <errno.h>
#include <string.h>

#include "graphs.h"
#include "stages/stages.h"

static const struct chain_kind eight_layers = {
    .layers = 8, .activation_bytes = 10, .saved_bytes = 30, .parameter_bytes = 4, .forward_us = 5, .backward_us = 9};

/* The actions that the planner below carries out. */
static struct {
    struct spw_stage_action list[4096];
    size_t count, failed;
    int result;
} actions;

static void act(enum spw_stage_act act, uint32_t stage)
{
    assert_true(actions.count < 4096);
    actions.list[actions.count++] = (struct spw_stage_action){act, stage, 0};
}

static int carry_out(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    struct spw_chain *chain;
    struct spw_builder builder;
    assert_int_equal(spw_chain_create(request->graph, SPW_STAGES_DEFAULT, &chain), 0);
    assert_int_equal(spw_builder_init(&builder, request->graph, schedule, request->device_bytes, request->host_bytes), 0);
    actions.result = spw_stages_run(chain, &builder, actions.list, actions.count, &actions.failed);
    spw_builder_finish(&builder);
    spw_chain_destroy(chain);
    return actions.result == -EINVAL ? -ENOSPC : actions.result;
}

static int run(struct spw_graph *graph, uint64_t bytes, struct spw_timing *ret_timing)
{
    const struct spw_plan_request request = {
        .graph = graph, .device_bytes = bytes, .host_bytes = UINT64_MAX, .may_copy = true, .may_replay = true};
    return graphs_plan(carry_out, &request, ret_timing);
}

/* Every `period`-th stage's input is kept; the others are walked over and run again. */
static void act_with_checkpoints(uint32_t stages, uint32_t period)
{
    actions.count = 0;
    for (uint32_t i = 0; i < stages; i++)
        act(i % period ? SPW_ACT_WALK : SPW_ACT_KEEP, i);
    for (uint32_t first = (stages - 1) / period * period + period; first > 0;) {
        const uint32_t end = first < stages ? first : stages;
        first -= period;
        for (uint32_t i = first; i < end; i++)
            act(SPW_ACT_SAVE, i);
        for (uint32_t i = end; i-- > first;)
            act(SPW_ACT_BACK, i);
    }
}

static void saving_everything_replays_nothing(void **state)
{
    struct spw_graph *graph = graphs_chain(&eight_layers);
    struct spw_timing timing;
    actions.count = 0;
    for (uint32_t i = 0; i < 8; i++)
        act(SPW_ACT_SAVE, i);
    for (uint32_t i = 8; i-- > 0;)
        act(SPW_ACT_BACK, i);
    assert_int_equal(run(graph, UINT64_MAX / 4, &timing), 0);
    assert_int_equal(timing.replays, 0);
    assert_int_equal(timing.peak_bytes, graph->peak_bytes);
    assert_true(timing.time_us == graph->compute_us);
    spw_graph_destroy(graph);
}

static void checkpoints_replay_each_stage_once_and_take_less(void **state)
{
    struct spw_graph *graph = graphs_chain(&eight_layers);
    struct spw_timing timing;
    for (uint32_t period = 1; period <= 8; period++) {
        act_with_checkpoints(8, period);
        assert_int_equal(run(graph, UINT64_MAX / 4, &timing), 0);
        assert_int_equal(timing.replays, 8);
        assert_true(timing.replayed_us == 8 * 5);
        assert_true(timing.peak_bytes < graph->peak_bytes || period == 8);
        assert_int_equal(run(graph, timing.peak_bytes - 1, NULL), -ENOSPC);
        assert_int_equal(actions.result, -ENOSPC);
    }
    spw_graph_destroy(graph);
}

/* Of a stage of several operations only those are replayed whose outputs are needed: not the last, whose output is there. */
static void only_what_is_missing_is_replayed(void **state)
{
    struct spw_graph *graph = graphs_new();
    uint32_t a[4][3], d[4];
    for (uint32_t i = 0; i < 10; i++)
        a[i / 3][i % 3] = graphs_tensor(graph, 100);
    for (uint32_t i = 0; i < 4; i++)
        d[i] = graphs_tensor(graph, 100);
    graphs_op(graph, 1, NOTHING, LIST(a[0][0]));
    for (uint32_t i = 0; i < 3; i++) { /* forward: a[i][0] -> a[i][1] -> a[i][2] in place -> a[i + 1][0] */
        graphs_op(graph, 10, LIST(a[i][0]), LIST(a[i][1]));
        graphs_op(graph, 20, LIST(a[i][1]), LIST(a[i][2]));
        graphs_op(graph, 30, LIST(a[i][2]), LIST(a[i][2]));
        graphs_op(graph, 40, LIST(a[i][2]), LIST(a[i + 1][0]));
    }
    graphs_op(graph, 1, LIST(a[3][0]), LIST(d[3]));
    for (uint32_t i = 3; i-- > 0;)
        graphs_op(graph, 1, LIST(d[i + 1], a[i][0], a[i][2]), LIST(d[i]));
    graphs_finish(graph);
    struct spw_chain *chain;
    assert_int_equal(spw_chain_create(graph, SPW_STAGES_DEFAULT, &chain), 0);
    const uint32_t count = chain->count;
    spw_chain_destroy(chain);
    assert_true(count >= 3);
    struct spw_timing timing;
    act_with_checkpoints(count, 1);
    assert_int_equal(run(graph, UINT64_MAX / 4, &timing), 0);
    /* a[i][2] is made again by the first three of its layer's operations; what ends each layer is the next one's input */
    assert_true(timing.replayed_us <= 3 * (10 + 20 + 30));
    assert_true(timing.replayed_us > 0);
    spw_graph_destroy(graph);
}

/* The input is read by the first layer's forward alone; it stays until that layer cannot be run again any more. */
static void what_came_from_outside_stays_for_replays(void **state)
{
    struct spw_graph *graph = graphs_new();
    uint32_t a[6], saved[5];
    for (uint32_t i = 0; i < 6; i++)
        a[i] = graphs_tensor(graph, 100);
    graphs_op(graph, 1, NOTHING, LIST(a[0]));
    graph->ops[0].replayable = false;
    for (uint32_t i = 0; i < 5; i++) {
        saved[i] = graphs_tensor(graph, 100);
        graphs_op(graph, 10, LIST(a[i]), LIST(a[i + 1], saved[i]));
    }
    uint32_t gradient = graphs_tensor(graph, 100);
    graphs_op(graph, 1, LIST(a[5]), LIST(gradient));
    for (uint32_t i = 5; i-- > 0;)
        graphs_op(graph, 1, LIST(gradient, saved[i]), LIST(gradient));
    graphs_finish(graph);
    struct spw_chain *chain;
    assert_int_equal(spw_chain_create(graph, SPW_STAGES_DEFAULT, &chain), 0);
    act_with_checkpoints(chain->count, chain->count);
    assert_true(chain->resident_bytes == 100);
    spw_chain_destroy(chain);
    struct spw_timing timing;
    assert_int_equal(run(graph, UINT64_MAX / 4, &timing), 0);
    assert_true(timing.replayed_us == 5 * 10);
    spw_graph_destroy(graph);
}

/* Two layers read it: with the backward of the later one the earlier one is still to be run again. */
static void what_came_from_outside_stays_for_the_first_that_reads_it(void **state)
{
    struct spw_graph *graph = graphs_new();
    const uint32_t outside = graphs_tensor(graph, 100);
    uint32_t a[7], saved[6];
    for (uint32_t i = 0; i < 7; i++)
        a[i] = graphs_tensor(graph, 100);
    graphs_op(graph, 1, NOTHING, LIST(outside, a[0]));
    graph->ops[0].replayable = false;
    for (uint32_t i = 0; i < 6; i++) {
        saved[i] = graphs_tensor(graph, 100);
        if (i == 1 || i == 4)
            graphs_op(graph, 10, LIST(a[i], outside), LIST(a[i + 1], saved[i]));
        else
            graphs_op(graph, 10, LIST(a[i]), LIST(a[i + 1], saved[i]));
    }
    uint32_t gradient = graphs_tensor(graph, 100);
    graphs_op(graph, 1, LIST(a[6]), LIST(gradient));
    for (uint32_t i = 6; i-- > 0;)
        graphs_op(graph, 1, LIST(gradient, saved[i]), LIST(gradient));
    graphs_finish(graph);
    struct spw_chain *chain;
    assert_int_equal(spw_chain_create(graph, SPW_STAGES_DEFAULT, &chain), 0);
    const uint32_t count = chain->count;
    assert_true(chain->held[outside]);
    spw_chain_destroy(chain);
    assert_true(count >= 6);
    struct spw_timing timing;
    for (uint32_t period = 1; period <= count; period++) {
        act_with_checkpoints(count, period);
        assert_int_equal(run(graph, UINT64_MAX / 4, &timing), 0);
    }
    spw_graph_destroy(graph);
}

/* Layers of a dear operation, a cheap one, and a dear one again; the backward reads what each of them made. */
static struct spw_graph *make_dear_and_cheap(uint32_t layers)
{
    struct spw_graph *graph = graphs_new();
    uint32_t a[16], dear[16], cheap[16];
    a[0] = graphs_tensor(graph, 100);
    graphs_op(graph, 100, NOTHING, LIST(a[0]));
    for (uint32_t i = 0; i < layers; i++) {
        dear[i] = graphs_tensor(graph, 100);
        cheap[i] = graphs_tensor(graph, 100);
        a[i + 1] = graphs_tensor(graph, 10);
        graphs_op(graph, 100, LIST(a[i]), LIST(dear[i]));
        graphs_op(graph, 1, LIST(dear[i]), LIST(cheap[i]));
        graphs_op(graph, 100, LIST(cheap[i]), LIST(a[i + 1]));
    }
    uint32_t gradient = graphs_tensor(graph, 10);
    graphs_op(graph, 1, LIST(a[layers]), LIST(gradient));
    for (uint32_t i = layers; i-- > 0;)
        graphs_op(graph, 100, LIST(gradient, a[i], dear[i], cheap[i]), LIST(gradient));
    graphs_finish(graph);
    return graph;
}

static void what_is_cheap_is_left_out_and_made_again_before_the_backward(void **state)
{
    struct spw_graph *graph = make_dear_and_cheap(10);
    struct spw_chain *chain;
    struct spw_timing timing;
    double again_us = 0;
    assert_int_equal(spw_chain_create(graph, SPW_STAGES_DEFAULT, &chain), 0);
    actions.count = 0;
    for (uint32_t i = 0; i < chain->count; i++) {
        act(SPW_ACT_SAVE, i);
        const struct spw_part *part = &chain->parts[chain->stages[i].first_part];
        if (chain->stages[i].part_count == 0 || part->again_us > 50)
            continue; /* nothing cheap in it */
        actions.list[i].part = 1;
        again_us += part->again_us;
    }
    for (uint32_t i = chain->count; i-- > 0;)
        act(SPW_ACT_BACK, i);
    spw_chain_destroy(chain);
    assert_true(again_us >= 9 && again_us <= 10);
    assert_int_equal(run(graph, UINT64_MAX / 4, &timing), 0);
    if (timing.replayed_us != again_us)
        fail_msg("%g us replayed, %g expected", timing.replayed_us, again_us);
    assert_true(timing.peak_bytes <= graph->peak_bytes - 8 * 100);
    actions.list[0].part = SPW_PARTS_MOST + 1;
    assert_int_equal(run(graph, UINT64_MAX / 4, NULL), -ENOSPC);
    assert_int_equal(actions.result, -EINVAL);
    spw_graph_destroy(graph);
}

static void inputs_and_records_go_out_and_come_back(void **state)
{
    struct spw_graph *graph = graphs_chain(&eight_layers);
    struct spw_timing timing;
    actions.count = 0;
    for (uint32_t i = 0; i < 8; i++) {
        act(SPW_ACT_SAVE, i);
        act(SPW_ACT_OUT, i);
        act(SPW_ACT_FORGET, i);
        act(SPW_ACT_OUT_RECORD, i);
        act(SPW_ACT_FORGET_RECORD, i);
    }
    for (uint32_t i = 8; i-- > 0;) {
        act(SPW_ACT_IN, i);
        act(SPW_ACT_IN_RECORD, i);
        act(SPW_ACT_BACK, i);
    }
    assert_int_equal(run(graph, UINT64_MAX / 4, &timing), 0);
    assert_int_equal(timing.replays, 0);
    /* eight records and the seven inputs that are not held; the last output belongs to the last record */
    assert_int_equal(timing.d2h_bytes, 8 * 30 + 7 * 10 + 10);
    assert_int_equal(timing.h2d_bytes, timing.d2h_bytes);
    assert_true(graph->peak_bytes > 370);
    assert_int_equal(run(graph, 190, NULL), 0); /* parameters and their gradients, the input, and one layer at work */
    spw_graph_destroy(graph);
}

static void actions_out_of_order_are_refused_where_they_stand(void **state)
{
    static const struct {
        struct spw_stage_action list[4];
        size_t count, failed;
    } wrong[] = {{{{SPW_ACT_SAVE, 1, 0}}, 1, 0},                       /* no input yet */
                 {{{SPW_ACT_SAVE, 0, 0}, {SPW_ACT_SAVE, 2, 0}}, 2, 1}, /* one left out */
                 {{{SPW_ACT_SAVE, 0, 0}, {SPW_ACT_BACK, 0, 0}}, 2, 1}, /* backward too early */
                 {{{SPW_ACT_WALK, 0, 0}, {SPW_ACT_WALK, 0, 0}}, 2, 1}, /* its input has been forgotten */
                 {{{SPW_ACT_SAVE, 0, 0}, {SPW_ACT_FORGET, 1, 0}, {SPW_ACT_IN, 1, 0}}, 3, 2},  /* never went out */
                 {{{SPW_ACT_SAVE, 0, 0}, {SPW_ACT_SAVE, 8, 0}}, 2, 1},                        /* no such stage */
                 {{{SPW_ACT_SAVE, 0, 0}, {SPW_ACT_SAVE, 1, 0}, {SPW_ACT_SAVE, 2, 0}}, 3, 3}}; /* not to the end */
    struct spw_graph *graph = graphs_chain(&eight_layers);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memcpy(actions.list, wrong[i].list, sizeof wrong[i].list);
        actions.count = wrong[i].count;
        assert_int_equal(run(graph, UINT64_MAX / 4, NULL), -ENOSPC);
        assert_int_equal(actions.result, -EINVAL);
        assert_int_equal(actions.failed, wrong[i].failed);
    }
    spw_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saving_everything_replays_nothing),
        cmocka_unit_test(checkpoints_replay_each_stage_once_and_take_less),
        cmocka_unit_test(only_what_is_missing_is_replayed),
        cmocka_unit_test(what_came_from_outside_stays_for_replays),
        cmocka_unit_test(what_came_from_outside_stays_for_the_first_that_reads_it),
        cmocka_unit_test(what_is_cheap_is_left_out_and_made_again_before_the_backward),
        cmocka_unit_test(inputs_and_records_go_out_and_come_back),
        cmocka_unit_test(actions_out_of_order_are_refused_where_they_stand),
    };
    return cmocka_run_group_tests_name("stages", tests, NULL, NULL);
}
