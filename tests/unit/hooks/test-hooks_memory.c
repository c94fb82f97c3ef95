/* test-hooks_memory.c - what comes from a pool that the driver serves is on the bill of the device where the pool lies, and
 * what another thread is given at an address, or by a handle, that the driver has just got back stays on the bill. */
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

/* ---- what another thread does once the driver has something back, before the hook knows of it ---- */

static void (*meanwhile)(void);

static CUresult it_is_gone(void)
{
    void (*now)(void) = meanwhile;
    meanwhile = NULL;
    if (now)
        now();
    return CUDA_SUCCESS;
}

static CUresult free_at_once(CUdeviceptr address)
{
    (void)address;
    return it_is_gone();
}

static CUresult free_in_order(CUdeviceptr address, CUstream stream)
{
    (void)address, (void)stream;
    by_driver--;
    return it_is_gone();
}

static CUresult release(CUmemGenericAllocationHandle handle)
{
    (void)handle;
    return it_is_gone();
}

static CUresult unmap(CUdeviceptr address, size_t bytes)
{
    (void)address, (void)bytes;
    return it_is_gone();
}

static CUresult map(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                    unsigned long long flags)
{
    (void)address, (void)bytes, (void)offset, (void)handle, (void)flags;
    return CUDA_SUCCESS;
}

static CUresult create_memory(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *prop,
                              unsigned long long flags)
{
    (void)bytes, (void)prop, (void)flags;
    *handle = 7;
    return CUDA_SUCCESS;
}

static CUresult allocate_managed(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    (void)bytes, (void)flags;
    *address = 0x2000;
    return CUDA_SUCCESS;
}

static void take_managed(void)
{
    CUdeviceptr address;
    assert_int_equal(spw_on_cuMemAllocManaged(&address, BYTES, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    assert_int_equal(address, 0x2000);
}

static void take_from_the_pool(void)
{
    CUdeviceptr address;
    assert_int_equal(spw_on_cuMemAllocFromPoolAsync(&address, BYTES, pool, fake_stream()), CUDA_SUCCESS);
    assert_int_equal(address, 0x1000);
}

static void take_physical(void)
{
    CUmemGenericAllocationHandle handle;
    const CUmemAllocationProp prop = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    assert_int_equal(spw_on_cuMemCreate(&handle, BYTES, &prop, 0), CUDA_SUCCESS);
    assert_int_equal(handle, 7);
}

static void take_and_map_physical(void)
{
    take_physical();
    assert_int_equal(spw_on_cuMemMap(0x9000, BYTES, 0, 7, 0), CUDA_SUCCESS);
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
    spw_driver.cuMemFree_v2 = free_at_once;
    spw_driver.cuMemFreeAsync = free_in_order;
    spw_driver.cuMemAllocManaged = allocate_managed;
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

/* ---- addresses and handles that come again ---- */

static void what_another_thread_gets_where_something_was_freed_stays_on_the_bill(void **state)
{
    (void)state;
    take_managed();
    meanwhile = take_managed;
    assert_int_equal(spw_on_cuMemFree_v2(0x2000), CUDA_SUCCESS);
    assert_int_equal(device->foreign_bytes, BYTES);
    assert_int_equal(spw_on_cuMemFree_v2(0x2000), CUDA_SUCCESS);
    assert_int_equal(device->foreign_bytes, 0);
}

/* What of it is in use is asked for once nobody can ask the pool. */
static void so_does_what_it_gets_from_a_pool(void **state)
{
    (void)state;
    (void)made(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CU_MEM_LOCATION_TYPE_DEVICE, 0);
    take_from_the_pool();
    meanwhile = take_from_the_pool;
    assert_int_equal(spw_on_cuMemFreeAsync(0x1000, fake_stream()), CUDA_SUCCESS);
    assert_int_equal(spw_on_cuMemPoolDestroy(pool), CUDA_SUCCESS);
    fake_run_all();
    assert_int_equal(device->foreign_bytes, BYTES);
    assert_int_equal(spw_on_cuMemFree_v2(0x1000), CUDA_SUCCESS);
    assert_int_equal(device->foreign_bytes, 0);
}

static void so_does_physical_memory_of_its_own(void **state)
{
    (void)state;
    spw_driver.cuMemCreate = create_memory;
    spw_driver.cuMemRelease = release;
    spw_driver.cuMemMap = map;
    spw_driver.cuMemUnmap = unmap;
    take_physical();
    meanwhile = take_physical;
    assert_int_equal(spw_on_cuMemRelease(7), CUDA_SUCCESS);
    assert_int_equal(device->foreign_bytes, BYTES);
    assert_int_equal(spw_on_cuMemMap(0x8000, BYTES, 0, 7, 0), CUDA_SUCCESS);
    assert_int_equal(spw_on_cuMemRelease(7), CUDA_SUCCESS);
    meanwhile = take_and_map_physical;
    assert_int_equal(spw_on_cuMemUnmap(0x8000, BYTES), CUDA_SUCCESS);
    assert_int_equal(spw_on_cuMemRelease(7), CUDA_SUCCESS);
    assert_int_equal(device->foreign_bytes, BYTES);
    assert_int_equal(spw_on_cuMemUnmap(0x9000, BYTES), CUDA_SUCCESS);
    assert_int_equal(device->foreign_bytes, 0);
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
        cmocka_unit_test_setup(what_another_thread_gets_where_something_was_freed_stays_on_the_bill, begin),
        cmocka_unit_test_setup(so_does_what_it_gets_from_a_pool, begin),
        cmocka_unit_test_setup(so_does_physical_memory_of_its_own, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
