/* test-graph_pins.c - an executable graph has its addresses for as long as it lives: what is allocated there meanwhile is
 * pinned, by the nodes that the graph has when it is made or updated. On the fake device. */
#include "moved.h"

#include "failing-memory.h"
#include "graph_pins.h"
#include "layout.h"
#include "ledger.h"

#define EXEC ((CUgraphExec)0xe)

/* ---- the driver: graphs as lists of nodes ---- */

struct node {
    CUgraphNodeType type;
    CUdeviceptr address;
    struct graph *child;
    void *params[1];
};

struct graph {
    size_t count;
    struct node nodes[4];
};

static CUresult get_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    struct graph *g = (struct graph *)graph;
    for (size_t i = 0; nodes && i < *count; i++)
        nodes[i] = (CUgraphNode)&g->nodes[i];
    *count = g->count;
    return CUDA_SUCCESS;
}

static CUresult get_type(CUgraphNode node, CUgraphNodeType *type)
{
    *type = ((struct node *)node)->type;
    return CUDA_SUCCESS;
}

static CUresult get_copy(CUgraphNode node, CUDA_MEMCPY3D *ret)
{
    *ret = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = ((struct node *)node)->address};
    return CUDA_SUCCESS;
}

static CUresult get_set(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *ret)
{
    *ret = (CUDA_MEMSET_NODE_PARAMS){.dst = ((struct node *)node)->address, .elementSize = 4, .width = 16, .height = 1};
    return CUDA_SUCCESS;
}

static CUresult get_kernel(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *ret)
{
    struct node *n = (struct node *)node;
    n->params[0] = &n->address;
    *ret = (CUDA_KERNEL_NODE_PARAMS){.func = (CUfunction)7, .kernelParams = n->params};
    return CUDA_SUCCESS;
}

static CUresult get_child(CUgraphNode node, CUgraph *child)
{
    *child = (CUgraph)((struct node *)node)->child;
    return CUDA_SUCCESS;
}

