/* test-graph_writes.c - what executable graphs copy and set is read from their nodes, and changes with them. */
#include "graph_writes.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "arena.h"
#include "driver.h"

#define LOW  UINT64_C(0x100000)
#define HIGH UINT64_C(0x200000)
#define HOST UINT64_C(0x9000)
#define FAR  UINT64_C(0x800000) /* memory of the device that lies outside */
#define EXEC ((CUgraphExec)0xe)

/* ---- the driver: graphs as lists of nodes ---- */

struct node {
    CUgraphNodeType type;
    CUdeviceptr to, from;
    struct graph *child;
};

struct graph {
    size_t count;
    struct node nodes[4];
};

static unsigned graphs_read;

static CUresult get_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    struct graph *g = (struct graph *)graph;
    for (size_t i = 0; nodes && i < *count; i++)
        nodes[i] = (CUgraphNode)&g->nodes[i];
    *count = g->count;
    graphs_read += !nodes;
    return CUDA_SUCCESS;
}

static CUresult get_type(CUgraphNode node, CUgraphNodeType *type)
{
    *type = ((struct node *)node)->type;
    return CUDA_SUCCESS;
}

static CUDA_MEMCPY3D copy_of(CUdeviceptr to, CUdeviceptr from)
{
    return (CUDA_MEMCPY3D){.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = to,
                           .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = from,
                           .WidthInBytes = 64,
                           .Height = 1,
                           .Depth = 1};
}

static struct spw_box box_of(CUdeviceptr to, CUdeviceptr from)
{
    const CUDA_MEMCPY3D copy = copy_of(to, from);
    return spw_box_3d(&copy);
}

static CUresult get_copy(CUgraphNode node, CUDA_MEMCPY3D *ret)
{
    *ret = copy_of(((struct node *)node)->to, ((struct node *)node)->from);
    return CUDA_SUCCESS;
}

static CUresult get_set(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *ret)
{
    *ret = (CUDA_MEMSET_NODE_PARAMS){.dst = ((struct node *)node)->to, .elementSize = 4, .width = 16, .height = 1};
    return CUDA_SUCCESS;
}

static CUresult get_child(CUgraphNode node, CUgraph *child)
{
    *child = (CUgraph)((struct node *)node)->child;
    return CUDA_SUCCESS;
}

static int start(void **state)
{
    spw_arena_low = LOW;
    spw_arena_high = HIGH;
    spw_driver.cuGraphGetNodes = get_nodes;
    spw_driver.cuGraphNodeGetType = get_type;
    spw_driver.cuGraphMemcpyNodeGetParams = get_copy;
    spw_driver.cuGraphMemsetNodeGetParams = get_set;
    spw_driver.cuGraphChildGraphNodeGetGraph = get_child;
    graphs_read = 0;
    spw_graph_writes_reset();
    return 0;
}

/* ---- the program ---- */

static void make_of(struct graph *g)
{
    spw_graph_writes_meet(NULL);
    spw_graph_writes_made(EXEC, (CUgraph)g);
}

/* So many writes, of which the first is `first` (NULL: whichever). */
static void assert_writes(size_t count, const struct spw_box *first)
{
    struct spw_graph_writes w = spw_graph_writes_of(EXEC);
    assert_false(w.is_unknown);
    assert_int_equal(w.count, count);
    if (first) {
        assert_int_equal(w.list[0].box.to.at, first->to.at);
        assert_int_equal(w.list[0].box.from.at, first->from.at);
    }
    free(w.list);
}

static void assert_unknown(void)
{
    struct spw_graph_writes w = spw_graph_writes_of(EXEC);
    assert_true(w.is_unknown);
    assert_int_equal(w.count, 0);
}

static struct graph uploading = {2, {{CU_GRAPH_NODE_TYPE_MEMCPY, LOW, HOST, NULL}, {CU_GRAPH_NODE_TYPE_KERNEL, 0, 0, NULL}}};

static void no_graph_is_read_before_a_copy_was_met_that_matters(void **state)
{
    const struct spw_box within = box_of(LOW, LOW + 4096), upload = box_of(LOW, HOST);
    spw_graph_writes_meet(&within);
    spw_graph_writes_made(EXEC, (CUgraph)&uploading);
    assert_int_equal(graphs_read, 0);
    assert_writes(0, NULL);
    spw_graph_writes_meet(&upload);
    spw_graph_writes_made(EXEC, (CUgraph)&uploading);
    assert_writes(1, &upload);
}

