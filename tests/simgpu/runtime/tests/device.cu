/* device.cu - runtime calls end to end, from the program's source to the device's memory; runs on the simulated driver, on
 * two devices, and built with nvcc on GPUs. */
#include <cuda_runtime.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>
extern "C" {
#include <cmocka.h>
}

#define CHECK(call)        assert_int_equal(call, cudaSuccess)
#define FAILS(error, call) (assert_int_equal(call, error), assert_int_equal(cudaGetLastError(), error))

__global__ void add(int *x, int value, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        x[i] += value;
}

__global__ void copy(const int *from, int *to, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        to[i] = from[i];
}

static std::vector<int> numbers(int n, int first = 0)
{
    std::vector<int> values(n);
    for (int i = 0; i < n; i++)
        values[i] = first + i;
    return values;
}

static void holds(const int *on_device, int n, int first)
{
    std::vector<int> values(n, -1);
    CHECK(cudaMemcpy(values.data(), on_device, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        assert_int_equal(values[i], first + i);
}

/* --- memory --- */

static void an_allocation_shows_in_the_free_memory(void **)
{
    size_t before, during, after, total;
    void *p;
    CHECK(cudaMemGetInfo(&before, &total));
    assert_true(before <= total && before > 0);
    CHECK(cudaMalloc(&p, 64 << 20));
    CHECK(cudaMemGetInfo(&during, &total));
    assert_true(before - during >= 64u << 20);
    CHECK(cudaFree(p));
    CHECK(cudaMemGetInfo(&after, &total));
    assert_int_equal(after, before);
}

static void more_than_the_device_has_is_out_of_memory(void **)
{
    size_t free_bytes, total;
    void *p;
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    FAILS(cudaErrorMemoryAllocation, cudaMalloc(&p, 2 * total));
    CHECK(cudaMalloc(&p, 1));
    CHECK(cudaFree(p));
    FAILS(cudaErrorInvalidValue, cudaFree((void *)0x1234));
}

static void rows_have_the_pitch_that_was_given(void **)
{
    const auto values = numbers(30 * 10);
    std::vector<int> back(30 * 10);
    size_t pitch;
    char *p;
    CHECK(cudaMallocPitch(&p, &pitch, 30 * sizeof(int), 10));
    assert_true(pitch >= 30 * sizeof(int));
    CHECK(cudaMemset2D(p, pitch, 0xff, 30 * sizeof(int), 10));
    CHECK(cudaMemcpy2D(p, pitch, values.data(), 30 * sizeof(int), 30 * sizeof(int), 10, cudaMemcpyHostToDevice));
    holds((int *)(p + 3 * pitch), 30, 90);
    CHECK(cudaMemcpy2DAsync(back.data(), 30 * sizeof(int), p, pitch, 30 * sizeof(int), 10, cudaMemcpyDeviceToHost, 0));
    CHECK(cudaStreamSynchronize(0));
    assert_memory_equal(back.data(), values.data(), back.size() * sizeof(int));
    FAILS(cudaErrorInvalidPitchValue, cudaMemcpy2D(p, 4, p, pitch, 30, 2, cudaMemcpyDeviceToDevice));
    CHECK(cudaFree(p));
}

static void boxes_are_copied_plane_by_plane(void **)
{
    const auto values = numbers(4 * 3 * 5);
    std::vector<int> back(4 * 3 * 5);
    cudaPitchedPtr box;
    const cudaExtent extent = make_cudaExtent(4 * sizeof(int), 3, 5);
    CHECK(cudaMalloc3D(&box, extent));
    CHECK(cudaMemset3D(box, 0, extent));
    cudaMemcpy3DParms in = {};
    in.srcPtr = make_cudaPitchedPtr((void *)values.data(), 4 * sizeof(int), 4 * sizeof(int), 3);
    in.dstPtr = box;
    in.extent = extent;
    in.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&in));
    cudaMemcpy3DParms out = {};
    out.srcPtr = box;
    out.srcPos = make_cudaPos(0, 1, 2); /* rows 1 and 2 of planes 2 to 4 */
    out.dstPtr = make_cudaPitchedPtr(back.data(), 4 * sizeof(int), 4 * sizeof(int), 2);
    out.extent = make_cudaExtent(4 * sizeof(int), 2, 3);
    out.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3DAsync(&out, 0));
    CHECK(cudaDeviceSynchronize());
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < 2; y++)
            for (int x = 0; x < 4; x++)
                assert_int_equal(back[(z * 2 + y) * 4 + x], ((z + 2) * 3 + y + 1) * 4 + x);
    CHECK(cudaFree(box.ptr));
}