static CUresult param_info(CUfunction f, size_t i, size_t *offset, size_t *size)
{
    *offset = 0;
    *size = 8;
    return i < 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void start(uint64_t budget)
{
    spw_graph_pins_forget(EXEC);
    begin(budget);
    spw_driver.cuGraphGetNodes = get_nodes;
    spw_driver.cuGraphNodeGetType = get_type;
    spw_driver.cuGraphMemcpyNodeGetParams = get_copy;
    spw_driver.cuGraphMemsetNodeGetParams = get_set;
    spw_driver.cuGraphKernelNodeGetParams_v2 = get_kernel;
    spw_driver.cuGraphChildGraphNodeGetGraph = get_child;
    spw_driver.cuFuncGetParamInfo = param_info;
}

/* ---- the program ---- */

static CUdeviceptr allocate(void)
{
    CUdeviceptr a = 0;
    spw_lock();
    struct spw_stream *stream = spw_stream_of_locked(s);
    spw_unlock();
    assert_int_equal(spw_allocate(device, BYTES, stream, context, spw_mempool_stats_of_locked(NULL), &a), 0);
    return a;
}

/* Frees it, and allocates the same address again. */
static void anew(CUdeviceptr a)
{
    spw_lock();
    struct spw_stream *stream = spw_stream_of_locked(s);
    spw_unlock();
    assert_int_equal(spw_free(a, stream), 0);
    assert_int_equal(allocate(), a);
}

static bool is_pinned(CUdeviceptr a)
{
    spw_lock();
    const bool is = spw_block_of(spw_object_at_locked(a))->pinned;
    spw_unlock();
    return is;
}

static bool is_pinned_anew(CUdeviceptr a)
{
    anew(a);
    return is_pinned(a);
}

/* The driver has answered with EXEC, or has refused. */
static void make(struct graph *g, CUgraphExec exec, bool instead)
{
    struct spw_lasting held;
    assert_int_equal(spw_graph_pins_begin(&held, (CUgraph)g), 0);
    spw_graph_pins_end(&held, exec, instead);
}

static struct graph graph_of(CUgraphNodeType type, CUdeviceptr a)
{
    return (struct graph){1, {{.type = type, .address = a}}};
}

static void what_is_allocated_where_a_graph_has_an_address_is_pinned_while_that_lives(void **state)
{
    static const CUgraphNodeType types[] = {CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMSET};
    for (int i = 0; i < 3; i++) {
        start(3 * BYTES);
        CUdeviceptr a = allocate(), b = allocate();
        struct graph g = graph_of(types[i], a);
        make(&g, EXEC, true);
        assert_true(is_pinned(a));
        for (int again = 0; again < 3; again++)
            assert_true(is_pinned_anew(a));
        assert_false(is_pinned_anew(b));
        spw_graph_pins_forget(EXEC);
        assert_false(is_pinned_anew(a));
    }
}

static void so_it_is_for_child_graphs(void **state)
{
    start(3 * BYTES);
    CUdeviceptr a = allocate();
    struct graph child = graph_of(CU_GRAPH_NODE_TYPE_MEMCPY, a), g = {2, {{.type = CU_GRAPH_NODE_TYPE_EMPTY}}};
    g.nodes[1] = (struct node){.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = &child};
    make(&g, EXEC, true);
    assert_true(is_pinned_anew(a));
}

/* The node was made when something else lay there. */
static void what_was_allocated_before_the_graph_is_made_executable_is_pinned_by_that(void **state)
{
    start(2 * BYTES);
    CUdeviceptr a = allocate(), b = allocate(), c = allocate();
    struct graph g = graph_of(CU_GRAPH_NODE_TYPE_KERNEL, a);
    spw_pin_of_node(&a, 1, "the test says so");
    anew(a);
    fill(a, 3);
    fill(b, 1);
    fill(c, 1);
    assert_false(is_pinned(a));
    make(&g, EXEC, true);
    assert_true(is_pinned(a));
    fake_run_all();
    fake_expect(s, a, BYTES, 3);
    fake_run_all();
}

static void what_has_no_room_there_is_refused(void **state)
{
    struct spw_lasting held;
    start(2 * BYTES);
    CUdeviceptr a = allocate(), b = allocate(), c = allocate();
    struct graph g = graph_of(CU_GRAPH_NODE_TYPE_KERNEL, c);
    spw_pin_address(a, "the test says so");
    spw_pin_address(b, "the test says so");
    assert_int_equal(spw_graph_pins_begin(&held, (CUgraph)&g), -ENOMEM);
    spw_lock();
    assert_false(spw_lasting_in_locked(c));
    spw_unlock();
}

static void an_update_puts_other_addresses_in_the_place_of_those(void **state)
{
    start(4 * BYTES);
    CUdeviceptr a = allocate(), b = allocate(), c = allocate();
    struct graph first = graph_of(CU_GRAPH_NODE_TYPE_KERNEL, a), next = graph_of(CU_GRAPH_NODE_TYPE_KERNEL, b),
                 last = graph_of(CU_GRAPH_NODE_TYPE_KERNEL, c);
    make(&first, EXEC, true);
    make(&next, EXEC, false); /* or the driver refused, and has done half of it */
    assert_true(is_pinned_anew(a) && is_pinned_anew(b));
    make(&last, EXEC, true);
    assert_false(is_pinned_anew(a) || is_pinned_anew(b));
    assert_true(is_pinned_anew(c));
}

/* A node of EXEC is told an address by a call of its own, and the driver answers. */
static void tell(CUgraphNode node, CUdeviceptr a, CUresult answer)
{
    spw_graph_pins_gather(a);
    spw_graph_pins_tell();
    assert_int_equal(spw_graph_pins_told(EXEC, node, answer), answer);
}

static void what_a_node_is_told_takes_the_place_of_what_it_was_told_before(void **state)
{
    const CUgraphNode node = (CUgraphNode)0x10, other = (CUgraphNode)0x20;
    start(5 * BYTES);
    CUdeviceptr a = allocate(), b = allocate(), c = allocate(), d = allocate();
    struct graph g = graph_of(CU_GRAPH_NODE_TYPE_KERNEL, d);
    make(&g, EXEC, true);
    tell(node, a, CUDA_SUCCESS);
    tell(other, b, CUDA_SUCCESS);
    assert_true(is_pinned(a) && is_pinned_anew(a) && is_pinned_anew(b) && is_pinned_anew(d));
    tell(node, c, CUDA_ERROR_INVALID_VALUE);
    assert_true(is_pinned_anew(a));
    assert_false(is_pinned_anew(c));
    tell(node, c, CUDA_SUCCESS);
    assert_false(is_pinned_anew(a));
    assert_true(is_pinned_anew(b) && is_pinned_anew(c) && is_pinned_anew(d));
    make(&g, EXEC, true); /* an update */
    assert_false(is_pinned_anew(b) || is_pinned_anew(c));
    tell(node, a, CUDA_SUCCESS);
    spw_graph_pins_forget(EXEC);
    assert_false(is_pinned_anew(a) || is_pinned_anew(d));
}

static void a_graph_that_was_not_made_has_no_addresses(void **state)
{
    start(3 * BYTES);
    CUdeviceptr a = allocate();
    struct graph g = graph_of(CU_GRAPH_NODE_TYPE_KERNEL, a);
    make(&g, NULL, true);
    assert_false(is_pinned_anew(a));
}

static void two_graphs_have_an_address_until_both_are_gone(void **state)
{
    const CUgraphExec other = (CUgraphExec)0xf;
    start(3 * BYTES);
    CUdeviceptr a = allocate();
    struct graph g = graph_of(CU_GRAPH_NODE_TYPE_KERNEL, a);
    make(&g, EXEC, true);
    make(&g, other, true);
    spw_graph_pins_forget(EXEC);
    assert_true(is_pinned_anew(a));
    spw_graph_pins_forget(other);
    assert_false(is_pinned_anew(a));
}

/* Without memory for the record nobody knows when it may end. */
static void without_memory_they_last(void **state)
{
    for (long n = 0; n < 8; n++) {
        start(3 * BYTES);
        CUdeviceptr a = allocate();
        struct graph g = graph_of(CU_GRAPH_NODE_TYPE_MEMCPY, a);
        struct spw_lasting held;
        spw_pin_of_node(&a, 1, "the test says so");
        memory_fails_once_after(n);
        int r = spw_graph_pins_begin(&held, (CUgraph)&g);
        if (r == 0)
            spw_graph_pins_end(&held, EXEC, true);
        (void)memory_is_back();
        assert_int_equal(r, 0);
        assert_true(is_pinned_anew(a));

        start(3 * BYTES);
        CUdeviceptr b = allocate();
        memory_fails_once_after(n);
        tell((CUgraphNode)0x10, b, CUDA_SUCCESS);
        (void)memory_is_back();
        assert_true(is_pinned_anew(b));
    }
}

/* What was told to any node, and is told later. */
static void of_a_graph_that_cannot_be_read_all_that_nodes_were_told_lasts(void **state)
{
    start(5 * BYTES);
    CUdeviceptr a = allocate(), b = allocate(), c = allocate(), d = allocate();
    struct graph g = graph_of(CU_GRAPH_NODE_TYPE_CONDITIONAL, 0);
    spw_pin_of_node(&a, 1, "the test says so");
    spw_pin_of_node(&b, 1, "the test says so");
    anew(b);
    fill(b, 1);
    make(&g, EXEC, true);
    assert_true(is_pinned(b)); /* which is there already */
    assert_true(is_pinned_anew(a));
    spw_pin_of_node(&c, 1, "the test says so");
    assert_true(is_pinned_anew(c));
    assert_false(is_pinned_anew(d));
}

/* `test-graph_pins eager` runs them on the eager device. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_allocated_where_a_graph_has_an_address_is_pinned_while_that_lives),
        cmocka_unit_test(so_it_is_for_child_graphs),
        cmocka_unit_test(what_was_allocated_before_the_graph_is_made_executable_is_pinned_by_that),
        cmocka_unit_test(what_has_no_room_there_is_refused),
        cmocka_unit_test(an_update_puts_other_addresses_in_the_place_of_those),
        cmocka_unit_test(what_a_node_is_told_takes_the_place_of_what_it_was_told_before),
        cmocka_unit_test(a_graph_that_was_not_made_has_no_addresses),
        cmocka_unit_test(two_graphs_have_an_address_until_both_are_gone),
        cmocka_unit_test(without_memory_they_last),
        cmocka_unit_test(of_a_graph_that_cannot_be_read_all_that_nodes_were_told_lasts),
    };
    fake_eager(argc > 1 && strcmp(argv[1], "eager") == 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
