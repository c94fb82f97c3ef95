/* test-linear.c - graphs are seen as the chains that they are: where they turn, where they are cut, what each stage keeps.
 */
#include <errno.h>

#include "graphs.h"
#include "stages/linear.h"

static struct spw_chain *chain_of(const struct spw_graph *graph, uint32_t most_stages)
{
    struct spw_chain *chain;
    assert_int_equal(spw_chain_create(graph, most_stages, &chain), 0);
    return chain;
}

/* What holds for every chain: the ranges lie side by side, forward up, backward down, and none is empty. */
static void assert_nested(const struct spw_chain *chain)
{
    uint32_t op = 0, back = chain->tail;
    for (uint32_t i = 0; i < chain->count; i++) {
        const struct spw_stage *stage = &chain->stages[i];
        assert_int_equal(stage->first_op, op);
        assert_true(stage->end_op > op);
        op = stage->end_op;
        assert_int_equal(stage->end_back, back);
        assert_true(stage->first_back < back);
        back = stage->first_back;
    }
    assert_int_equal(op, chain->turn);
    assert_int_equal(back, chain->turn);
}

static bool contains(const struct spw_chain *chain, uint32_t first, uint32_t count, uint32_t tensor)
{
    for (uint32_t i = 0; i < count; i++) {
        if (chain->listed[first + i] == tensor)
            return true;
    }
    return false;
}

static void a_chain_of_layers_has_a_stage_for_each_and_turns_at_the_loss(void **state)
{
    const struct chain_kind kind = {
        .layers = 6, .activation_bytes = 10, .saved_bytes = 30, .parameter_bytes = 4, .forward_us = 5, .backward_us = 9};
    struct spw_graph *graph = graphs_chain(&kind);
    struct spw_chain *chain = chain_of(graph, SPW_STAGES_DEFAULT);
    assert_nested(chain);
    assert_int_equal(chain->turn, 7); /* the copy of the input, and six layers */
    assert_int_equal(chain->tail, 14);
    assert_int_equal(chain->count, 6);
    assert_int_equal(chain->branches, 1);
    for (uint32_t i = 1; i < chain->count; i++) {
        const struct spw_stage *stage = &chain->stages[i];
        const bool last = i + 1 == chain->count;
        assert_int_equal(stage->end_op - stage->first_op, 1);
        assert_true(stage->forward_us == 5 && stage->backward_us == (last ? 10 : 9));
        assert_int_equal(stage->input_bytes, 10);
        assert_int_equal(stage->record_bytes, 40);
        assert_int_equal(stage->gradient_bytes, 10);
        assert_int_equal(stage->left_bytes, 4);
        assert_int_equal(stage->forward_extra_bytes, 0);
        assert_int_equal(stage->walk_extra_bytes, last ? 40 : 30);
    }
    spw_chain_destroy(chain);
    spw_graph_destroy(graph);
}

/* What cannot be made again stays on the device and is no stage's business; what persists does not move either. */
static void what_comes_from_outside_is_held(void **state)
{
    const struct chain_kind kind = {
        .layers = 4, .activation_bytes = 10, .saved_bytes = 0, .parameter_bytes = 3, .forward_us = 5, .backward_us = 9};
    struct spw_graph *graph = graphs_chain(&kind);
    struct spw_chain *chain = chain_of(graph, SPW_STAGES_DEFAULT);
    assert_true(chain->held[0]);
    assert_int_equal(chain->resident_bytes, 4 * 3 + 10);
    assert_int_equal(chain->stages[0].input_bytes, 0);
    for (uint32_t i = 0; i < chain->count; i++)
        assert_false(contains(chain, chain->stages[i].first_input, chain->stages[i].input_count, 0));
    spw_chain_destroy(chain);
    spw_graph_destroy(graph);
}

