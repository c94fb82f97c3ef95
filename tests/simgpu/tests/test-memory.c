/* test-memory.c - allocation, mapping, capacity, poison, and the bytes that copies move. */
#include "device.h"

#include <string.h>

static const CUmemAllocationProp on_device = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                              .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
static const CUmemAccessDesc read_write = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

CHILD_TEST(fresh_memory_is_poisoned)
{
    unsigned char bytes[64];
    CUdeviceptr p;
    device_start();
    OK(cuMemAlloc(&p, 4096));
    OK(cuMemcpyDtoH(bytes, p + 1000, sizeof bytes));
    for (size_t i = 0; i < sizeof bytes; i++)
        assert_int_equal(bytes[i], 0xCB);
}

CHILD_TEST(a_handle_keeps_its_bytes_wherever_it_is_mapped)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr elsewhere;
    int value = 0;
    device_start();
    CUdeviceptr p = new_mapping(GRANULE, &handle);
    OK(cuMemcpyHtoD(p, &(int){42}, 4));
    OK(cuCtxSynchronize());
    OK(cuMemUnmap(p, GRANULE));
    OK(cuMemAddressReserve(&elsewhere, GRANULE, 0, 0, 0));
    OK(cuMemMap(elsewhere, GRANULE, 0, handle, 0));
    OK(cuMemSetAccess(elsewhere, GRANULE, &read_write, 1));
    OK(cuMemcpyDtoH(&value, elsewhere, 4));
    assert_int_equal(value, 42);
}

