/* test-hooks_memory.c - what comes from a pool that the driver serves is on the bill of the device where the pool lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "devices.h"
#include "driver.h"
#include "fake-device.h"
#include "hooks.h"
#include "mover.h"
#include "pool_reserves.h"
#include "unlocked.h"
#include "unmanaged.h"

enum { GRANULE = 4096, BUDGET = 100 * GRANULE, BYTES = 10 * GRANULE };

static struct spw_device *device, *second;
static char places[2];
static const CUmemoryPool pool = (CUmemoryPool)&places[0], default_pool = (CUmemoryPool)&places[1];
static CUmemoryPool current;
static unsigned by_driver; /* allocations of its own */

static CUresult create(CUmemoryPool *made, const CUmemPoolProps *props)
{
    (void)props;
    *made = pool;
    return CUDA_SUCCESS;
}

static CUresult import(CUmemoryPool *made, void *handle, CUmemAllocationHandleType type, unsigned long long flags)
{
    (void)handle, (void)type, (void)flags;
    *made = pool;
    return CUDA_SUCCESS;
}

static CUresult get_default(CUmemoryPool *ret_pool, CUmemLocation *location, CUmemAllocationType type)
{
    (void)location, (void)type;
    *ret_pool = default_pool;
    return CUDA_SUCCESS;
}

static CUresult get_current(CUmemoryPool *ret_pool, CUdevice ordinal)
{
    (void)ordinal;
    *ret_pool = current;
    return CUDA_SUCCESS;
}

static CUresult set_current(CUdevice ordinal, CUmemoryPool of)
{
    (void)ordinal, (void)of;
    return CUDA_SUCCESS;
}

static CUresult allocate_from_current(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    (void)bytes, (void)stream;
    *address = 0x1000 + by_driver++;
    return CUDA_SUCCESS;
}

static CUresult allocate(CUdeviceptr *address, size_t bytes, CUmemoryPool of, CUstream stream)
{
    (void)bytes, (void)of, (void)stream;
    *address = 0x1000 + by_driver++;
    return CUDA_SUCCESS;
}

static CUresult reserved(CUmemoryPool of, CUmemPool_attribute which, void *value)
{
    (void)of;
    assert_int_equal(which, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    *(cuuint64_t *)value = by_driver * (uint64_t)BYTES;
    return CUDA_SUCCESS;
}

static CUresult destroy(CUmemoryPool of)
{
    (void)of;
    return CUDA_SUCCESS;
}

static int begin(void **state)
{
    CUcontext context;
    int r;
    (void)state;
    spw_pool_reserves_reset();
    spw_unmanaged_reset();
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    fake_start(GRANULE, 64 << 20, BUDGET, 16 << 20);
    spw_driver.cuMemPoolCreate = create;
    spw_driver.cuMemPoolDestroy = destroy;
    spw_driver.cuMemPoolImportFromShareableHandle = import;
    spw_driver.cuMemGetDefaultMemPool = get_default;
    spw_driver.cuDeviceGetMemPool = get_current;
    spw_driver.cuDeviceSetMemPool = set_current;
    spw_driver.cuMemAllocAsync = allocate_from_current;
    current = default_pool;
    spw_driver.cuMemAllocFromPoolAsync = allocate;
    spw_driver.cuMemPoolGetAttribute = reserved;
    by_driver = 0;
    device = spw_device_current(&context);
    second = spw_device_ready_locked(1, &r);
    return device && second ? 0 : -1;
}

static CUmemoryPool made(CUmemAllocationType type, CUmemAllocationHandleType shared, CUmemLocationType where, int id)
{
    const CUmemPoolProps props = {.allocType = type, .handleTypes = shared, .location = {.type = where, .id = id}};
    CUmemoryPool ret = NULL;
    assert_int_equal(spw_on_cuMemPoolCreate(&ret, &props), CUDA_SUCCESS);
    return ret;
}

/* Whether the driver serves an allocation, and what is on the bill of each device for it then. */
static void expect(CUmemoryPool of, bool by_the_driver, uint64_t here, uint64_t there)
{
    CUdeviceptr address;
    assert_int_equal(spw_on_cuMemAllocFromPoolAsync(&address, BYTES, of, fake_stream()), CUDA_SUCCESS);
    assert_int_equal(by_driver, by_the_driver);
    assert_int_equal(device->foreign_bytes, here);
    assert_int_equal(second->foreign_bytes, there);
    assert_int_equal(spw_on_cuMemPoolDestroy(of), CUDA_SUCCESS);
}

static void one_that_can_be_shared_is_on_the_bill_of_its_device(void **state)
{
    (void)state;
    expect(made(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CU_MEM_LOCATION_TYPE_DEVICE, 0),
           true, BYTES, 0);
}

static void one_of_another_device_is_on_the_bill_of_that(void **state)
{
    (void)state;
    expect(made(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CU_MEM_LOCATION_TYPE_DEVICE, 1),
           true, 0, BYTES);
}

static void those_of_the_host_are_on_no_bill(void **state)
{
    static const CUmemLocationType hosts[] = {CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_HOST_NUMA};
    for (unsigned i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        assert_int_equal(begin(state), 0);
        expect(made(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_NONE, hosts[i], 0), true, 0, 0);
    }
}

static void the_default_one_of_the_host_is_the_drivers(void **state)
{
    CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_HOST};
    CUmemoryPool of;
    (void)state;
    assert_int_equal(spw_on_cuMemGetDefaultMemPool(&of, &location, CU_MEM_ALLOCATION_TYPE_PINNED), CUDA_SUCCESS);
    expect(of, true, 0, 0);
}

