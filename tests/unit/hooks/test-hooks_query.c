/* test-hooks_query.c - questions about addresses are answered for what the program has, and for nothing else of ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "alloc.h"
#include "devices.h"
#include "driver.h"
#include "fake-device.h"
#include "hooks.h"
#include "mover.h"
#include "mempool_stats.h"
#include "unlocked.h"

#define GRANULE 4096u
#define BYTES   ((size_t)64 << 10)
#define SMALL   100u

static CUcontext context;
static struct spw_device *device;

static unsigned asked_driver;
static CUdeviceptr asked_about;

/* A driver that knows all of our memory, since it is mapped, and has been asked in vain about address 0. */
static CUresult driver_one(void *data, CUpointer_attribute attribute, CUdeviceptr a)
{
    asked_driver++;
    asked_about = a;
    return a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult driver_many(unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr a)
{
    asked_driver++;
    asked_about = a;
    return count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult driver_set(const void *value, CUpointer_attribute attribute, CUdeviceptr a)
{
    asked_driver++;
    asked_about = a;
    return a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static int begin(void **state)
{
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    fake_start(GRANULE, 128 << 20, 1 << 20, 16 << 20);
    spw_driver.cuPointerGetAttribute = driver_one;
    spw_driver.cuPointerGetAttributes = driver_many;
    spw_driver.cuPointerSetAttribute = driver_set;
    device = spw_device_current(&context);
    asked_driver = 0;
    return device ? 0 : -1;
}

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr a = 0;
    assert_int_equal(spw_allocate(device, bytes, NULL, context, spw_mempool_stats_of_locked(NULL), &a), 0);
    return a;
}

static unsigned sync_memops(CUdeviceptr a)
{
    unsigned value = 9;
    assert_int_equal(spw_on_cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a), CUDA_SUCCESS);
    return value;
}

static unsigned long long id(CUdeviceptr a)
{
    unsigned long long value = 0;
    assert_int_equal(spw_on_cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_BUFFER_ID, a), CUDA_SUCCESS);
    return value;
}

static void spare_room_behind_a_tensor_is_nobodys(void **state)
{
    CUdeviceptr a = allocate(BYTES - 100);
    int type;
    void *place = &type;
    CUpointer_attribute which = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    assert_int_equal(spw_on_cuPointerGetAttribute(&type, which, a + BYTES - 101), CUDA_SUCCESS);
    assert_int_equal(asked_driver, 0);
    assert_int_equal(spw_on_cuPointerGetAttribute(&type, which, a + BYTES - 100), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(asked_driver, 1);
    assert_int_equal(spw_on_cuPointerGetAttributes(1, &which, &place, a + BYTES - 1), CUDA_SUCCESS);
    assert_int_equal(asked_driver, 2);
    assert_true(asked_about == 0);
}

static void a_freed_tensor_is_nobodys_though_its_memory_is_kept(void **state)
{
    CUdeviceptr a = allocate(BYTES);
    unsigned on = 1;
    assert_int_equal(spw_free(a, NULL), 0);
    assert_int_equal(spw_on_cuPointerGetAttribute(&on, CU_POINTER_ATTRIBUTE_MAPPED, a), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(spw_on_cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a), CUDA_ERROR_INVALID_VALUE);
}

/* Whether its bytes are there makes no difference: the driver, which would not know an absent one, is not asked. */
static void every_attribute_of_a_tensor_is_answered_without_the_driver(void **state)
{
    CUdeviceptr a = allocate(BYTES);
    unsigned long long value;
    for (int which = CU_POINTER_ATTRIBUTE_CONTEXT; which <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE; which++)
        if (which != CU_POINTER_ATTRIBUTE_P2P_TOKENS)
            (void)spw_on_cuPointerGetAttribute(&value, (CUpointer_attribute)which, a);
    assert_int_equal(asked_driver, 0);
}

static void addresses_of_others_are_the_drivers(void **state)
{
    int type;
    assert_int_equal(spw_on_cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0x1234), CUDA_SUCCESS);
    assert_true(asked_about == 0x1234);
}

static void asking_for_no_attributes_is_the_drivers_mistake_to_name(void **state)
{
    CUdeviceptr a = allocate(BYTES);
    CUpointer_attribute which = CU_POINTER_ATTRIBUTE_MAPPED;
    void *place = &which;
    assert_int_equal(spw_on_cuPointerGetAttributes(0, &which, &place, a), CUDA_ERROR_INVALID_VALUE);
}

static void no_two_tensors_have_one_id_be_they_large_or_small(void **state)
{
    CUdeviceptr a[8];
    for (unsigned i = 0; i < 8; i++)
        a[i] = allocate(i % 2 ? SMALL : BYTES);
    for (unsigned i = 0; i < 8; i++)
        for (unsigned k = 0; k < i; k++)
            assert_true(id(a[i]) != id(a[k]));
    unsigned long long before = id(a[0]);
    assert_int_equal(spw_free(a[0], NULL), 0);
    assert_true(id(allocate(BYTES)) != before);
}

static void an_attribute_that_was_set_stays_for_as_long_as_the_tensor_lives(void **state)
{
    const unsigned on = 1, off = 0;
    const size_t sizes[] = {BYTES, SMALL};
    for (unsigned i = 0; i < 2; i++) {
        CUdeviceptr a = allocate(sizes[i]), neighbour = allocate(sizes[i]);
        assert_int_equal(sync_memops(a), 0);
        assert_int_equal(spw_on_cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a), CUDA_SUCCESS);
        assert_int_equal(sync_memops(a + 50), 1);
        assert_int_equal(sync_memops(neighbour), 0);
        assert_int_equal(spw_free(a, NULL), 0);
        CUdeviceptr again = allocate(sizes[i]);
        assert_true(again == a);
        assert_int_equal(sync_memops(again), 0);
        assert_int_equal(spw_on_cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, again), CUDA_SUCCESS);
        assert_int_equal(spw_on_cuPointerSetAttribute(&off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, again), CUDA_SUCCESS);
        assert_int_equal(sync_memops(again), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(spare_room_behind_a_tensor_is_nobodys, begin),
        cmocka_unit_test_setup(a_freed_tensor_is_nobodys_though_its_memory_is_kept, begin),
        cmocka_unit_test_setup(every_attribute_of_a_tensor_is_answered_without_the_driver, begin),
        cmocka_unit_test_setup(addresses_of_others_are_the_drivers, begin),
        cmocka_unit_test_setup(asking_for_no_attributes_is_the_drivers_mistake_to_name, begin),
        cmocka_unit_test_setup(no_two_tensors_have_one_id_be_they_large_or_small, begin),
        cmocka_unit_test_setup(an_attribute_that_was_set_stays_for_as_long_as_the_tensor_lives, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