CHILD_TEST(capacity_is_enforced, "SIMGPU_MEMORY", "8MiB")
{
    CUdeviceptr p, q;
    size_t left, total;
    device_start();
    OK(cuMemAlloc(&p, 6 * MIB));
    assert_int_equal(cuMemAlloc(&q, 3 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemGetInfo(&left, &total));
    assert_int_equal(total, 8 * MIB);
    assert_int_equal(left, 2 * MIB);
    OK(cuMemFree(p));
    OK(cuMemAlloc(&q, 8 * MIB));
}

CHILD_TEST(granularity_is_enforced, "SIMGPU_GRANULARITY", "64KiB")
{
    CUmemGenericAllocationHandle handle;
    size_t granularity;
    device_start();
    OK(cuMemGetAllocationGranularity(&granularity, &on_device, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    assert_int_equal(granularity, 64 << 10);
    assert_int_equal(cuMemCreate(&handle, 100000, &on_device, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemCreate(&handle, 128 << 10, &on_device, 0));
}

CHILD_TEST(mapping_follows_the_rules)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr p;
    device_start();
    OK(cuMemAddressReserve(&p, 2 * GRANULE, 0, 0, 0));
    OK(cuMemCreate(&handle, GRANULE, &on_device, 0));
    assert_int_equal(cuMemMap(p, GRANULE, GRANULE, handle, 0), CUDA_ERROR_INVALID_VALUE);         /* offset */
    assert_int_equal(cuMemMap(p, 2 * GRANULE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);           /* too small a handle */
    assert_int_equal(cuMemMap(p + 4 * GRANULE, GRANULE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE); /* not reserved */
    OK(cuMemMap(p, GRANULE, 0, handle, 0));
    assert_int_equal(cuMemMap(p, GRANULE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);             /* mapped already */
    assert_int_equal(cuMemSetAccess(p, 2 * GRANULE, &read_write, 1), CUDA_ERROR_INVALID_VALUE); /* half of it is not */
    OK(cuMemSetAccess(p, GRANULE, &read_write, 1));
    assert_int_equal(cuMemUnmap(p, GRANULE / 2), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAddressFree(p, 2 * GRANULE), CUDA_ERROR_INVALID_VALUE); /* still mapped */
    OK(cuMemRelease(handle));                                                     /* the mapping keeps it */
    OK(cuMemsetD8(p, 7, GRANULE));
    OK(cuCtxSynchronize());
    OK(cuMemUnmap(p, GRANULE));
    OK(cuMemAddressFree(p, 2 * GRANULE));
    assert_int_equal(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
}

static void without_access_body(void)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr p;
    device_start();
    OK(cuMemAddressReserve(&p, GRANULE, 0, 0, 0));
    OK(cuMemCreate(&handle, GRANULE, &on_device, 0));
    OK(cuMemMap(p, GRANULE, 0, handle, 0));
    OK(launch_add(guessed, p + 64, 4, 1, NULL));
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(cuMemAlloc(&p, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void memory_without_access_is_a_fault_with_name_and_address(void **state)
{
    (void)state;
    assert_true(in_child(without_access_body, NULL));
    assert_int_equal(child_stat("faults"), 1);
    assert_non_null(strstr(child_stderr(), "kernel guessed"));
    assert_non_null(strstr(child_stderr(), "40, which it can't reach"));
}

CHILD_TEST(a_declared_range_that_is_not_mapped_is_a_fault_before_the_kernel_runs)
{
    CUdeviceptr p;
    device_start();
    OK(cuMemAlloc(&p, 64));
    OK(launch_add(add, p, 17, 1, NULL)); /* one too many, inside the same page */
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

CHILD_TEST(a_source_overwritten_too_early_gives_wrong_bytes)
{
    CUdeviceptr p;
    char result;
    device_start();
    OK(cuMemAlloc(&p, MIB));
    char *pinned = new_pinned(MIB, 1);
    CUstream s = new_stream();
    OK(cuMemcpyHtoDAsync(p, pinned, MIB, s));
    memset(pinned, 2, MIB);
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(&result, p, 1));
    assert_int_equal(result, 2);
}

CHILD_TEST(pageable_memory_is_read_at_the_call)
{
    CUdeviceptr p;
    static char pageable[4096];
    char result;
    device_start();
    OK(cuMemAlloc(&p, sizeof pageable));
    CUstream s = new_stream();
    memset(pageable, 1, sizeof pageable);
    OK(cuMemcpyHtoDAsync(p, pageable, sizeof pageable, s));
    memset(pageable, 2, sizeof pageable);
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(&result, p, 1));
    assert_int_equal(result, 1);
}

/* Whoever allows that promises that nothing is about to write it. */
CHILD_TEST(a_source_that_may_be_read_out_of_order_is_read_at_the_call)
{
    CUdeviceptr p;
    char result;
    size_t bytes = MIB, first = 0;
    device_start();
    OK(cuMemAlloc(&p, MIB));
    CUdeviceptr source = (CUdeviceptr)(uintptr_t)new_pinned(MIB, 1);
    CUstream s = new_stream();
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY};
    OK(cuMemcpyBatchAsync(&p, &source, &bytes, 1, &attributes, &first, 1, s));
    memset((void *)(uintptr_t)source, 2, MIB);
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(&result, p, 1));
    assert_int_equal(result, 1);
}

CHILD_TEST(rows_are_copied_with_their_pitches)
{
    char source[4][8], target[4][4];
    CUdeviceptr p;
    size_t pitch;
    device_start();
    for (int y = 0; y < 4; y++)
        memset(source[y], 'a' + y, 8);
    OK(cuMemAllocPitch(&p, &pitch, 8, 4, 4));
    CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = source,
                        .srcPitch = 8,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = p,
                        .dstPitch = pitch,
                        .WidthInBytes = 8,
                        .Height = 4};
    CUDA_MEMCPY2D out = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                         .srcDevice = p,
                         .srcPitch = pitch,
                         .srcXInBytes = 4,
                         .dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = target,
                         .dstPitch = 4,
                         .WidthInBytes = 4,
                         .Height = 4};
    OK(cuMemcpy2D(&in));
    OK(cuMemcpy2D(&out));
    for (int y = 0; y < 4; y++)
        assert_memory_equal(target[y], source[y], 4);
}

CHILD_TEST(sets_fill_elements)
{
    uint32_t words[4] = {0};
    CUdeviceptr p;
    device_start();
    OK(cuMemAlloc(&p, 16));
    OK(cuMemsetD32(p, 0x01020304, 3));
    OK(cuMemsetD16(p + 12, 0x0506, 2));
    OK(cuMemcpyDtoH(words, p, 16));
    assert_int_equal(words[2], 0x01020304);
    assert_int_equal(words[3], 0x05060506);
    assert_int_equal(cuMemsetD32(p + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(a_freed_block_is_handed_out_again_in_stream_order)
{
    CUdeviceptr p, q, other;
    CUmemoryPool pool;
    cuuint64_t keep = UINT64_MAX, reserved, used;
    device_start();
    CUstream s = new_stream(), t = new_stream();
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    OK(cuMemAllocAsync(&p, 4096, s));
    OK(cuMemsetD8Async(p, 1, 4096, s));
    OK(cuMemFreeAsync(p, s));
    OK(cuMemAllocAsync(&other, 4096, t)); /* nothing orders t after the free */
    OK(cuMemAllocAsync(&q, 4096, s));
    assert_int_equal(q, p);
    assert_int_not_equal(other, p);
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    assert_int_equal(used, 8192);
    OK(cuMemFreeAsync(q, s));
    OK(cuMemFreeAsync(other, t));
    OK(cuCtxSynchronize());
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
    assert_int_equal(reserved, 8192);
    OK(cuMemPoolTrimTo(pool, 0));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
    assert_int_equal(reserved, 0);
}

static size_t left_on(int ordinal)
{
    size_t left, total;
    CUcontext there, before;
    OK(cuCtxGetCurrent(&before));
    OK(cuDevicePrimaryCtxRetain(&there, ordinal));
    OK(cuCtxSetCurrent(there));
    OK(cuMemGetInfo(&left, &total));
    OK(cuCtxSetCurrent(before));
    OK(cuDevicePrimaryCtxRelease(ordinal));
    return left;
}

CHILD_TEST(what_comes_from_a_pool_lies_where_the_pool_does, "SIMGPU_DEVICES", "2")
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 1}};
    CUmemoryPool there, on_host;
    CUdeviceptr p, q;
    CUgraph graph;
    device_start();
    CUstream stream = new_stream();
    const size_t here = left_on(0), other = left_on(1);
    OK(cuMemPoolCreate(&there, &props));
    OK(cuMemAllocFromPoolAsync(&p, MIB, there, stream));
    assert_int_equal(left_on(0), here);
    assert_int_equal(left_on(1), other - MIB);
    props.location.type = CU_MEM_LOCATION_TYPE_HOST;
    OK(cuMemPoolCreate(&on_host, &props));
    OK(cuMemAllocFromPoolAsync(&q, MIB, on_host, stream));
    OK(cuMemsetD8Async(q, 7, MIB, stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(((const unsigned char *)(uintptr_t)q)[MIB - 1], 7);
    OK(cuMemFreeAsync(p, stream));
    OK(cuMemFreeAsync(q, stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(left_on(0), here);
    assert_int_equal(left_on(1), other);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuMemAllocFromPoolAsync(&p, MIB, there, stream));
    OK(cuStreamEndCapture(stream, &graph));
    assert_int_equal(left_on(0), here);
    assert_int_equal(left_on(1), other - MIB);
    OK(cuGraphDestroy(graph));
    OK(cuMemPoolDestroy(on_host));
    OK(cuMemPoolDestroy(there));
}

CHILD_TEST(a_stream_brings_its_context_along_to_a_free)
{
    CUdeviceptr p;
    CUcontext popped;
    device_start();
    CUstream stream = new_stream();
    OK(cuMemAllocAsync(&p, MIB, stream));
    OK(cuCtxPopCurrent(&popped));
    assert_int_equal(cuMemFreeAsync(p, NULL), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuMemFreeAsync(p, stream));
    assert_int_equal(cuMemFreeAsync(p, stream), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(a_pointer_knows_where_it_belongs)
{
    CUdeviceptr p, start, reserved;
    unsigned type;
    size_t size;
    int mapped = 7;
    device_start();
    OK(cuMemAlloc(&p, 1000));
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 999));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p + 999));
    assert_int_equal(start, p);
    OK(cuMemGetAddressRange(&start, &size, p + 10));
    assert_int_equal(size, 1000);
    assert_int_equal(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 1000), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAddressReserve(&reserved, GRANULE, 0, 0, 0));
    assert_int_equal(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, reserved), CUDA_ERROR_INVALID_VALUE);
    OK(cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, reserved));
    assert_int_equal(mapped, 0);
}

CHILD_TEST(host_handles_can_be_switched_off, "SIMGPU_HOST_NUMA", "0")
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}};
    CUmemGenericAllocationHandle handle;
    int can = 1;
    device_start();
    OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    assert_int_equal(can, 0);
    assert_int_equal(cuMemCreate(&handle, GRANULE, &prop, 0), CUDA_ERROR_NOT_SUPPORTED);
}