static void memory_comes_and_goes_in_stream_order(void **)
{
    cudaStream_t stream;
    cudaMemPool_t pool, own;
    int *p, *q;
    uint64_t threshold = ~0ull;
    const auto values = numbers(1000);

    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CHECK(cudaMallocAsync(&p, 4000, stream));
    CHECK(cudaMemcpyAsync(p, values.data(), 4000, cudaMemcpyHostToDevice, stream));
    add<<<4, 32, 0, stream>>>(p, 5, 1000);
    CHECK(cudaMallocAsync(&q, 4000, stream));
    copy<<<4, 32, 0, stream>>>(p, q, 1000);
    CHECK(cudaFreeAsync(p, stream));
    CHECK(cudaStreamSynchronize(stream));
    holds(q, 1000, 5);
    CHECK(cudaFreeAsync(q, stream));

    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&own, &properties));
    CHECK(cudaMallocFromPoolAsync((void **)&p, 100, own, stream));
    CHECK(cudaMemsetAsync(p, 0, 100, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeAsync(p, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(own, 0));
    CHECK(cudaMemPoolDestroy(own));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    CHECK(cudaStreamDestroy(stream));
}

static void pinned_memory_is_seen_from_both_sides(void **)
{
    unsigned flags;
    int *host, *device;
    CHECK(cudaHostAlloc(&host, 4000, cudaHostAllocMapped | cudaHostAllocPortable));
    CHECK(cudaHostGetFlags(&flags, host));
    assert_true(flags & cudaHostAllocMapped);
    CHECK(cudaHostGetDevicePointer(&device, host, 0));
    for (int i = 0; i < 1000; i++)
        host[i] = i;
    add<<<1, 32>>>(device, 100, 1000);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 1000; i++)
        assert_int_equal(host[i], i + 100);
    CHECK(cudaFreeHost(host));

    void *own = aligned_alloc(4096, 8192);
    CHECK(cudaHostRegister(own, 8192, cudaHostRegisterDefault));
    FAILS(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(own, 8192, cudaHostRegisterDefault));
    CHECK(cudaHostUnregister(own));
    FAILS(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(own));
    free(own);
}

static void a_pointer_tells_where_it_points(void **)
{
    cudaPointerAttributes attributes;
    int here;
    char *device;
    void *host;
    CHECK(cudaMalloc(&device, 100));
    CHECK(cudaMallocHost(&host, 100));
    CHECK(cudaPointerGetAttributes(&attributes, device + 50));
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    assert_int_equal(attributes.device, 0);
    assert_ptr_equal(attributes.devicePointer, device + 50);
    CHECK(cudaPointerGetAttributes(&attributes, host));
    assert_int_equal(attributes.type, cudaMemoryTypeHost);
    assert_ptr_equal(attributes.hostPointer, host);
    CHECK(cudaPointerGetAttributes(&attributes, &here));
    assert_int_equal(attributes.type, cudaMemoryTypeUnregistered);
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
}

static void managed_memory_is_one_for_both(void **)
{
    int *p;
    CHECK(cudaMallocManaged(&p, 4000));
    for (int i = 0; i < 1000; i++)
        p[i] = i;
    add<<<1, 32>>>(p, 1, 1000);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 1000; i++)
        assert_int_equal(p[i], i + 1);
    CHECK(cudaFree(p));
}

