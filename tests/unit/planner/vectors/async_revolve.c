/* async_revolve.c - the figures of async_revolve.json, and reversals that take just so long on a clock with copy lanes. */
#include "chains/async_revolve.h"

#include "../reversal-machine.h"
#include "vectors.h"

/* The last copy out is complete before it is needed back, and none ever waits for another: else the clock would tell. */
static void compare_actions(const struct spw_async_chain *chain, const struct spw_async_figures *figures)
{
    const struct machine_rules rules = {.slots = {chain->slots, UINT64_MAX},
                                        .write = {0, chain->store},
                                        .read = {0, chain->load},
                                        .forward = chain->forward,
                                        .backward = chain->backward,
                                        .beside = true};
    struct spw_reversal reversal = {0};
    assert_int_equal(spw_async_revolve_append(chain, &reversal), 0);
    const struct machine_sums sums = machine_run(&reversal, chain->steps, &rules);
    assert_true(sums.time == figures->total);
    assert_true(sums.stall == figures->stall);
    assert_int_equal(sums.stores[1], figures->intervals - 1);
    spw_reversal_finish(&reversal);
}

void async_revolve_takes_as_long_as_its_model_says(void **state)
{
    json_t *vectors = vectors_load("async_revolve.json"), *element;
    size_t index;
    json_array_foreach(json_object_get(vectors, "cases"), index, element)
    {
        const struct spw_async_chain chain = {.steps = (uint64_t)vectors_integer(element, "n"),
                                              .slots = (uint64_t)vectors_integer(element, "s"),
                                              .forward = vectors_number(element, "t_f"),
                                              .backward = vectors_number(element, "t_b"),
                                              .store = vectors_number(element, "t_s"),
                                              .load = vectors_number(element, "t_l")};
        struct spw_async_figures figures;
        assert_int_equal(spw_async_revolve(&chain, &figures), 0);
        assert_int_equal(figures.interval, vectors_integer(element, "interval"));
        assert_int_equal(figures.intervals, vectors_integer(element, "intervals"));
        assert_true(figures.stall == vectors_number(element, "stall"));
        assert_true(figures.total == vectors_number(element, "total"));
        assert_true(figures.revolve_total == vectors_number(element, "revolve_total"));
        compare_actions(&chain, &figures);
    }
    assert_true(index > 0);
    json_decref(vectors);
}