CHILD_TEST(a_host_handle_serves_device_and_host)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}};
    CUmemAccessDesc both[] = {read_write, {{CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr p;
    device_start();
    OK(cuMemAddressReserve(&p, GRANULE, 0, 0, 0));
    OK(cuMemCreate(&handle, GRANULE, &prop, 0));
    OK(cuMemMap(p, GRANULE, 0, handle, 0));
    OK(cuMemSetAccess(p, GRANULE, both, 2));
    *(float *)(uintptr_t)p = 1;
    OK(launch_add(add, p, 1, 2, NULL));
    OK(cuCtxSynchronize());
    assert_true(*(float *)(uintptr_t)p == 3);
}

/* Its allocations and registrations, and nothing that belongs to another one. */
CHILD_TEST(a_context_that_is_destroyed_takes_its_memory_with_it, "SIMGPU_MEMORY", "8MiB")
{
    CUcontext second;
    CUdeviceptr kept, a, managed;
    void *pinned, *registered = malloc(MIB);
    unsigned flags;
    device_start();
    OK(cuMemAlloc(&kept, MIB));
    OK(cuMemcpyHtoD(kept, &(int){42}, 4));
    OK(cuCtxCreate(&second, NULL, 0, 0));
    OK(cuMemAlloc(&a, 4 * MIB));
    OK(cuMemAllocManaged(&managed, 2 * MIB, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemHostAlloc(&pinned, MIB, CU_MEMHOSTALLOC_PORTABLE));
    OK(cuMemHostRegister(registered, MIB, 0));
    OK(cuMemsetD8Async(a, 1, 4 * MIB, NULL));
    OK(cuCtxDestroy(second));
    assert_int_equal(cuMemFree(a), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemFree(managed), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemHostGetFlags(&flags, registered), CUDA_ERROR_INVALID_VALUE);
    int value = 0;
    OK(cuMemcpyDtoH(&value, kept, 4));
    assert_int_equal(value, 42);
    OK(cuMemAlloc(&a, 6 * MIB));
    free(registered);
}

/* Three granules are mapped, the first one while a copy runs, which is over by the time of the others. */
static void map_beside_copy(CUresult (*copy)(CUdeviceptr, void *, size_t, CUstream))
{
    enum { BYTES = 8 * GRANULE };
    device_start();
    CUdeviceptr p = new_mapping(BYTES, NULL);
    OK(copy(p, new_pinned(BYTES, 0), BYTES, new_stream()));
    for (int i = 0; i < 3; i++)
        (void)new_mapping(GRANULE, NULL);
}

static CUresult copy_out(CUdeviceptr p, void *host, size_t bytes, CUstream s)
{
    return cuMemcpyDtoHAsync(host, p, bytes, s);
}

static CUresult copy_in(CUdeviceptr p, void *host, size_t bytes, CUstream s)
{
    return cuMemcpyHtoDAsync(p, host, bytes, s);
}

static void beside_copy_out_body(void)
{
    map_beside_copy(copy_out);
}

static void beside_copy_in_body(void)
{
    map_beside_copy(copy_in);
}

static void access_is_granted_late_while_bytes_go_to_the_host(void **state)
{
    (void)state;
    assert_true(in_child(beside_copy_in_body, NULL));
    const long long in_ns = child_stat("virtual_ns");
    assert_true(in_child(beside_copy_out_body, NULL));
    assert_in_range(child_stat("virtual_ns") - in_ns, 600000, 1100000); /* one is, of three */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fresh_memory_is_poisoned),
        cmocka_unit_test(a_handle_keeps_its_bytes_wherever_it_is_mapped),
        cmocka_unit_test(capacity_is_enforced),
        cmocka_unit_test(granularity_is_enforced),
        cmocka_unit_test(mapping_follows_the_rules),
        cmocka_unit_test(memory_without_access_is_a_fault_with_name_and_address),
        cmocka_unit_test(a_declared_range_that_is_not_mapped_is_a_fault_before_the_kernel_runs),
        cmocka_unit_test(a_source_overwritten_too_early_gives_wrong_bytes),
        cmocka_unit_test(pageable_memory_is_read_at_the_call),
        cmocka_unit_test(a_source_that_may_be_read_out_of_order_is_read_at_the_call),
        cmocka_unit_test(rows_are_copied_with_their_pitches),
        cmocka_unit_test(sets_fill_elements),
        cmocka_unit_test(a_freed_block_is_handed_out_again_in_stream_order),
        cmocka_unit_test(what_comes_from_a_pool_lies_where_the_pool_does),
        cmocka_unit_test(a_stream_brings_its_context_along_to_a_free),
        cmocka_unit_test(a_pointer_knows_where_it_belongs),
        cmocka_unit_test(host_handles_can_be_switched_off),
        cmocka_unit_test(a_host_handle_serves_device_and_host),
        cmocka_unit_test(a_context_that_is_destroyed_takes_its_memory_with_it),
        cmocka_unit_test(access_is_granted_late_while_bytes_go_to_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