static void a_batch_copies_all_its_parts(void **)
{
    const auto values = numbers(30);
    cudaStream_t stream;
    int *p;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&p, 30 * sizeof(int)));
    const void *from[] = {&values[20], &values[0], &values[10]};
    void *to[] = {p + 20, p, p + 10};
    size_t bytes[] = {10 * sizeof(int), 10 * sizeof(int), 10 * sizeof(int)}, start = 0;
    cudaMemcpyAttributes attributes = {};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    CHECK(cudaMemcpyBatchAsync((void *const *)to, (const void *const *)from, bytes, 3, &attributes, &start, 1, stream));
    CHECK(cudaStreamSynchronize(stream));
    holds(p, 30, 0);
    CHECK(cudaFree(p));
    CHECK(cudaStreamDestroy(stream));
}

/* --- streams and events --- */

static void streams_know_their_flags_and_priorities(void **)
{
    cudaStream_t stream;
    unsigned flags;
    int least, greatest, priority, device;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    assert_true(greatest <= least);
    CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
    CHECK(cudaStreamGetFlags(stream, &flags));
    assert_int_equal(flags, cudaStreamNonBlocking);
    CHECK(cudaStreamGetPriority(stream, &priority));
    assert_int_equal(priority, greatest);
    CHECK(cudaStreamGetDevice(stream, &device));
    assert_int_equal(device, 0);
    CHECK(cudaStreamQuery(stream));
    CHECK(cudaStreamDestroy(stream));
}

static void an_event_orders_two_streams_and_tells_the_time(void **)
{
    const int n = 1 << 20;
    const auto values = numbers(n);
    cudaStream_t first, second;
    cudaEvent_t start, copied, end;
    float milliseconds = -1;
    int *p, *pinned;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaMalloc(&p, n * sizeof(int)));
    CHECK(cudaMallocHost(&pinned, n * sizeof(int)));
    memcpy(pinned, values.data(), n * sizeof(int));

    CHECK(cudaEventRecord(start, first));
    CHECK(cudaMemcpyAsync(p, pinned, n * sizeof(int), cudaMemcpyHostToDevice, first));
    CHECK(cudaEventRecord(copied, first));
    CHECK(cudaStreamWaitEvent(second, copied, 0));
    add<<<64, 128, 0, second>>>(p, 3, n);
    CHECK(cudaEventRecord(end, second));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventQuery(end));
    CHECK(cudaEventElapsedTime(&milliseconds, start, end));
    assert_true(milliseconds > 0);
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, copied, end));
    holds(p, n, 3);

    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(copied));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaFree(p));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
}

static void note_host(void *data)
{
    std::vector<int> *order = (std::vector<int> *)data;
    order->push_back(1);
}

static void CUDART_CB note_callback(cudaStream_t, cudaError_t error, void *data)
{
    std::vector<int> *order = (std::vector<int> *)data;
    order->push_back(error == cudaSuccess ? 2 : -1);
}

static void host_functions_run_in_stream_order(void **)
{
    std::vector<int> order;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaLaunchHostFunc(stream, note_host, &order));
    CHECK(cudaStreamAddCallback(stream, note_callback, &order, 0));
    CHECK(cudaLaunchHostFunc(stream, note_host, &order));
    CHECK(cudaStreamSynchronize(stream));
    assert_int_equal(order.size(), 3);
    assert_true(order[0] == 1 && order[1] == 2 && order[2] == 1);
    CHECK(cudaStreamDestroy(stream));
}

/* --- launches and graphs --- */

/* A driver may do without graphs, if it says so. */
static bool has_graphs()
{
    cudaGraph_t graph;
    const cudaError_t error = cudaGraphCreate(&graph, 0);
    if (error == cudaErrorNotSupported) {
        (void)cudaGetLastError();
        print_message("# no graphs\n");
        return false;
    }
    CHECK(error);
    CHECK(cudaGraphDestroy(graph));
    return true;
}