static void copies_from_the_host_are_listed_with_those_of_child_graphs(void **state)
{
    const struct spw_box upload = box_of(LOW, HOST);
    struct graph g = {4,
                      {{CU_GRAPH_NODE_TYPE_GRAPH, 0, 0, &uploading},
                       {CU_GRAPH_NODE_TYPE_MEMCPY, LOW, LOW + 4096, NULL},
                       {CU_GRAPH_NODE_TYPE_MEMCPY, LOW + 64, HOST, NULL},
                       {CU_GRAPH_NODE_TYPE_EMPTY, 0, 0, NULL}}};
    make_of(&g);
    assert_writes(2, &upload);
    spw_graph_writes_forget(EXEC);
    assert_writes(0, NULL);
}

static void copies_and_sets_are_listed_that_write_outside(void **state)
{
    const struct spw_box first = box_of(FAR, LOW);
    struct graph g = {3,
                      {{CU_GRAPH_NODE_TYPE_MEMCPY, FAR, LOW, NULL},
                       {CU_GRAPH_NODE_TYPE_MEMSET, LOW, 0, NULL},
                       {CU_GRAPH_NODE_TYPE_MEMSET, FAR + 64, 0, NULL}}};
    make_of(&g);
    assert_writes(2, &first);
    struct spw_graph_writes w = spw_graph_writes_of(EXEC);
    assert_int_equal(w.list[1].box.to.at, FAR + 64);
    assert_int_equal(spw_box_bytes(&w.list[1].box), 64);
    free(w.list);
}

static void a_function_of_the_host_is_told(void **state)
{
    struct graph g = {2, {{CU_GRAPH_NODE_TYPE_HOST, 0, 0, NULL}, {CU_GRAPH_NODE_TYPE_MEMCPY, LOW, HOST, NULL}}};
    make_of(&g);
    struct spw_graph_writes w = spw_graph_writes_of(EXEC);
    assert_true(w.calls_host && w.count == 1);
    free(w.list);
}

static void what_cannot_be_read_is_unknown(void **state)
{
    struct graph g = {1, {{CU_GRAPH_NODE_TYPE_CONDITIONAL, 0, 0, NULL}}};
    make_of(&g);
    assert_unknown();
    spw_graph_writes_made(EXEC, (CUgraph)&uploading); /* a handle that comes again */
    assert_writes(1, NULL);
}

static void a_node_changes_with_the_executable_graph(void **state)
{
    const struct spw_box elsewhere = box_of(LOW + 8192, HOST + 64);
    CUgraphNode copy = (CUgraphNode)&uploading.nodes[0];
    make_of(&uploading);
    spw_graph_writes_change(EXEC, copy, &elsewhere);
    assert_writes(1, &elsewhere);
    spw_graph_writes_enable(EXEC, copy, false);
    struct spw_graph_writes w = spw_graph_writes_of(EXEC);
    assert_true(w.count == 1 && w.list[0].is_off);
    free(w.list);
    spw_graph_writes_updated(EXEC, (CUgraph)&uploading); /* which one stays disabled, nobody tells */
    assert_unknown();
}

static void an_update_is_read_and_its_nodes_are_nobodys_then(void **state)
{
    const struct spw_box moved = box_of(LOW + 64, HOST + 64);
    struct graph other = {1, {{CU_GRAPH_NODE_TYPE_MEMCPY, LOW + 64, HOST + 64, NULL}}};
    make_of(&uploading);
    spw_graph_writes_updated(EXEC, (CUgraph)&other);
    assert_writes(1, &moved);
    spw_graph_writes_change(EXEC, (CUgraphNode)&uploading.nodes[0], &moved);
    assert_unknown();
}

static void another_child_graph_that_matters_makes_it_unknown(void **state)
{
    struct graph harmless = {1, {{CU_GRAPH_NODE_TYPE_KERNEL, 0, 0, NULL}}};
    make_of(&harmless);
    spw_graph_writes_exchange(EXEC, (CUgraph)&harmless);
    assert_writes(0, NULL);
    spw_graph_writes_exchange(EXEC, (CUgraph)&uploading);
    assert_unknown();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(no_graph_is_read_before_a_copy_was_met_that_matters, start),
        cmocka_unit_test_setup(copies_from_the_host_are_listed_with_those_of_child_graphs, start),
        cmocka_unit_test_setup(copies_and_sets_are_listed_that_write_outside, start),
        cmocka_unit_test_setup(a_function_of_the_host_is_told, start),
        cmocka_unit_test_setup(what_cannot_be_read_is_unknown, start),
        cmocka_unit_test_setup(a_node_changes_with_the_executable_graph, start),
        cmocka_unit_test_setup(an_update_is_read_and_its_nodes_are_nobodys_then, start),
        cmocka_unit_test_setup(another_child_graph_that_matters_makes_it_unknown, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