/* x is updated in place between two operations: what lies before the update could not be kept as a checkpoint. */
static void no_cut_is_made_where_a_later_operation_overwrites_what_crosses(void **state)
{
    struct spw_graph *graph = graphs_new();
    const uint32_t a = graphs_tensor(graph, 8), x = graphs_tensor(graph, 8), y = graphs_tensor(graph, 8),
                   dy = graphs_tensor(graph, 8), dx = graphs_tensor(graph, 8), da = graphs_tensor(graph, 8);
    graphs_op(graph, 1, NOTHING, LIST(a));
    graphs_op(graph, 1, LIST(a), LIST(x));
    graphs_op(graph, 1, LIST(x), LIST(x)); /* no cut before this one */
    graphs_op(graph, 1, LIST(x), LIST(y));
    graphs_op(graph, 1, LIST(y), LIST(dy));
    graphs_op(graph, 1, LIST(dy, x, y), LIST(dx));
    graphs_op(graph, 1, LIST(dx, a), LIST(da));
    graphs_op(graph, 1, LIST(da), LIST(da));
    graphs_finish(graph);
    struct spw_chain *chain = chain_of(graph, SPW_STAGES_DEFAULT);
    assert_nested(chain);
    assert_true(chain->count > 1);
    for (uint32_t i = 0; i < chain->count; i++)
        assert_int_not_equal(chain->stages[i].first_op, 2);
    assert_int_equal(chain->version[x], 2);
    spw_chain_destroy(chain);
    spw_graph_destroy(graph);
}

/* Two towers of two layers each that meet in one operation. */
static void towers_that_meet_at_the_loss_are_branches(void **state)
{
    struct spw_graph *graph = graphs_new();
    uint32_t a[2][3], d[2][3];
    for (uint32_t i = 0; i < 6; i++) {
        a[i / 3][i % 3] = graphs_tensor(graph, 100);
        d[i / 3][i % 3] = graphs_tensor(graph, 100);
    }
    for (uint32_t tower = 0; tower < 2; tower++) {
        graphs_op(graph, 5, NOTHING, LIST(a[tower][0]));
        graphs_op(graph, 5, LIST(a[tower][0]), LIST(a[tower][1]));
        graphs_op(graph, 5, LIST(a[tower][1]), LIST(a[tower][2]));
    }
    const uint32_t met = graphs_tensor(graph, 100), gradient = graphs_tensor(graph, 100);
    graphs_op(graph, 5, LIST(a[0][2], a[1][2]), LIST(met));
    graphs_op(graph, 5, LIST(met), LIST(gradient));
    for (uint32_t tower = 2; tower-- > 0;) {
        graphs_op(graph, 5, LIST(gradient, a[tower][2]), LIST(d[tower][2]));
        graphs_op(graph, 5, LIST(d[tower][2], a[tower][1]), LIST(d[tower][1]));
        graphs_op(graph, 5, LIST(d[tower][1], a[tower][0]), LIST(d[tower][0]));
    }
    graphs_op(graph, 5, LIST(d[0][0], d[1][0]), LIST(gradient));
    graphs_finish(graph);
    struct spw_chain *chain = chain_of(graph, SPW_STAGES_DEFAULT);
    assert_nested(chain);
    assert_int_equal(chain->branches, 2);
    assert_int_equal(chain->stages[0].branch, 0);
    for (uint32_t i = 0; i < chain->count; i++) {
        const struct spw_stage *stage = &chain->stages[i];
        if (stage->first_op >= 3 && stage->end_op <= 6)
            assert_int_equal(stage->branch, 1);
        if (stage->end_op > 6)
            assert_int_equal(stage->branch, SPW_NO_INDEX);
    }
    spw_chain_destroy(chain);
    spw_graph_destroy(graph);
}

