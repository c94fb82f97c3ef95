/* test-user-objects.c - graphs keep things of the program alive: the destructor runs once, when the last reference goes. */
#include "graph_fixture.h"

#include <unistd.h>

static int destroyed;
static CUresult answer_inside;

static void destroy(void *counter)
{
    answer_inside = cuCtxSynchronize();
    __atomic_add_fetch((int *)counter, 1, __ATOMIC_SEQ_CST);
}

static CUuserObject new_object(unsigned references)
{
    CUuserObject object;
    OK(cuUserObjectCreate(&object, &destroyed, destroy, references, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    return object;
}

/* Destructors run on another thread: waits until there were so many, then a little for one too many. */
static void assert_destroyed(int times)
{
    for (int i = 0; i < 2000 && __atomic_load_n(&destroyed, __ATOMIC_SEQ_CST) < times; i++)
        usleep(1000);
    usleep(2000);
    assert_int_equal(__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST), times);
}

CHILD_TEST(the_last_reference_destroys_the_object_once)
{
    graph_start();
    CUuserObject object = new_object(2);
    OK(cuUserObjectRetain(object, 3));
    OK(cuUserObjectRelease(object, 4));
    assert_destroyed(0);
    OK(cuUserObjectRelease(object, 1));
    assert_destroyed(1);
    assert_int_equal(cuUserObjectRelease(object, 1), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(answer_inside, CUDA_ERROR_NOT_PERMITTED);
}

CHILD_TEST(a_graph_takes_references_of_its_own)
{
    graph_start();
    CUuserObject object = new_object(1);
    OK(cuGraphRetainUserObject(graph, object, 2, 0));
    OK(cuUserObjectRelease(object, 1));
    OK(cuGraphReleaseUserObject(graph, object, 1));
    assert_destroyed(0);
    OK(cuGraphReleaseUserObject(graph, object, 1));
    assert_destroyed(1);
}

CHILD_TEST(moved_references_are_the_program_s_no_more)
{
    graph_start();
    CUuserObject object = new_object(2);
    assert_int_equal(cuGraphRetainUserObject(graph, object, 3, CU_GRAPH_USER_OBJECT_MOVE), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphRetainUserObject(graph, object, 2, CU_GRAPH_USER_OBJECT_MOVE));
    assert_int_equal(cuUserObjectRelease(object, 1), CUDA_ERROR_INVALID_VALUE);
    assert_destroyed(0);
    OK(cuGraphDestroy(graph));
    assert_destroyed(1);
}

CHILD_TEST(a_graph_releases_only_what_it_holds)
{
    graph_start();
    CUuserObject object = new_object(5);
    OK(cuGraphRetainUserObject(graph, object, 1, 0));
    assert_int_equal(cuGraphReleaseUserObject(graph, object, 2), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphReleaseUserObject(new_graph(), object, 1), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuUserObjectRelease(object, 6), CUDA_ERROR_INVALID_VALUE);
    assert_destroyed(0);
}

CHILD_TEST(what_makes_no_sense_is_refused)
{
    CUuserObject made;
    graph_start();
    CUuserObject object = new_object(1);
    const unsigned flag = CU_USER_OBJECT_NO_DESTRUCTOR_SYNC;
    const CUresult answers[] = {
        cuUserObjectCreate(NULL, NULL, destroy, 1, flag),
        cuUserObjectCreate(&made, NULL, NULL, 1, flag),
        cuUserObjectCreate(&made, NULL, destroy, 0, flag),
        cuUserObjectCreate(&made, NULL, destroy, 1, 0),
        cuUserObjectRetain(object, 0),
        cuUserObjectRetain(object, 1u << 31),
        cuUserObjectRelease(object, 0),
        cuUserObjectRetain((CUuserObject)graph, 1),
        cuGraphRetainUserObject(NULL, object, 1, 0),
        cuGraphRetainUserObject(graph, object, 1, 2),
        cuGraphRetainUserObject(graph, object, 0, 0),
        cuGraphReleaseUserObject(graph, object, 1),
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        assert_int_equal(answers[i], CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(clones_and_child_graphs_hold_references_too)
{
    CUgraph clone;
    CUgraphNode node;
    graph_start();
    CUuserObject object = new_object(1);
    OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    CUgraph parent = new_graph();
    OK(cuGraphAddChildGraphNode(&node, parent, NULL, 0, graph));
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphDestroy(graph));
    OK(cuGraphDestroy(clone));
    assert_destroyed(0);
    OK(cuGraphDestroyNode(node));
    assert_destroyed(1);
}

CHILD_TEST(an_exec_holds_references_until_its_launches_are_done)
{
    graph_start();
    CUuserObject object = new_object(1);
    OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    (void)new_add(graph, NULL, 0, 1);
    instantiate();
    OK(cuGraphDestroy(graph));
    OK(cuGraphLaunch(exec, one));
    OK(cuGraphExecDestroy(exec));
    assert_destroyed(0);
    OK(cuStreamSynchronize(one));
    assert_destroyed(1);
}

CHILD_TEST(an_update_replaces_references_when_earlier_launches_are_done)
{
    CUgraphExecUpdateResultInfo info;
    graph_start();
    CUuserObject old = new_object(1), new = new_object(1);
    OK(cuGraphRetainUserObject(graph, old, 1, CU_GRAPH_USER_OBJECT_MOVE));
    (void)new_add(graph, NULL, 0, 1);
    instantiate();
    OK(cuGraphDestroy(graph));
    graph = new_graph();
    OK(cuGraphRetainUserObject(graph, new, 1, CU_GRAPH_USER_OBJECT_MOVE));
    (void)new_add(graph, NULL, 0, 2);
    OK(cuGraphLaunch(exec, one));
    OK(cuGraphExecUpdate(exec, graph, &info));
    assert_destroyed(0);
    OK(cuStreamSynchronize(one));
    assert_destroyed(1);
    OK(cuGraphDestroy(graph));
    assert_destroyed(1);
    OK(cuGraphExecDestroy(exec));
    assert_destroyed(2);
}

CHILD_TEST(a_refused_update_replaces_no_reference)
{
    CUgraphExecUpdateResultInfo info;
    graph_start();
    CUuserObject object = new_object(1);
    OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    (void)new_add(graph, NULL, 0, 1);
    instantiate();
    OK(cuGraphDestroy(graph));
    assert_int_equal(cuGraphExecUpdate(exec, new_graph(), &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_destroyed(0);
    OK(cuGraphExecDestroy(exec));
    assert_destroyed(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_reference_destroys_the_object_once),
        cmocka_unit_test(a_graph_takes_references_of_its_own),
        cmocka_unit_test(moved_references_are_the_program_s_no_more),
        cmocka_unit_test(a_graph_releases_only_what_it_holds),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(clones_and_child_graphs_hold_references_too),
        cmocka_unit_test(an_exec_holds_references_until_its_launches_are_done),
        cmocka_unit_test(an_update_replaces_references_when_earlier_launches_are_done),
        cmocka_unit_test(a_refused_update_replaces_no_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