static void managed_ones_are_the_drivers_and_on_the_bill_of_the_device_that_they_prefer(void **state)
{
    (void)state;
    expect(made(CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_HANDLE_TYPE_NONE, CU_MEM_LOCATION_TYPE_DEVICE, 1), true, 0, BYTES);
    assert_int_equal(begin(state), 0);
    expect(made(CU_MEM_ALLOCATION_TYPE_MANAGED, CU_MEM_HANDLE_TYPE_NONE, CU_MEM_LOCATION_TYPE_HOST, 0), true, BYTES, 0);
}

static void imported_ones_are_on_the_bill_of_their_maker(void **state)
{
    CUmemoryPool of;
    (void)state;
    assert_int_equal(spw_on_cuMemPoolImportFromShareableHandle(&of, NULL, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                     CUDA_SUCCESS);
    expect(of, true, 0, 0);
}

/* Also where an allocation names no pool. */
static void a_current_one_that_can_be_shared_is_the_drivers(void **state)
{
    CUdeviceptr address;
    (void)state;
    current = made(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CU_MEM_LOCATION_TYPE_DEVICE, 0);
    assert_int_equal(spw_on_cuDeviceSetMemPool(0, current), CUDA_SUCCESS);
    assert_int_equal(spw_on_cuMemAllocAsync(&address, BYTES, fake_stream()), CUDA_SUCCESS);
    assert_int_equal(by_driver, 1);
    assert_int_equal(device->foreign_bytes, BYTES);
    current = default_pool;
    assert_int_equal(spw_on_cuDeviceSetMemPool(0, current), CUDA_SUCCESS);
    assert_int_equal(spw_on_cuMemAllocAsync(&address, BYTES, fake_stream()), CUDA_SUCCESS);
    assert_int_equal(by_driver, 1);
}

static void plain_ones_are_ours(void **state)
{
    (void)state;
    expect(made(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_NONE, CU_MEM_LOCATION_TYPE_DEVICE, 0), false, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_that_can_be_shared_is_on_the_bill_of_its_device, begin),
        cmocka_unit_test_setup(one_of_another_device_is_on_the_bill_of_that, begin),
        cmocka_unit_test_setup(those_of_the_host_are_on_no_bill, begin),
        cmocka_unit_test_setup(the_default_one_of_the_host_is_the_drivers, begin),
        cmocka_unit_test_setup(managed_ones_are_the_drivers_and_on_the_bill_of_the_device_that_they_prefer, begin),
        cmocka_unit_test_setup(imported_ones_are_on_the_bill_of_their_maker, begin),
        cmocka_unit_test_setup(a_current_one_that_can_be_shared_is_the_drivers, begin),
        cmocka_unit_test_setup(plain_ones_are_ours, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
