/* test-hooks_copy.c - copies of rows and layers bring in what they touch, and addresses in their rows are remembered where
 * they come to lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "alloc.h"
#include "devices.h"
#include "driver.h"
#include "engine.h"
#include "fake-device.h"
#include "hooks.h"
#include "lasting.h"
#include "lock.h"
#include "mempool_stats.h"
#include "mover.h"
#include "plan_follower.h"
#include "pointer_tables.h"
#include "reclaim.h"
#include "seek.h"
#include "unlocked.h"

#define BYTES ((size_t)64 << 10)

enum { ROW = 64, ROWS = 8, LAYERS = 3 }; /* bytes; in a layer; layers */

static CUcontext context;
static struct spw_device *device;
static CUstream s;
static CUdeviceptr expected; /* has to have memory when the driver is called */
static bool was_missing;
static unsigned calls;
static bool was_on_its_way; /* a tensor, when the driver was called */

static bool is_evicted(CUdeviceptr a)
{
    spw_lock();
    bool is = spw_object_at_locked(a)->attention & SPW_EVICTED;
    spw_unlock();
    return is;
}

static void check(void)
{
    calls++;
    was_missing |= expected && is_evicted(expected);
    was_on_its_way = device->mover && device->mover->in && fake_left(device->mover->in->handle) > 0;
}

