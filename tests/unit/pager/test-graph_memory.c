/* test-graph_memory.c - memory of graphs is on the bill from the making of its node until the driver has given it back,
 * whenever the driver reserves it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "devices.h"
#include "driver.h"
#include "fake-device.h"
#include "unmanaged.h"
#include "graph_memory.h"
#include "lock.h"
#include "mover.h"

enum { GRANULE = 4096, BUDGET = 100 * GRANULE };

static struct spw_device *device, *second;
static uint64_t reserved, reserved_on_second;
static CUresult answer;
static char graph_place[2], exec_place[2];
static const CUgraph graph = (CUgraph)&graph_place[0], other_graph = (CUgraph)&graph_place[1];
static const CUgraphExec exec = (CUgraphExec)&exec_place[0], other_exec = (CUgraphExec)&exec_place[1];

static CUresult attribute(CUdevice ordinal, CUgraphMem_attribute which, void *value)
{
    assert_int_equal(which, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
    if (answer == CUDA_SUCCESS)
        *(cuuint64_t *)value = ordinal == device->ordinal ? reserved : reserved_on_second;
    return answer;
}

static int begin(void **state)
{
    CUcontext context;
    int r;
    (void)state;
    spw_graph_memory_reset();
    spw_unmanaged_reset();
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    fake_start(GRANULE, 64 << 20, BUDGET, 16 << 20);
    spw_driver.cuDeviceGetGraphMemAttribute = attribute;
    reserved = reserved_on_second = 0;
    answer = CUDA_SUCCESS;
    device = spw_device_current(&context);
    spw_lock();
    second = spw_device_ready_locked(1, &r);
    spw_unlock();
    return device && second ? 0 : -1;
}

static uint64_t billed_to(const struct spw_device *d)
{
    return (BUDGET - d->handles.budget_bytes) / GRANULE;
}

static uint64_t billed(void)
{
    return billed_to(device);
}

/* A node of so many granules; `at_once`: reserved when it is made. */
static int add_node(CUgraph to, uint64_t granules, bool at_once)
{
    struct spw_graph_promise p;
    int r = spw_graph_memory_promise(&p, device, granules * GRANULE - 1, "a node");
    if (r < 0)
        return r;
    reserved += at_once ? granules * GRANULE : 0;
    spw_graph_memory_answered(&p, to, true);
    return 0;
}

/* A node of so many granules on the second device, which reserves nothing yet. */
static void add_node_there(CUgraph to, uint64_t granules)
{
    struct spw_graph_promise p;
    assert_int_equal(spw_graph_memory_promise(&p, second, granules * GRANULE, "a node"), 0);
    spw_graph_memory_answered(&p, to, true);
}

static void instantiate(CUgraph from, CUgraphExec to)
{
    assert_int_equal(spw_graph_memory_before_instance(from), 0);
    spw_graph_memory_instance(from, to);
}

static void launch(CUgraphExec which, uint64_t reserves)
{
    reserved += reserves * GRANULE;
    spw_graph_memory_launched(which);
}

static void give_back(uint64_t granules)
{
    reserved -= granules * GRANULE;
    spw_graph_memory_settle();
}

static void what_is_reserved_with_the_node_counts_once_until_it_is_given_back(void **state)
{
    (void)state;
    assert_int_equal(add_node(graph, 10, true), 0);
    assert_int_equal(billed(), 10);
    instantiate(graph, exec);
    launch(exec, 0);
    assert_int_equal(billed(), 10);
    spw_graph_memory_forget(graph);
    spw_graph_memory_forget(exec);
    spw_graph_memory_settle();
    assert_int_equal(billed(), 10);
    give_back(10);
    assert_int_equal(billed(), 0);
}

static void what_is_reserved_by_the_launch_counts_from_the_node_on(void **state)
{
    (void)state;
    assert_int_equal(add_node(graph, 10, false), 0);
    assert_int_equal(add_node(graph, 5, false), 0);
    assert_int_equal(billed(), 15);
    instantiate(graph, exec);
    spw_graph_memory_forget(graph);
    spw_graph_memory_settle();
    assert_int_equal(billed(), 15);
    launch(exec, 12); /* nodes may share memory */
    assert_int_equal(billed(), 12);
    launch(exec, 0);
    assert_int_equal(billed(), 12);
    spw_graph_memory_forget(exec);
    give_back(12);
    assert_int_equal(billed(), 0);
}

static void a_graph_that_was_never_launched_takes_nothing_with_it(void **state)
{
    (void)state;
    assert_int_equal(add_node(graph, 10, false), 0);
    assert_int_equal(add_node(other_graph, 3, false), 0);
    instantiate(other_graph, other_exec);
    spw_graph_memory_forget(graph);
    spw_graph_memory_settle();
    assert_int_equal(billed(), 3);
    spw_graph_memory_forget(other_exec);
    spw_graph_memory_forget(other_graph);
    spw_graph_memory_settle();
    assert_int_equal(billed(), 0);
}

static void a_graph_that_is_instantiated_anew_may_reserve_anew(void **state)
{
    (void)state;
    assert_int_equal(add_node(graph, 10, false), 0);
    instantiate(graph, exec);
    launch(exec, 10);
    spw_graph_memory_forget(exec);
    give_back(10);
    assert_int_equal(billed(), 0);
    instantiate(graph, other_exec);
    assert_int_equal(billed(), 10);
    launch(other_exec, 10);
    assert_int_equal(billed(), 10);
}

