/* bounds.c - the lower bounds against those of bounds.json and the exact optima of offload_chain.json. */
#include "vectors.h"

#include <math.h>

#include "bounds/bounds.h"

static const struct mode {
    const char *name;
    bool may_copy, may_replay;
} modes[] = {{"offload", true, false}, {"recompute", false, true}, {"both", true, true}};

/* Times are integers here, so a bound may be rounded up. */
static double rounded_up(double us)
{
    return ceil(us - 1e-6);
}

static struct spw_bounds bounds_of(const struct spw_graph *graph, json_t *limits, const struct mode *mode)
{
    struct spw_bounds bounds;
    assert_int_equal(
        spw_bounds_find(graph, (uint64_t)vectors_integer(limits, "mem_limit"), mode->may_copy, mode->may_replay, &bounds),
        0);
    return bounds;
}

void the_cut_bound_is_at_least_the_one_computed(void **state)
{
    json_t *vectors = vectors_load("bounds.json"), *instance, *limits;
    size_t index, at, compared = 0;
    json_array_foreach(json_object_get(vectors, "instances"), index, instance)
    {
        struct spw_graph *graph = vectors_graph(instance);
        json_array_foreach(json_object_get(instance, "bounds"), at, limits) for (size_t m = 0; m < 3; m++)
        {
            json_t *expected = json_object_get(limits, modes[m].name);
            const struct spw_bounds bounds = bounds_of(graph, limits, &modes[m]);
            if (!json_is_object(expected)) {
                assert_false(bounds.feasible);
                continue;
            }
            assert_true(bounds.feasible);
            assert_true(bounds.best_us >= vectors_number(expected, "lb_cut_real") - 1e-3);
            compared++;
        }
        spw_graph_destroy(graph);
    }
    assert_true(compared > 0);
    json_decref(vectors);
}

void no_bound_exceeds_an_optimum(void **state)
{
    json_t *vectors = vectors_load("offload_chain.json"), *instance;
    size_t index, compared = 0;
    json_array_foreach(json_object_get(vectors, "instances"), index, instance)
    {
        struct spw_graph *graph = vectors_graph(instance);
        for (size_t m = 0; m < 3; m++) {
            json_t *result = json_object_get(json_object_get(instance, "results"), modes[m].name);
            const struct spw_bounds bounds = bounds_of(graph, instance, &modes[m]);
            if (!json_is_object(result))
                continue;
            assert_true(bounds.feasible);
            assert_true(rounded_up(bounds.best_us) <= vectors_number(result, "optimum"));
            assert_true(rounded_up(bounds.best_us) >= vectors_number(result, "lb_cut"));
            compared++;
        }
        spw_graph_destroy(graph);
    }
    assert_true(compared > 0);
    json_decref(vectors);
}
