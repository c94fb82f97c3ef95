/* test-driver.c - calls, misuse, time, faults on request, sabotage, graphs and statistics. */
#include "device.h"

#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1024, BYTES = 4 * COUNT };

CHILD_TEST(misuse_is_answered_as_the_driver_does)
{
    CUdeviceptr p;
    CUstream s;
    CUcontext none = NULL;
    assert_int_equal(cuMemAlloc(&p, 4), CUDA_ERROR_NOT_INITIALIZED);
    OK(cuInit(0));
    assert_int_equal(cuMemAlloc(&p, 4), CUDA_ERROR_INVALID_CONTEXT);
    device_start();
    OK(cuMemAlloc(&p, 64));
    assert_int_equal(cuMemAlloc(&p, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemFree(p + 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
    assert_int_equal(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
    s = new_stream();
    OK(cuStreamDestroy(s));
    assert_int_equal(cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuLaunchKernel(empty, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuLaunchKernel(empty, 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuLaunchKernel((CUfunction)&none, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
}

CHILD_TEST(a_forked_child_has_no_device)
{
    int status, version;
    device_start();
    pid_t child = fork();
    if (child == 0)
        _exit(cuCtxSynchronize() != CUDA_ERROR_NOT_INITIALIZED || cuDriverGetVersion(&version) != CUDA_SUCCESS);
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    OK(cuCtxSynchronize());
}

static CUresult inside;

static void call_cuda(void *data)
{
    (void)data;
    inside = cuCtxSynchronize();
}

CHILD_TEST(a_host_function_may_not_call)
{
    device_start();
    OK(cuLaunchHostFunc(NULL, call_cuda, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(inside, CUDA_ERROR_NOT_PERMITTED);
}

static sem_t posted;

static void wait_for_post(void *data)
{
    while (sem_wait(data) != 0)
        continue;
}

CHILD_TEST(streams_go_on_beside_a_host_function_that_waits)
{
    enum { WAITS_NO_LONGER_S = 30 };
    CUdeviceptr p;
    device_start();
    CUstream held_up = new_stream(), beside = new_stream();
    sem_init(&posted, 0, 0);
    OK(cuMemAlloc(&p, BYTES));
    OK(cuLaunchHostFunc(held_up, wait_for_post, &posted));
    OK(cuMemsetD8Async(p, 1, BYTES / 2, held_up));
    OK(cuMemsetD8Async(p + BYTES / 2, 2, BYTES / 2, beside));
    alarm(WAITS_NO_LONGER_S);
    OK(cuStreamSynchronize(beside));
    assert_int_equal(cuStreamQuery(held_up), CUDA_ERROR_NOT_READY);
    sem_post(&posted);
    OK(cuStreamSynchronize(held_up));
}

CHILD_TEST(parameters_end_where_the_layout_ends)
{
    size_t offset, size;
    const char *name;
    device_start();
    OK(cuFuncGetParamInfo(add, 2, &offset, &size));
    assert_int_equal(offset, 12);
    assert_int_equal(size, 4);
    assert_int_equal(cuFuncGetParamInfo(add, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncGetName(&name, add));
    assert_string_equal(name, "add");
}

/* ---- time ---- */

static double milliseconds(CUevent from, CUevent to)
{
    float ms;
    OK(cuEventElapsedTime(&ms, from, to));
    return ms;
}

CHILD_TEST(a_copy_takes_its_bytes_over_its_rate, "SIMGPU_PROFILE", "a100-40g", "SIMGPU_SCALE_BYTES", "100")
{
    CUdeviceptr p;
    device_start();
    OK(cuMemAlloc(&p, 8 * MIB));
    void *pinned = new_pinned(8 * MIB, 0);
    CUstream s = new_stream();
    CUevent start = new_event(), end = new_event();
    OK(cuEventRecord(start, s));
    OK(cuMemcpyHtoDAsync(p, pinned, 8 * MIB, s));
    OK(cuEventRecord(end, s));
    OK(cuEventSynchronize(end));
    assert_true(milliseconds(start, end) > 33.1 && milliseconds(start, end) < 33.3); /* 838.9 MB at 25.3 GB/s */
}

CHILD_TEST(both_directions_at_once_are_slower, "SIMGPU_PROFILE", "a100-40g", "SIMGPU_SCALE_BYTES", "100")
{
    CUdeviceptr p, q;
    device_start();
    OK(cuMemAlloc(&p, 8 * MIB));
    OK(cuMemAlloc(&q, 8 * MIB));
    void *in = new_pinned(8 * MIB, 0), *out = new_pinned(8 * MIB, 0);
    CUstream s = new_stream(), t = new_stream();
    CUevent start = new_event(), end = new_event();
    OK(cuEventRecord(start, s));
    OK(cuMemcpyHtoDAsync(p, in, 8 * MIB, s));
    OK(cuMemcpyDtoHAsync(out, q, 8 * MIB, t));
    OK(cuEventRecord(end, s));
    OK(cuCtxSynchronize());
    assert_true(milliseconds(start, end) > 44 && milliseconds(start, end) < 47); /* 33.2 / 0.72, less the end of it alone */
}

/* Where it has begun nobody knows exactly: page-locking takes time as well. */
CHILD_TEST(a_link_is_slower_from_when_it_is_told_to_be, "SIMGPU_PROFILE", "a100-40g", "SIMGPU_SCALE_BYTES", "100",
           "SIMGPU_SLOWER_LINK", "h2d:2@120")
{
    enum { COPIES = 6 };
    CUdeviceptr p;
    device_start();
    OK(cuMemAlloc(&p, 8 * MIB));
    void *pinned = new_pinned(8 * MIB, 0);
    CUstream s = new_stream();
    CUevent between[COPIES + 2];
    for (int i = 0; i < COPIES + 2; i++)
        between[i] = new_event();
    OK(cuEventRecord(between[0], s));
    for (int i = 1; i < COPIES + 2; i++) {
        OK(i <= COPIES ? cuMemcpyHtoDAsync(p, pinned, 8 * MIB, s) : cuMemcpyDtoHAsync(pinned, p, 8 * MIB, s));
        OK(cuEventRecord(between[i], s));
    }
    OK(cuStreamSynchronize(s));
    int fast = 0; /* copies, of which the last one begins before that time */
    while (fast < COPIES && milliseconds(between[fast], between[fast + 1]) < 33.3)
        fast++;
    assert_in_range(fast, 1, 4);
    for (int i = fast; i < COPIES; i++)
        assert_true(milliseconds(between[i], between[i + 1]) > 66.2 && milliseconds(between[i], between[i + 1]) < 66.6);
    assert_true(milliseconds(between[COPIES], between[COPIES + 1]) < 40);
}

CHILD_TEST(a_kernel_runs_beside_a_copy, "SIMGPU_SCALE_BYTES", "1000", "SIMGPU_SCALE_OPS", "1e9")
{
    CUdeviceptr p, q;
    device_start();
    OK(cuMemAlloc(&p, 4 * MIB));
    OK(cuMemAlloc(&q, MIB));
    void *in = new_pinned(4 * MIB, 0);
    OK(cuMemsetD8(q, 0, MIB));
    OK(cuCtxSynchronize());
    CUstream s = new_stream(), t = new_stream();
    CUevent start = new_event(), copied = new_event(), computed = new_event();
    OK(cuEventRecord(start, s));
    OK(cuMemcpyHtoDAsync(p, in, 4 * MIB, s)); /* 75 ms */
    OK(cuEventRecord(copied, s));
    OK(launch_add(add, q, 30000, 1, t)); /* 61 ms */
    OK(cuEventRecord(computed, t));
    OK(cuCtxSynchronize());
    assert_true(milliseconds(start, copied) > 70 && milliseconds(start, copied) < 80);
    assert_true(milliseconds(start, computed) > 55 && milliseconds(start, computed) < 65);
}

static void busy_body(void)
{
    device_start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    void *pinned = new_pinned(GRANULE, 0);
    CUstream s = new_stream(), t = new_stream();
    CUevent e = new_event();
    for (int i = 0; i < 50; i++) {
        OK(cuMemcpyHtoDAsync(p, pinned, GRANULE, s));
        OK(cuEventRecord(e, s));
        OK(cuStreamWaitEvent(t, e, 0));
        OK(launch_add(add, p, COUNT, 1, t));
        OK(cuEventRecord(e, t));
        OK(cuStreamWaitEvent(s, e, 0));
    }
    OK(cuCtxSynchronize());
}

static void the_same_program_takes_the_same_time(void **state)
{
    (void)state;
    assert_true(in_child(busy_body, NULL));
    long long first = child_stat("virtual_ns");
    assert_true(first > 0);
    assert_true(in_child(busy_body, NULL));
    assert_int_equal(child_stat("virtual_ns"), first);
}

/* ---- faults and sabotage ---- */

CHILD_TEST(the_nth_call_fails_as_asked, "SIMGPU_FAIL", "cuMemAlloc:2=CUDA_ERROR_OUT_OF_MEMORY,cuStreamCreate:2+=700")
{
    CUdeviceptr p;
    CUstream s;
    device_start();
    OK(cuMemAlloc(&p, 4));
    assert_int_equal(cuMemAlloc(&p, 4), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc(&p, 4));
    OK(cuStreamCreate(&s, 0));
    assert_int_equal(cuStreamCreate(&s, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuStreamCreate(&s, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void repeated_body(void)
{
    CUdeviceptr p, q;
    device_start();
    OK(cuMemAlloc(&p, 4));
    OK(cuMemAlloc(&q, 4));
    OK(cuMemcpyDtoD(p, q, 4));
    OK(cuCtxSynchronize());
}

static void places_for_faults_and_sabotage_are_counted(void **state)
{
    (void)state;
    assert_true(in_child(repeated_body, "SIMGPU_FAIL", "cuMemAlloc:9=700,cuMemFree:9=700", "SIMGPU_SABOTAGE",
                         "skip-kernel:9", NULL));
    assert_int_equal(child_stat("cuMemAlloc"), 2);
    assert_int_equal(child_stat("cuMemFree"), 0);
    assert_int_equal(child_stat("skip-copy"), 1);
    assert_int_equal(child_stat("skip-kernel"), 0);
    assert_true(in_child(repeated_body, NULL));
    assert_null(strstr(child_stats(), "cuMemAlloc"));
}

static void refused_body(void)
{
    assert_int_equal(cuInit(0), CUDA_ERROR_INVALID_VALUE);
}

static void a_bad_setting_is_refused_with_its_name(void **state)
{
    (void)state;
    assert_true(in_child(refused_body, "SIMGPU_MEMORY", "12Q", NULL));
    assert_non_null(strstr(child_stderr(), "SIMGPU_MEMORY=12Q"));
    assert_true(in_child(refused_body, "SIMGPU_SABOTAGE", "tea:1", NULL));
    assert_true(in_child(refused_body, "SIMGPU_BLOCK_ORDER", "backwards", NULL));
    assert_true(in_child(refused_body, "SIMGPU_LINGER", "0", NULL));
    assert_true(in_child(refused_body, "SIMGPU_LINGER", "10001", NULL));
    assert_non_null(strstr(child_stderr(), "SIMGPU_LINGER=10001"));
    assert_true(in_child(refused_body, "SIMGPU_QUERIES", "0", NULL));
    assert_true(in_child(refused_body, "SIMGPU_PROFILE", "toaster", NULL));
    assert_non_null(strstr(child_stderr(), "toaster"));
}

/* The last byte of what two copies and one wait bring to the host. */
static int round_trip(void)
{
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    unsigned char *pinned = new_pinned(GRANULE, 1);
    unsigned char *back = new_pinned(GRANULE, 0);
    CUstream s = new_stream(), t = new_stream();
    CUevent e = new_event();
    OK(cuMemcpyHtoDAsync(p, pinned, GRANULE, s));
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    (void)cuMemcpyDtoHAsync(back, p, GRANULE, t);
    return cuCtxSynchronize() == CUDA_SUCCESS ? back[GRANULE - 1] : -1;
}

CHILD_TEST(a_sound_device_brings_the_bytes_back)
{
    device_start();
    assert_int_equal(round_trip(), 1);
}

CHILD_TEST(a_skipped_copy_shows, "SIMGPU_SABOTAGE", "skip-copy:1")
{
    device_start();
    assert_int_equal(round_trip(), 0xCB);
}

CHILD_TEST(a_truncated_copy_shows, "SIMGPU_SABOTAGE", "truncate-copy:1")
{
    device_start();
    assert_int_equal(round_trip(), 0xCB);
}

CHILD_TEST(a_dropped_wait_shows, "SIMGPU_SABOTAGE", "drop-wait:1")
{
    device_start();
    assert_int_equal(round_trip(), -1);
}

CHILD_TEST(an_early_event_shows, "SIMGPU_SABOTAGE", "early-event:1")
{
    device_start();
    assert_int_equal(round_trip(), -1);
}

static int remapped_byte(void)
{
    CUmemGenericAllocationHandle handle;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr p = new_mapping(GRANULE, &handle);
    unsigned char byte;
    OK(cuMemsetD8(p, 5, GRANULE));
    OK(cuCtxSynchronize());
    OK(cuMemUnmap(p, GRANULE));
    OK(cuMemMap(p, GRANULE, 0, handle, 0));
    OK(cuMemSetAccess(p, GRANULE, &access, 1));
    OK(cuMemcpyDtoH(&byte, p, 1));
    return byte;
}

CHILD_TEST(a_sound_remap_keeps_the_bytes)
{
    device_start();
    assert_int_equal(remapped_byte(), 5);
}

CHILD_TEST(a_wrong_map_shows, "SIMGPU_SABOTAGE", "wrong-map:3")
{
    device_start();
    OK(cuMemsetD8(new_mapping(GRANULE, NULL), 9, GRANULE));
    assert_int_equal(remapped_byte(), 9);
}

CHILD_TEST(a_stale_map_shows, "SIMGPU_SABOTAGE", "stale-map:2")
{
    device_start();
    assert_int_equal(remapped_byte(), 0xCB);
}

/* ---- graphs ---- */

CHILD_TEST(a_captured_fork_and_join_runs_as_often_as_it_is_launched)
{
    CUdeviceptr p;
    CUgraph graph;
    CUgraphExec exec;
    float result;
    size_t nodes;
    device_start();
    OK(cuMemAlloc(&p, BYTES));
    OK(cuMemsetD8(p, 0, BYTES));
    CUstream s = new_stream(), t = new_stream();
    CUevent fork = new_event(), join = new_event();
    OK(cuCtxSynchronize());
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(launch_add(add, p, COUNT, 1, s));
    OK(cuEventRecord(fork, s));
    OK(cuStreamWaitEvent(t, fork, 0));
    OK(launch_add(add, p, COUNT / 2, 1, t));
    OK(launch_add(add, p + BYTES / 2, COUNT / 2, 10, s));
    OK(cuEventRecord(join, t));
    OK(cuStreamWaitEvent(s, join, 0));
    OK(launch_add(add, p, COUNT, 100, s));
    OK(cuStreamEndCapture(s, &graph));
    OK(cuGraphGetNodes(graph, NULL, &nodes));
    assert_int_equal(nodes, 4);
    OK(cuGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++)
        OK(cuGraphLaunch(exec, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(&result, p, 4));
    assert_true(result == 3 * 102);
    OK(cuMemcpyDtoH(&result, p + BYTES - 4, 4));
    assert_true(result == 3 * 111);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

CHILD_TEST(a_fork_that_does_not_come_back_is_refused)
{
    CUgraph graph;
    device_start();
    CUstream s = new_stream(), t = new_stream();
    CUevent fork = new_event();
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuEventRecord(fork, s));
    OK(cuStreamWaitEvent(t, fork, 0));
    OK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, t, NULL, NULL));
    assert_int_equal(cuStreamEndCapture(s, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    OK(cuStreamSynchronize(t));
}

CHILD_TEST(a_graph_is_ordered_like_its_stream)
{
    CUdeviceptr p;
    CUgraph graph;
    CUgraphExec exec;
    device_start();
    OK(cuMemAlloc(&p, BYTES));
    void *pinned = new_pinned(BYTES, 0);
    CUstream s = new_stream(), t = new_stream();
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(launch_add(add, p, COUNT, 1, s));
    OK(cuStreamEndCapture(s, &graph));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuMemcpyHtoDAsync(p, pinned, BYTES, t));
    (void)cuGraphLaunch(exec, s);
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

CHILD_TEST(parameters_of_a_kernel_node_can_be_changed_in_the_exec)
{
    CUdeviceptr p;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    int count = 1;
    float value = 1, result;
    device_start();
    OK(cuMemAlloc(&p, 4));
    OK(cuMemsetD8(p, 0, 4));
    void *params[] = {&p, &count, &value};
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = add,
                                      .gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = 1,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = params};
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode(&node, graph, NULL, 0, &kernel));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    value = 10;
    OK(cuGraphExecKernelNodeSetParams(exec, node, &kernel));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuMemcpyDtoH(&result, p, 4));
    assert_true(result == 11);
}

/* ---- statistics ---- */

static void counted_body(void)
{
    CUdeviceptr p, q;
    device_start();
    OK(cuMemAlloc(&p, MIB));
    OK(cuMemAlloc(&q, 2 * MIB));
    OK(cuMemFree(q));
    OK(launch_add(add, p, 1, 1, NULL));
    void *pinned = new_pinned(4096, 0);
    OK(cuMemcpyHtoD(p, pinned, 100));
    OK(cuMemcpyDtoD(p + 512, p, 10));
    CUmemGenericAllocationHandle handle;
    CUdeviceptr m = new_mapping(GRANULE, &handle);
    OK(cuMemUnmap(m, GRANULE));
    (void)new_event();
}

static void statistics_tell_what_was_done_and_what_is_left(void **state)
{
    (void)state;
    assert_true(in_child(counted_body, NULL));
    assert_int_equal(child_stat("peak_mapped_bytes"), 3 * MIB);
    assert_int_equal(child_stat("mapped_bytes_at_exit"), MIB);
    assert_int_equal(child_stat("launches"), 1);
    assert_int_equal(child_stat("allocations"), 2);
    assert_int_equal(child_stat("frees"), 1);
    assert_int_equal(child_stat("live_allocations_at_exit"), 1);
    assert_int_equal(child_stat("live_handles_at_exit"), 1);
    assert_int_equal(child_stat("live_reservations_at_exit"), 1);
    assert_int_equal(child_stat("events_at_exit"), 1);
    assert_int_equal(child_stat("streams_at_exit"), 0);
    assert_int_equal(child_stat("host_bytes_at_exit"), 4096);
    assert_non_null(strstr(child_stats(), "\"h2d\": {\"count\": 1, \"bytes\": 100}"));
    assert_non_null(strstr(child_stats(), "\"d2d\": {\"count\": 1, \"bytes\": 10}"));
    assert_int_equal(child_stat("map"), 1);
    assert_int_equal(child_stat("unmap"), 1);
}

/* Three waits for copies: the first is early, the second is for what is there, the third is the copying stream's own. */
static void brought_in_body(void)
{
    CUdeviceptr p;
    device_start();
    OK(cuMemAlloc(&p, MIB));
    void *pinned = new_pinned(MIB, 0);
    CUstream s = new_stream(), t = new_stream();
    CUevent e = new_event(), f = new_event();
    OK(launch_add(add, p, 1, 1, s));
    OK(cuEventRecord(f, s));
    OK(cuStreamWaitEvent(t, f, 0));
    OK(cuMemcpyHtoDAsync(p, pinned, MIB, t));
    OK(cuEventRecord(e, t));
    OK(cuStreamWaitEvent(s, e, 0));
    OK(launch_add(add, p, 1, 1, s));
    OK(cuCtxSynchronize());
    OK(cuStreamWaitEvent(s, e, 0));
    OK(launch_add(add, p, 1, 1, s));
}

static void waits_for_what_is_brought_in_are_counted_and_those_that_took_time(void **state)
{
    (void)state;
    assert_true(in_child(brought_in_body, "SIMGPU_PROFILE", "v100-16g", NULL));
    const char *counts = strstr(child_stats(), "\"brought_in\": {\"count\": 2, \"late\": 1, \"late_ns\": ");
    assert_non_null(counts);
    long long late_ns = child_stat("late_ns"); /* a MiB over 12.3 GB/s, or so */
    assert_true(late_ns > 80000 && late_ns < 100000);
}

/* ---- values ---- */

static void on_message(void *data, CUlogLevel level, char *message, size_t length)
{
    (void)data, (void)level, (void)message, (void)length;
    fail_msg("the device has no messages");
}

CHILD_TEST(who_wants_messages_of_the_driver_is_told_that_there_will_be_none)
{
    CUlogsCallbackHandle handle = NULL;
    assert_int_equal(cuLogsRegisterCallback(NULL, NULL, &handle), CUDA_ERROR_INVALID_VALUE);
    OK(cuLogsRegisterCallback(on_message, NULL, NULL));
    OK(cuLogsRegisterCallback(on_message, NULL, &handle));
    assert_non_null(handle);
    device_start();
    OK(cuLogsUnregisterCallback(handle));
    assert_int_equal(cuLogsUnregisterCallback(NULL), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(a_stream_waits_for_a_value_that_another_writes)
{
    CUdeviceptr p;
    unsigned seen = 0;
    device_start();
    OK(cuMemAlloc(&p, 8));
    OK(cuMemsetD32(p, 0, 2));
    OK(cuCtxSynchronize());
    CUstream s = new_stream(), t = new_stream();
    OK(cuStreamWaitValue32(s, p, 3, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamWriteValue32(s, p + 4, 9, 0));
    assert_int_equal(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    OK(cuStreamWriteValue32(t, p, 3, 0));
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(&seen, p + 4, 4));
    assert_int_equal(seen, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(misuse_is_answered_as_the_driver_does),
        cmocka_unit_test(a_forked_child_has_no_device),
        cmocka_unit_test(a_host_function_may_not_call),
        cmocka_unit_test(streams_go_on_beside_a_host_function_that_waits),
        cmocka_unit_test(parameters_end_where_the_layout_ends),
        cmocka_unit_test(a_copy_takes_its_bytes_over_its_rate),
        cmocka_unit_test(both_directions_at_once_are_slower),
        cmocka_unit_test(a_link_is_slower_from_when_it_is_told_to_be),
        cmocka_unit_test(a_kernel_runs_beside_a_copy),
        cmocka_unit_test(the_same_program_takes_the_same_time),
        cmocka_unit_test(the_nth_call_fails_as_asked),
        cmocka_unit_test(places_for_faults_and_sabotage_are_counted),
        cmocka_unit_test(a_bad_setting_is_refused_with_its_name),
        cmocka_unit_test(a_sound_device_brings_the_bytes_back),
        cmocka_unit_test(a_skipped_copy_shows),
        cmocka_unit_test(a_truncated_copy_shows),
        cmocka_unit_test(a_dropped_wait_shows),
        cmocka_unit_test(an_early_event_shows),
        cmocka_unit_test(a_sound_remap_keeps_the_bytes),
        cmocka_unit_test(a_wrong_map_shows),
        cmocka_unit_test(a_stale_map_shows),
        cmocka_unit_test(a_captured_fork_and_join_runs_as_often_as_it_is_launched),
        cmocka_unit_test(a_fork_that_does_not_come_back_is_refused),
        cmocka_unit_test(a_graph_is_ordered_like_its_stream),
        cmocka_unit_test(parameters_of_a_kernel_node_can_be_changed_in_the_exec),
        cmocka_unit_test(statistics_tell_what_was_done_and_what_is_left),
        cmocka_unit_test(waits_for_what_is_brought_in_are_counted_and_those_that_took_time),
        cmocka_unit_test(who_wants_messages_of_the_driver_is_told_that_there_will_be_none),
        cmocka_unit_test(a_stream_waits_for_a_value_that_another_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