static void every_form_of_launch_launches(void **)
{
    int *p, value = 1, n = 100;
    cudaLaunchConfig_t config = {};
    CHECK(cudaMalloc(&p, n * sizeof(int)));
    CHECK(cudaMemcpy(p, numbers(n).data(), n * sizeof(int), cudaMemcpyHostToDevice));
    void *args[] = {&p, &value, &n};
    add<<<dim3(2, 1, 1), 32>>>(p, 1, n);
    CHECK(cudaLaunchKernel((const void *)add, dim3(2), dim3(32), args, 0, 0));
    CHECK(cudaLaunchCooperativeKernel((const void *)add, dim3(2), dim3(32), args, 0, 0));
    config.gridDim = dim3(2);
    config.blockDim = dim3(32);
    CHECK(cudaLaunchKernelExC(&config, (const void *)add, args));
    CHECK(cudaLaunchKernelEx(&config, add, p, 1, n));
    holds(p, n, 5);
    add<<<1, 4096>>>(p, 1, n);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidConfiguration);
    CHECK(cudaFree(p));
}

static void a_kernel_knows_its_limits(void **)
{
    cudaFuncAttributes attributes;
    int blocks, grid = 0, size = 0;
    CHECK(cudaFuncGetAttributes(&attributes, add));
    assert_true(attributes.maxThreadsPerBlock >= 32 && attributes.maxThreadsPerBlock <= 1024);
    CHECK(cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 << 10));
    CHECK(cudaFuncGetAttributes(&attributes, add));
    assert_int_equal(attributes.maxDynamicSharedSizeBytes, 48 << 10);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
    assert_true(blocks >= 1 && blocks <= 32);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &size, add));
    assert_true(grid >= 1 && size >= 32);
}

static void a_captured_graph_does_it_again(void **)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaStreamCaptureStatus status;
    size_t nodes = 0;
    int *p, *q;
    if (!has_graphs())
        return;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&p, 4000));
    CHECK(cudaMalloc(&q, 4000));
    CHECK(cudaMemcpy(p, numbers(1000).data(), 4000, cudaMemcpyHostToDevice));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaStreamIsCapturing(stream, &status));
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    add<<<4, 32, 0, stream>>>(p, 1, 1000);
    CHECK(cudaMemsetAsync(q, 0, 4000, stream));
    CHECK(cudaMemcpyAsync(q, p, 4000, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphGetNodes(graph, NULL, &nodes));
    assert_int_equal(nodes, 3);
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    holds(p, 1000, 0); /* nothing has run */
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    holds(q, 1000, 3);
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(p));
    CHECK(cudaFree(q));
    CHECK(cudaStreamDestroy(stream));
}

static void a_graph_may_be_built_node_by_node(void **)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaGraphNode_t set, kernel, out;
    int *p, value = 7, n = 100;
    std::vector<int> back(n);
    if (!has_graphs())
        return;
    CHECK(cudaMalloc(&p, n * sizeof(int)));
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams zero = {};
    zero.dst = p;
    zero.elementSize = 1;
    zero.width = n * sizeof(int);
    zero.height = 1;
    CHECK(cudaGraphAddMemsetNode(&set, graph, NULL, 0, &zero));
    void *args[] = {&p, &value, &n};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)add;
    launch.gridDim = dim3(2);
    launch.blockDim = dim3(32);
    launch.kernelParams = args;
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &set, 1, &launch));
    CHECK(cudaGraphAddMemcpyNode1D(&out, graph, &kernel, 1, back.data(), p, n * sizeof(int), cudaMemcpyDeviceToHost));
    cudaKernelNodeParams known = {};
    CHECK(cudaGraphKernelNodeGetParams(kernel, &known));
    assert_int_equal(known.blockDim.x, 32);
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, 0));
    CHECK(cudaStreamSynchronize(0));
    for (int x : back)
        assert_int_equal(x, 7);
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(p));
}