static void a_node_that_comes_after_the_instance_counts_with_the_next_one(void **state)
{
    (void)state;
    assert_int_equal(add_node(graph, 10, false), 0);
    instantiate(graph, exec);
    launch(exec, 10);
    spw_graph_memory_forget(exec);
    give_back(10);
    assert_int_equal(add_node(graph, 5, false), 0);
    assert_int_equal(billed(), 5);
    instantiate(graph, other_exec);
    assert_int_equal(billed(), 15);
    launch(other_exec, 15);
    assert_int_equal(billed(), 15);
    spw_graph_memory_forget(other_exec);
    give_back(15);
    assert_int_equal(billed(), 0);
}

static void each_device_is_billed_for_the_nodes_that_lie_on_it(void **state)
{
    (void)state;
    assert_int_equal(add_node(graph, 10, false), 0);
    add_node_there(graph, 20);
    instantiate(graph, exec);
    assert_int_equal(billed(), 10);
    assert_int_equal(billed_to(second), 20);
    reserved_on_second = (uint64_t)20 * GRANULE;
    launch(exec, 10);
    assert_int_equal(billed(), 10);
    assert_int_equal(billed_to(second), 20);
    spw_graph_memory_forget(exec);
    reserved_on_second = 0;
    give_back(10);
    assert_int_equal(billed(), 0);
    assert_int_equal(billed_to(second), 0);
    instantiate(graph, other_exec); /* both may be reserved anew */
    assert_int_equal(billed(), 10);
    assert_int_equal(billed_to(second), 20);
    spw_graph_memory_forget(other_exec);
    spw_graph_memory_settle();
    assert_int_equal(billed(), 0);
    assert_int_equal(billed_to(second), 0);
}

static void what_does_not_fit_is_refused_and_not_counted(void **state)
{
    (void)state;
    assert_int_equal(add_node(graph, 60, false), 0);
    assert_int_equal(add_node(graph, 41, false), -ENOMEM);
    assert_int_equal(billed(), 60);
    instantiate(graph, exec);
    launch(exec, 60);
    spw_graph_memory_forget(exec);
    assert_int_equal(spw_graph_memory_before_instance(graph), -ENOMEM); /* nothing was given back */
    assert_int_equal(billed(), 60);
}

static void a_node_that_the_driver_refuses_is_off_the_bill(void **state)
{
    struct spw_graph_promise p;
    (void)state;
    assert_int_equal(spw_graph_memory_promise(&p, device, 7 * GRANULE, "a node"), 0);
    assert_int_equal(billed(), 7);
    spw_graph_memory_answered(&p, graph, false);
    assert_int_equal(billed(), 0);
}

static void two_nodes_at_once_are_counted_once_each(void **state)
{
    struct spw_graph_promise one, two;
    (void)state;
    assert_int_equal(spw_graph_memory_promise(&one, device, 7 * GRANULE, "a node"), 0);
    assert_int_equal(spw_graph_memory_promise(&two, device, 5 * GRANULE, "a node"), 0);
    reserved += 12 * GRANULE;
    spw_graph_memory_answered(&one, graph, true);
    spw_graph_memory_answered(&two, other_graph, true);
    assert_int_equal(billed(), 12);
}

static void more_than_was_promised_is_put_on_the_bill_late(void **state)
{
    (void)state;
    assert_int_equal(add_node(graph, 10, false), 0);
    instantiate(graph, exec);
    launch(exec, 16);
    assert_int_equal(billed(), 16);
}

static void a_driver_that_does_not_tell_has_what_was_promised_counted_for_good(void **state)
{
    (void)state;
    answer = CUDA_ERROR_NOT_SUPPORTED;
    assert_int_equal(add_node(graph, 10, true), 0);
    instantiate(graph, exec);
    launch(exec, 0);
    spw_graph_memory_forget(exec);
    spw_graph_memory_settle();
    assert_int_equal(billed(), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_reserved_with_the_node_counts_once_until_it_is_given_back, begin),
        cmocka_unit_test_setup(what_is_reserved_by_the_launch_counts_from_the_node_on, begin),
        cmocka_unit_test_setup(a_graph_that_was_never_launched_takes_nothing_with_it, begin),
        cmocka_unit_test_setup(a_graph_that_is_instantiated_anew_may_reserve_anew, begin),
        cmocka_unit_test_setup(a_node_that_comes_after_the_instance_counts_with_the_next_one, begin),
        cmocka_unit_test_setup(each_device_is_billed_for_the_nodes_that_lie_on_it, begin),
        cmocka_unit_test_setup(what_does_not_fit_is_refused_and_not_counted, begin),
        cmocka_unit_test_setup(a_node_that_the_driver_refuses_is_off_the_bill, begin),
        cmocka_unit_test_setup(two_nodes_at_once_are_counted_once_each, begin),
        cmocka_unit_test_setup(more_than_was_promised_is_put_on_the_bill_late, begin),
        cmocka_unit_test_setup(a_driver_that_does_not_tell_has_what_was_promised_counted_for_good, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