/* Layer 3's backward reads what layer 1 saved, and after an operation of layer 0's it reads once more what layer 3 saved. */
static void whatever_a_backward_reads_is_within_its_scope(void **state)
{
    struct spw_graph *graph = graphs_new();
    uint32_t a[5], saved[4], d[5];
    for (uint32_t i = 0; i < 5; i++) {
        a[i] = graphs_tensor(graph, 1000);
        d[i] = graphs_tensor(graph, 1000);
    }
    graphs_op(graph, 1, NOTHING, LIST(a[0]));
    for (uint32_t i = 0; i < 4; i++) {
        saved[i] = graphs_tensor(graph, 1000);
        graphs_op(graph, 1, LIST(a[i]), LIST(a[i + 1], saved[i]));
    }
    const uint32_t early = graphs_tensor(graph, 1);
    graphs_op(graph, 1, LIST(a[4]), LIST(d[4]));
    graphs_op(graph, 1, LIST(saved[0]), LIST(early));
    graphs_op(graph, 1, LIST(d[4], saved[3], saved[1]), LIST(d[3]));
    for (uint32_t i = 3; i-- > 0;)
        graphs_op(graph, 1, LIST(d[i + 1], saved[i], a[i]), LIST(d[i]));
    graphs_op(graph, 1, LIST(d[0], early), LIST(early));
    graphs_finish(graph);
    struct spw_chain *chain = chain_of(graph, SPW_STAGES_DEFAULT);
    assert_nested(chain);
    assert_int_equal(chain->count, 4);
    assert_true(contains(chain, chain->stages[1].first_record, chain->stages[1].record_count, saved[1]));
    for (uint32_t s = 2; s < 4; s++)
        assert_true(contains(chain, chain->stages[s].first_input, chain->stages[s].input_count, saved[1]));
    assert_true(chain->stages[3].end_back > 7);
    spw_chain_destroy(chain);
    spw_graph_destroy(graph);
}

static void an_iteration_without_a_backward_is_no_chain(void **state)
{
    struct spw_graph *graph = graphs_new();
    uint32_t last = graphs_tensor(graph, 8);
    graphs_op(graph, 1, NOTHING, LIST(last));
    for (uint32_t i = 0; i < 20; i++) {
        const uint32_t next = graphs_tensor(graph, 8);
        graphs_op(graph, 1, LIST(last), LIST(next));
        last = next;
    }
    graphs_finish(graph);
    struct spw_chain *chain = NULL;
    const int r = spw_chain_create(graph, SPW_STAGES_DEFAULT, &chain);
    if (r == 0) /* a sweep has no turn; whatever is taken for one leaves next to nothing to the stages */
        assert_true(chain->stages[0].record_bytes <= 8 && chain->count == 1);
    else
        assert_int_equal(r, -ENOTSUP);
    spw_chain_destroy(chain);
    spw_graph_destroy(graph);
}

static void uneven_chains_of_any_length_keep_within_the_number_of_stages(void **state)
{
    for (uint32_t layers = 1; layers <= 20000; layers = 3 * layers + 1) {
        for (uint32_t most = 1; most <= 64; most *= 4) {
            const struct chain_kind kind = {.layers = layers,
                                            .activation_bytes = 1000,
                                            .saved_bytes = 5000,
                                            .parameter_bytes = 100,
                                            .forward_us = 10,
                                            .backward_us = 20,
                                            .uneven = 1 + layers};
            struct spw_graph *graph = graphs_chain(&kind);
            struct spw_chain *chain = chain_of(graph, most);
            assert_nested(chain);
            assert_in_range(chain->count, 1, most);
            if (layers >= 3 * most)
                assert_true(chain->count > most / 3);
            spw_chain_destroy(chain);
            spw_graph_destroy(graph);
        }
    }
}

/* A part keeps some of the record, a later one of the same stage less, for more time. */
static void parts_of_a_record_keep_ever_less(void **state)
{
    const struct chain_kind kind = {.layers = 60,
                                    .activation_bytes = 1000,
                                    .saved_bytes = 3000,
                                    .parameter_bytes = 50,
                                    .forward_us = 10,
                                    .backward_us = 20,
                                    .uneven = 7};
    struct spw_graph *graph = graphs_chain(&kind);
    struct spw_chain *chain = chain_of(graph, 9);
    uint32_t parts = 0;
    for (uint32_t s = 0; s < chain->count; s++) {
        const struct spw_stage *stage = &chain->stages[s];
        uint64_t bytes = stage->record_bytes;
        double us = 0;
        for (uint32_t n = 0; n < stage->part_count; n++) {
            const struct spw_part *part = &chain->parts[stage->first_part + n];
            assert_true(part->bytes < bytes && part->again_us >= us && part->again_us <= stage->forward_us);
            bytes = part->bytes;
            us = part->again_us;
            for (uint32_t i = 0; i < part->count; i++)
                assert_true(contains(chain, stage->first_record, stage->record_count, chain->part_listed[part->first + i]));
            parts++;
        }
    }
    assert_true(parts >= chain->count);
    spw_chain_destroy(chain);
    spw_graph_destroy(graph);
}

