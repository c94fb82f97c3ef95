/* instances.c - the graphs that offload_chain.json and bounds.json describe come to the sums that stand beside them. */
#include "vectors.h"

#include <string.h>

static void compare_sums(const char *file)
{
    json_t *vectors = vectors_load(file), *instance;
    size_t index;
    json_array_foreach(json_object_get(vectors, "instances"), index, instance)
    {
        struct spw_graph *graph = vectors_graph(instance);
        assert_true(graph->compute_us == vectors_number(instance, "total"));
        assert_int_equal(graph->peak_bytes, vectors_integer(instance, "peak"));
        assert_int_equal(graph->least_bytes, vectors_integer(instance, "low"));
        spw_graph_destroy(graph);
    }
    assert_true(index > 0);
    json_decref(vectors);
}

void instances_of_model_s_become_graphs(void **state)
{
    compare_sums("offload_chain.json");
    compare_sums("bounds.json");
}