/* --- devices --- */

static void properties_and_attributes_agree(void **)
{
    cudaDeviceProp properties;
    int value;
    size_t free_bytes, total;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    assert_int_equal(properties.multiProcessorCount, value);
    assert_int_equal(properties.warpSize, 32);
    assert_true(properties.major >= 7 && properties.name[0]);
    assert_int_equal(properties.unifiedAddressing, 1);
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    assert_true(total <= properties.totalGlobalMem);
    FAILS(cudaErrorInvalidDevice, cudaGetDeviceProperties(&properties, 99));
}

static void two_devices_hand_memory_to_each_other(void **)
{
    int count, can, device, *here, *there;
    CHECK(cudaGetDeviceCount(&count));
    if (count < 2) {
        print_message("# one device\n");
        return;
    }
    CHECK(cudaMalloc(&here, 400));
    CHECK(cudaMemcpy(here, numbers(100).data(), 400, cudaMemcpyHostToDevice));
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&there, 400));
    CHECK(cudaMemcpyPeer(there, 1, here, 0, 400));
    add<<<1, 32>>>(there, 5, 100);
    holds(there, 100, 5);
    CHECK(cudaDeviceCanAccessPeer(&can, 1, 0));
    if (can) {
        CHECK(cudaDeviceEnablePeerAccess(0, 0));
        FAILS(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(0, 0));
        CHECK(cudaDeviceDisablePeerAccess(0));
    }
    CHECK(cudaFree(there));
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDevice(&device));
    assert_int_equal(device, 0);
    CHECK(cudaFree(here));
}

/* Last: it ends the context. */
static void a_fault_is_told_and_stays_until_the_reset(void **)
{
    void *p = NULL;
    add<<<1, 32>>>((int *)0x10, 1, 100);
    CHECK(cudaGetLastError());
    assert_int_equal(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    assert_int_equal(cudaGetLastError(), cudaErrorIllegalAddress);
    assert_int_equal(cudaMalloc(&p, 100), cudaErrorIllegalAddress);
#ifdef SIMGPU
    int *q;
    CHECK(cudaDeviceReset());
    CHECK(cudaMalloc(&q, 400));
    CHECK(cudaMemcpy(q, numbers(100).data(), 400, cudaMemcpyHostToDevice));
    add<<<1, 32>>>(q, 1, 100);
    holds(q, 100, 1);
    CHECK(cudaFree(q));
#endif
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_shows_in_the_free_memory),
        cmocka_unit_test(more_than_the_device_has_is_out_of_memory),
        cmocka_unit_test(rows_have_the_pitch_that_was_given),
        cmocka_unit_test(boxes_are_copied_plane_by_plane),
        cmocka_unit_test(memory_comes_and_goes_in_stream_order),
        cmocka_unit_test(pinned_memory_is_seen_from_both_sides),
        cmocka_unit_test(a_pointer_tells_where_it_points),
        cmocka_unit_test(managed_memory_is_one_for_both),
        cmocka_unit_test(a_batch_copies_all_its_parts),
        cmocka_unit_test(streams_know_their_flags_and_priorities),
        cmocka_unit_test(an_event_orders_two_streams_and_tells_the_time),
        cmocka_unit_test(host_functions_run_in_stream_order),
        cmocka_unit_test(every_form_of_launch_launches),
        cmocka_unit_test(a_kernel_knows_its_limits),
        cmocka_unit_test(a_captured_graph_does_it_again),
        cmocka_unit_test(a_graph_may_be_built_node_by_node),
        cmocka_unit_test(properties_and_attributes_agree),
        cmocka_unit_test(two_devices_hand_memory_to_each_other),
        cmocka_unit_test(a_fault_is_told_and_stays_until_the_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