/* What of an input is older than a stage is in that stage's own input. */
static void inputs_are_told_apart_by_who_made_them(void **state)
{
    struct spw_graph *graph = graphs_new();
    uint32_t a[5], d[5];
    for (uint32_t i = 0; i < 5; i++) {
        a[i] = graphs_tensor(graph, 1000 * (1 + i));
        d[i] = graphs_tensor(graph, 1000);
    }
    graphs_op(graph, 1, NOTHING, LIST(a[0]));
    graphs_op(graph, 1, LIST(a[0]), LIST(a[1]));
    graphs_op(graph, 1, LIST(a[1]), LIST(a[2]));
    graphs_op(graph, 1, LIST(a[2]), LIST(a[3]));
    graphs_op(graph, 1, LIST(a[3], a[1]), LIST(a[4])); /* a[1] skips two */
    graphs_op(graph, 1, LIST(a[4]), LIST(d[4]));
    for (uint32_t i = 4; i-- > 0;)
        graphs_op(graph, 1, LIST(d[i + 1], a[i]), LIST(d[i]));
    graphs_finish(graph);
    struct spw_chain *chain = chain_of(graph, SPW_STAGES_DEFAULT);
    uint32_t told = 0;
    for (uint32_t i = 1; i < chain->count; i++) {
        const uint64_t *since = &chain->input_since[(size_t)i * chain->count];
        assert_int_equal(since[0], chain->stages[i].input_bytes);
        for (uint32_t s = 1; s < i; s++)
            assert_true(since[s] <= since[s - 1]);
        if (chain->stages[i].first_op == 4) { /* a[3] and a[1] */
            assert_int_equal(since[0], 2000 + 4000);
            assert_int_equal(since[i - 1], 4000);
            told++;
        }
    }
    assert_int_equal(told, 1);
    spw_chain_destroy(chain);
    spw_graph_destroy(graph);
}

/* Each stage's backward reads only what its own scope contains: its input, its record, and what is held or persists. */
static void a_backward_reads_only_its_own_input_and_record(void **state)
{
    const struct chain_kind kind = {.layers = 40,
                                    .activation_bytes = 1000,
                                    .saved_bytes = 3000,
                                    .parameter_bytes = 50,
                                    .forward_us = 10,
                                    .backward_us = 20,
                                    .uneven = 7};
    struct spw_graph *graph = graphs_chain(&kind);
    struct spw_chain *chain = chain_of(graph, 9);
    for (uint32_t s = 0; s < chain->count; s++) {
        const struct spw_stage *stage = &chain->stages[s];
        for (uint32_t op = stage->first_back; op < stage->end_back; op++) {
            for (uint32_t i = 0; i < graph->ops[op].read_count; i++) {
                const uint32_t t = graph->touched[graph->ops[op].first_read + i].tensor;
                const uint32_t made = graph->uses[graph->tensors[t].first_use].op;
                if (graph->tensors[t].persistent || chain->held[t] || made >= chain->turn)
                    continue;
                assert_true(contains(chain, stage->first_input, stage->input_count, t) ||
                            contains(chain, stage->first_record, stage->record_count, t));
            }
        }
    }
    spw_chain_destroy(chain);
    spw_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_of_layers_has_a_stage_for_each_and_turns_at_the_loss),
        cmocka_unit_test(what_comes_from_outside_is_held),
        cmocka_unit_test(no_cut_is_made_where_a_later_operation_overwrites_what_crosses),
        cmocka_unit_test(towers_that_meet_at_the_loss_are_branches),
        cmocka_unit_test(whatever_a_backward_reads_is_within_its_scope),
        cmocka_unit_test(an_iteration_without_a_backward_is_no_chain),
        cmocka_unit_test(uneven_chains_of_any_length_keep_within_the_number_of_stages),
        cmocka_unit_test(parts_of_a_record_keep_ever_less),
        cmocka_unit_test(inputs_are_told_apart_by_who_made_them),
        cmocka_unit_test(a_backward_reads_only_its_own_input_and_record),
    };
    return cmocka_run_group_tests_name("linear", tests, NULL, NULL);
}