static CUresult CUDAAPI copy_volume(const CUDA_MEMCPY3D *p, CUstream stream)
{
    check();
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI copy_to_peer(const CUDA_MEMCPY3D_PEER *p, CUstream stream)
{
    check();
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI copy_batch(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, unsigned long long flags, CUstream stream)
{
    check();
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI copy_list(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                  CUmemcpyAttributes *attributes, size_t *firsts, size_t kinds, CUstream stream)
{
    check();
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI copy_with(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUmemcpyAttributes *attributes,
                                  CUstream stream)
{
    check();
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI copy_to_host(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    check();
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI copy_from_host(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
    check();
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI launch_graph(CUgraphExec exec, CUstream stream)
{
    check();
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI copy_from_array(CUdeviceptr dst, CUarray array, size_t offset, size_t bytes)
{
    check();
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI a_device_knows(void *value, CUpointer_attribute attribute, CUdeviceptr a)
{
    *(unsigned *)value = attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED ? 0 : CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI it_is_managed(void *value, CUpointer_attribute attribute, CUdeviceptr a)
{
    *(unsigned *)value = attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED ? 1 : CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI nobody_knows(void *value, CUpointer_attribute attribute, CUdeviceptr a)
{
    return CUDA_ERROR_INVALID_VALUE;
}

static int begin(void **state)
{
    spw_plan_follower_reset();
    spw_plan_follower_open();
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_pointer_tables_reset();
    spw_reclaim_pressed = false;
    fake_start(4096, 128 << 20, 2 * BYTES, 16 << 20);
    spw_driver.cuMemcpy3DAsync_v2 = copy_volume;
    spw_driver.cuMemcpy3DPeerAsync = copy_to_peer;
    spw_driver.cuMemcpy3DBatchAsync_v2 = copy_batch;
    spw_driver.cuMemcpyBatchAsync_v2 = copy_list;
    spw_driver.cuMemcpyWithAttributesAsync = copy_with;
    spw_driver.cuMemcpyDtoHAsync_v2_ptsz = copy_to_host;
    spw_driver.cuMemcpyHtoDAsync_v2_ptsz = copy_from_host;
    spw_driver.cuPointerGetAttribute = nobody_knows;
    device = spw_device_current(&context);
    assert_non_null(device);
    s = fake_stream();
    expected = 0;
    was_missing = false;
    calls = 0;
    return 0;
}

static CUdeviceptr allocate(void)
{
    CUdeviceptr a = 0;
    assert_int_equal(spw_allocate(device, BYTES, NULL, context, spw_mempool_stats_of_locked(NULL), &a), 0);
    return a;
}

static void use(CUdeviceptr a)
{
    struct spw_op op = {.handle = s, .hits = &a, .count = 1, .room = 1, .name = "a kernel"};
    assert_int_equal(spw_op_begin(&op), 0);
    fake_fill(s, a, BYTES, 1);
    spw_op_end(&op);
    fake_run_all();
}

static bool remembered(CUdeviceptr at)
{
    return spw_pointer_tables_has(at, at + sizeof(CUdeviceptr));
}

/* A copy from the host, of one row each time, to row 2 of layer 1. */
static CUDA_MEMCPY3D row_to(CUdeviceptr to, const void *row)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = row,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = to,
                           .dstY = 2,
                           .dstZ = 1,
                           .WidthInBytes = ROW,
                           .Height = 1,
                           .Depth = 1};
}

static void an_address_in_a_packed_volume_is_remembered_where_it_lies(void **state)
{
    CUdeviceptr a = allocate(), row[ROW / 8] = {a};
    const CUDA_MEMCPY3D p = row_to(a, row);
    assert_int_equal(spw_on_cuMemcpy3DAsync_v2(&p, s), CUDA_SUCCESS);
    assert_true(remembered(a + (1 + 2) * ROW)); /* layers of one row each */
    assert_false(remembered(a));
    assert_int_equal(spw_pointer_tables_words, 1);
}

static CUDA_MEMCPY3D_PEER to_peer(const CUDA_MEMCPY3D *p)
{
    return (CUDA_MEMCPY3D_PEER){.srcMemoryType = p->srcMemoryType,
                                .srcHost = p->srcHost,
                                .srcDevice = p->srcDevice,
                                .dstMemoryType = p->dstMemoryType,
                                .dstDevice = p->dstDevice,
                                .dstXInBytes = p->dstXInBytes,
                                .dstY = p->dstY,
                                .dstZ = p->dstZ,
                                .dstPitch = p->dstPitch,
                                .dstHeight = p->dstHeight,
                                .WidthInBytes = p->WidthInBytes,
                                .Height = p->Height,
                                .Depth = p->Depth};
}

static void an_address_that_goes_to_a_peer_is_remembered_where_it_lies(void **state)
{
    CUdeviceptr a = allocate(), row[ROW / 8] = {a};
    CUDA_MEMCPY3D p = row_to(a, row);
    p.dstPitch = 2 * ROW;
    p.dstHeight = ROWS;
    const CUDA_MEMCPY3D_PEER q = to_peer(&p);
    assert_int_equal(spw_on_cuMemcpy3DPeerAsync(&q, s), CUDA_SUCCESS);
    assert_true(remembered(a + (ROWS + 2) * 2 * ROW));
    assert_int_equal(spw_pointer_tables_words, 1);
}

/* One word in every row. */
static void fill(CUdeviceptr words[LAYERS][ROWS][ROW / 8], CUdeviceptr a)
{
    for (int z = 0; z < LAYERS; z++)
        for (int y = 0; y < ROWS; y++)
            words[z][y][1] = a;
}

static void assert_all_remembered(CUdeviceptr a, size_t pitch, size_t height)
{
    for (int z = 0; z < LAYERS; z++)
        for (int y = 0; y < ROWS; y++)
            assert_true(remembered(a + (z * height + y) * pitch + 8));
    assert_int_equal(spw_pointer_tables_words, LAYERS * ROWS);
}

static void addresses_in_all_layers_of_a_volume_are_remembered(void **state)
{
    static CUdeviceptr words[LAYERS][ROWS][ROW / 8];
    CUdeviceptr a = allocate();
    fill(words, a);
    CUDA_MEMCPY3D p = row_to(a, words);
    p.dstY = p.dstZ = 0;
    p.dstPitch = 3 * ROW;
    p.dstHeight = ROWS + 1;
    p.Height = ROWS;
    p.Depth = LAYERS;
    assert_int_equal(spw_on_cuMemcpy3DAsync_v2(&p, s), CUDA_SUCCESS);
    assert_all_remembered(a, 3 * ROW, ROWS + 1);
    spw_pointer_tables_reset();
    const CUDA_MEMCPY3D_PEER q = to_peer(&p);
    assert_int_equal(spw_on_cuMemcpy3DPeerAsync(&q, s), CUDA_SUCCESS);
    assert_all_remembered(a, 3 * ROW, ROWS + 1);
}

static void addresses_in_all_rows_of_a_batch_are_remembered(void **state)
{
    static CUdeviceptr words[LAYERS][ROWS][ROW / 8];
    CUdeviceptr a = allocate();
    fill(words, a);
    CUDA_MEMCPY3D_BATCH_OP op = {
        .src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = (CUdeviceptr)(uintptr_t)words}},
        .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = a, .rowLength = 2 * ROW, .layerHeight = 2 * ROWS}},
        .extent = {.width = ROW, .height = ROWS, .depth = LAYERS}};
    assert_int_equal(spw_on_cuMemcpy3DBatchAsync_v2(1, &op, 0, s), CUDA_SUCCESS);
    assert_all_remembered(a, 2 * ROW, 2 * ROWS);
}

/* The base addresses are another tensor's: what counts is where the bytes are. */
static void what_offsets_lead_to_is_brought_in(void **state)
{
    CUdeviceptr a = allocate(), b = allocate(), c = allocate();
    use(a);
    use(b);
    use(c);
    expected = a;
    assert_true(is_evicted(a));
    CUDA_MEMCPY3D_PEER p = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                            .srcHost = &p,
                            .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                            .dstDevice = c < a   ? c
                                         : b < a ? b
                                                 : a - BYTES,
                            .dstPitch = BYTES,
                            .WidthInBytes = 32,
                            .Height = 1,
                            .Depth = 1};
    p.dstY = (a - p.dstDevice) / BYTES;
    assert_int_equal((a - p.dstDevice) % BYTES, 0);
    assert_int_equal(spw_on_cuMemcpy3DPeerAsync(&p, s), CUDA_SUCCESS);
    assert_int_equal(calls, 1);
    assert_false(was_missing);
}

/* The driver says what is wrong. */
static void what_is_not_described_reaches_the_driver(void **state)
{
    assert_int_equal(spw_on_cuMemcpy3DAsync_v2(NULL, s), CUDA_SUCCESS);
    assert_int_equal(spw_on_cuMemcpy3DPeerAsync(NULL, s), CUDA_SUCCESS);
    assert_int_equal(spw_on_cuMemcpy3DBatchAsync_v2(1, NULL, 0, s), CUDA_SUCCESS);
    assert_int_equal(calls, 3);
}

/* The driver goes by the address, and not by the name of the call. */
static void a_copy_to_the_host_whose_target_is_a_tensor_is_one_to_the_device(void **state)
{
    CUdeviceptr a = allocate(), b = allocate(), c = allocate();
    use(a);
    use(b);
    use(c);
    expected = a;
    assert_true(is_evicted(a));
    assert_int_equal(spw_on_cuMemcpyDtoHAsync_v2_ptsz((void *)(uintptr_t)a, c, ROW, s), CUDA_SUCCESS);
    assert_int_equal(calls, 1);
    assert_false(was_missing);
    spw_lock();
    const bool is_dirty = spw_object_dirty(spw_object_at_locked(a));
    spw_unlock();
    assert_true(is_dirty);
}

/* Memory that the program maps itself is none that could be read here. */
static void what_a_copy_from_the_host_names_is_read_where_it_is_the_hosts(void **state)
{
    CUdeviceptr a = allocate();
    const void *mapped = (const void *)(uintptr_t)4096;
    spw_driver.cuPointerGetAttribute = a_device_knows;
    assert_int_equal(spw_on_cuMemcpyHtoDAsync_v2_ptsz(a, mapped, ROW, s), CUDA_SUCCESS);
    assert_int_equal(calls, 1);
}

/* Managed memory the host reads, wherever it lies. */
static void addresses_in_managed_memory_are_learned(void **state)
{
    static CUdeviceptr words[ROW / sizeof(CUdeviceptr)];
    const CUdeviceptr a = allocate();
    words[0] = allocate();
    spw_driver.cuPointerGetAttribute = it_is_managed;
    assert_int_equal(spw_on_cuMemcpyHtoDAsync_v2_ptsz(a, words, sizeof(words), s), CUDA_SUCCESS);
    assert_true(spw_pointer_tables_has(a, a + sizeof(words)));
}

/* Nobody knows what lies in an array: there may be addresses. */
static void what_comes_from_an_array_is_looked_through(void **state)
{
    const CUdeviceptr a = allocate();
    spw_driver.cuMemcpyAtoD_v2 = copy_from_array;
    spw_seek_allowed = true;
    spw_seeking = true;
    const uint64_t looks = spw_sought.looks;
    assert_int_equal(spw_on_cuMemcpyAtoD_v2(a, NULL, 0, ROW), CUDA_SUCCESS);
    const uint64_t more = spw_sought.looks - looks;
    spw_seek_reset();
    spw_seek_allowed = false;
    assert_int_equal(calls, 1);
    assert_int_equal(more, 1);
}

/* The first of three, of which two have room. */
static CUdeviceptr evicted(CUdeviceptr *ret_other)
{
    const CUdeviceptr a = allocate(), b = allocate();
    *ret_other = allocate();
    use(a);
    use(b);
    use(*ret_other);
    assert_true(is_evicted(a));
    was_on_its_way = false;
    return a;
}

/* Two copies from the host, the second of them as the second attribute says, and one within the device as the third. */
static void in_a_list(enum CUmemcpySrcAccessOrder_enum order)
{
    static char row[2][ROW];
    CUdeviceptr c, a = evicted(&c);
    CUmemcpyAttributes attributes[] = {{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM},
                                       {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY},
                                       {.srcAccessOrder = order}};
    CUdeviceptr from[] = {(CUdeviceptr)(uintptr_t)row[0], (CUdeviceptr)(uintptr_t)row[1], a},
                to[] = {c, c + ROW, c + 2 * ROW};
    size_t sizes[] = {ROW, ROW, ROW}, firsts[] = {0, 1, 2};
    assert_int_equal(spw_on_cuMemcpyBatchAsync_v2(to, from, sizes, 3, attributes, firsts, 3, s), CUDA_SUCCESS);
}

/* The stream comes after the copy that brings it in. */
static void what_is_read_in_the_order_of_the_stream_is_not_waited_for(void **state)
{
    in_a_list(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
    assert_true(was_on_its_way);
}

static void what_may_be_read_before_the_stream_gets_there_is_there_at_once(void **state)
{
    in_a_list(CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
    assert_false(was_on_its_way);
    begin(state);
    in_a_list(CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
    assert_false(was_on_its_way);
}

static CUstream replaying;
static bool was_being_made;

static CUresult CUDAAPI copy_what_is_made(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                          CUmemcpyAttributes *attributes, size_t *firsts, size_t kinds, CUstream stream)
{
    was_being_made = fake_left(replaying) > 0;
    return CUDA_SUCCESS;
}

/* It is resident from the moment on at which it is submitted what makes it. */
static void so_it_is_where_a_launch_is_repeated_to_make_it(void **state)
{
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY};
    CUdeviceptr a = allocate(), c = allocate();
    size_t bytes = ROW, first = 0;
    use(a);
    use(c);
    replaying = fake_stream();
    spw_lock();
    struct spw_stream *t = spw_stream_of_locked(replaying);
    spw_uses_add_locked(&device->replays, t, spw_stream_next_locked(t));
    spw_unlock();
    fake_fill(replaying, a, BYTES, 2);
    spw_driver.cuMemcpyBatchAsync_v2 = copy_what_is_made;
    was_being_made = true;
    assert_int_equal(spw_on_cuMemcpyBatchAsync_v2(&c, &a, &bytes, 1, &attributes, &first, 1, s), CUDA_SUCCESS);
    assert_false(was_being_made);
}

static void so_it_is_for_a_copy_of_its_own(void **state)
{
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    CUdeviceptr c, a = evicted(&c);
    assert_int_equal(spw_on_cuMemcpyWithAttributesAsync(c, a, ROW, &attributes, s), CUDA_SUCCESS);
    assert_true(was_on_its_way);
    begin(state);
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    a = evicted(&c);
    assert_int_equal(spw_on_cuMemcpyWithAttributesAsync(c, a, ROW, &attributes, s), CUDA_SUCCESS);
    assert_int_equal(calls, 1);
    assert_false(was_on_its_way);
}

static void so_it_is_for_a_box(void **state)
{
    CUdeviceptr c, a = evicted(&c);
    CUDA_MEMCPY3D_BATCH_OP op = {.src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = a}},
                                 .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = c}},
                                 .extent = {.width = ROW, .height = ROWS, .depth = 1},
                                 .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL};
    assert_int_equal(spw_on_cuMemcpy3DBatchAsync_v2(1, &op, 0, s), CUDA_SUCCESS);
    assert_false(was_on_its_way);
    assert_int_equal(calls, 1);
}

/* It may follow the address. */
static void what_is_away_where_an_address_lasts_is_brought_in_before_a_graph_is_launched(void **state)
{
    CUdeviceptr c;
    expected = evicted(&c);
    spw_driver.cuGraphLaunch = launch_graph;
    spw_lock();
    spw_lasting_add_locked(expected);
    spw_unlock();
    spw_lasting_unpinned = true;
    assert_int_equal(spw_on_cuGraphLaunch((CUgraphExec)0xe, s), CUDA_SUCCESS);
    assert_int_equal(calls, 1);
    assert_false(was_missing);
    assert_false(spw_lasting_unpinned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_address_in_a_packed_volume_is_remembered_where_it_lies, begin),
        cmocka_unit_test_setup(an_address_that_goes_to_a_peer_is_remembered_where_it_lies, begin),
        cmocka_unit_test_setup(addresses_in_all_layers_of_a_volume_are_remembered, begin),
        cmocka_unit_test_setup(addresses_in_all_rows_of_a_batch_are_remembered, begin),
        cmocka_unit_test_setup(what_offsets_lead_to_is_brought_in, begin),
        cmocka_unit_test_setup(what_is_not_described_reaches_the_driver, begin),
        cmocka_unit_test_setup(a_copy_to_the_host_whose_target_is_a_tensor_is_one_to_the_device, begin),
        cmocka_unit_test_setup(what_a_copy_from_the_host_names_is_read_where_it_is_the_hosts, begin),
        cmocka_unit_test_setup(addresses_in_managed_memory_are_learned, begin),
        cmocka_unit_test_setup(what_comes_from_an_array_is_looked_through, begin),
        cmocka_unit_test_setup(what_is_read_in_the_order_of_the_stream_is_not_waited_for, begin),
        cmocka_unit_test_setup(what_may_be_read_before_the_stream_gets_there_is_there_at_once, begin),
        cmocka_unit_test_setup(so_it_is_where_a_launch_is_repeated_to_make_it, begin),
        cmocka_unit_test_setup(so_it_is_for_a_copy_of_its_own, begin),
        cmocka_unit_test_setup(so_it_is_for_a_box, begin),
        cmocka_unit_test_setup(what_is_away_where_an_address_lasts_is_brought_in_before_a_graph_is_launched, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
