/* test-pool_reserves.c - a memory pool of the driver is on the bill for what it has reserved, for as long as it has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "alloc.h"
#include "devices.h"
#include "driver.h"
#include "fake-device.h"
#include "mempool_stats.h"
#include "mover.h"
#include "pool_reserves.h"
#include "reclaim.h"
#include "unlocked.h"
#include "unmanaged.h"

enum { GRANULE = 4096, BUDGET = 100 * GRANULE, FIRST = 0x10000 };

static struct spw_device *device;
static char place;
static const CUmemoryPool pool = (CUmemoryPool)&place;

/* The driver's pool: in granules. */
static uint64_t reserved, used;
static CUresult answer;
static bool on_its_way; /* what was freed is still in use on the device */
static unsigned trims;

static CUresult attribute(CUmemoryPool of, CUmemPool_attribute which, void *value)
{
    assert_ptr_equal(of, pool);
    assert_int_equal(which, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    if (answer == CUDA_SUCCESS)
        *(cuuint64_t *)value = reserved * GRANULE;
    return answer;
}

static CUresult trim_to(CUmemoryPool of, size_t keep)
{
    assert_ptr_equal(of, pool);
    assert_int_equal(keep, 0);
    trims++;
    if (!on_its_way)
        reserved = used;
    return CUDA_SUCCESS;
}

static int begin(void **state)
{
    CUcontext context;
    (void)state;
    spw_pool_reserves_reset();
    spw_unmanaged_reset();
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    fake_start(GRANULE, 64 << 20, BUDGET, 16 << 20);
    spw_driver.cuMemPoolGetAttribute = attribute;
    spw_driver.cuMemPoolTrimTo = trim_to;
    reserved = used = 0;
    answer = CUDA_SUCCESS;
    on_its_way = false;
    trims = 0;
    device = spw_device_current(&context);
    return device ? 0 : -1;
}

static uint64_t billed(void)
{
    assert_int_equal(device->foreign_bytes, BUDGET - device->handles.budget_bytes);
    return device->foreign_bytes / GRANULE;
}

/* So many granules at an address, for which the driver reserves `more` beyond what it has. */
static int take(CUdeviceptr address, uint64_t granules, uint64_t more)
{
    struct spw_pool_ask ask;
    int r = spw_unmanaged_ask_pool(&ask, pool, device, granules * GRANULE - 1, "a call");
    if (r < 0)
        return r;
    reserved += more;
    used += granules;
    spw_unmanaged_pool_answered(&ask, address);
    return 0;
}

static void give(CUdeviceptr address, uint64_t granules, CUstream stream)
{
    used -= granules;
    spw_pool_reserve_freed_locked(address, spw_billed_last, stream ? spw_stream_of_locked(stream) : NULL);
}

static void what_is_freed_counts_until_the_driver_gives_it_back(void **state)
{
    (void)state;
    assert_int_equal(take(FIRST, 10, 10), 0);
    assert_int_equal(billed(), 10);
    give(FIRST, 10, NULL);
    assert_int_equal(billed(), 10);
    reserved = 0; /* the program has trimmed it */
    spw_pool_reserve_settle_locked(pool);
    assert_int_equal(billed(), 0);
}

static void what_is_served_from_what_the_pool_keeps_counts_once(void **state)
{
    (void)state;
    assert_int_equal(take(FIRST, 10, 10), 0);
    give(FIRST, 10, NULL);
    assert_int_equal(take(FIRST, 10, 0), 0);
    assert_int_equal(billed(), 10);
}

static void what_the_pool_does_not_use_makes_room(void **state)
{
    (void)state;
    assert_int_equal(take(FIRST, 60, 60), 0);
    assert_int_equal(take(FIRST + 1, 50, 50), -ENOMEM);
    assert_int_equal(trims, 0); /* all of it is in use */
    give(FIRST, 60, NULL);
    assert_int_equal(take(FIRST + 1, 50, 50), 0);
    assert_int_equal(billed(), 50);
}

static void more_than_was_asked_for_is_put_on_the_bill_late(void **state)
{
    (void)state;
    assert_int_equal(take(FIRST, 1, 32), 0);
    assert_int_equal(billed(), 32);
}

static void what_the_driver_refuses_is_off_the_bill(void **state)
{
    struct spw_pool_ask ask;
    (void)state;
    assert_int_equal(spw_unmanaged_ask_pool(&ask, pool, device, 10 * GRANULE, "a call"), 0);
    spw_unmanaged_pool_answered(&ask, 0);
    assert_int_equal(billed(), 0);
}

static void two_at_once_are_counted_once_each(void **state)
{
    struct spw_pool_ask one, two;
    (void)state;
    assert_int_equal(spw_unmanaged_ask_pool(&one, pool, device, 10 * GRANULE, "a call"), 0);
    assert_int_equal(spw_unmanaged_ask_pool(&two, pool, device, 5 * GRANULE, "a call"), 0);
    reserved = used = 15;
    spw_unmanaged_pool_answered(&one, FIRST);
    spw_unmanaged_pool_answered(&two, FIRST + 1);
    assert_int_equal(billed(), 15);
}

static void a_destroyed_pool_counts_until_its_last_free_was_carried_out(void **state)
{
    CUstream stream = fake_stream();
    (void)state;
    assert_int_equal(take(FIRST, 10, 10), 0);
    assert_int_equal(take(FIRST + 1, 5, 5), 0);
    give(FIRST, 10, NULL);
    spw_pool_reserve_gone_locked(pool); /* nobody asks it anything from here on */
    answer = CUDA_ERROR_INVALID_VALUE;
    assert_int_equal(billed(), 15);
    give(FIRST + 1, 5, stream);
    assert_int_equal(billed(), 15);
    assert_false(spw_pool_reserves_trim_locked(device));
    fake_run_all();
    assert_true(spw_pool_reserves_trim_locked(device));
    assert_int_equal(billed(), 0);
    assert_int_equal(trims, 0);
}

static void run_all(void)
{
    fake_run_all();
    on_its_way = false;
}

static void frees_that_are_on_their_way_are_waited_for_where_nothing_else_makes_room(void **state)
{
    CUstream stream = fake_stream();
    (void)state;
    assert_int_equal(take(FIRST, 60, 60), 0);
    give(FIRST, 60, stream);
    on_its_way = true;
    fake_meanwhile(run_all);
    assert_int_equal(take(FIRST + 1, 50, 50), 0);
    assert_int_equal(billed(), 50);
}

static void *open_late(void *unused)
{
    usleep(300 * 1000);
    spw_lock();
    fake_open_gates();
    on_its_way = false;
    spw_unlock();
    return unused;
}

static int make_room(void)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    const int r = spw_reclaim_make(device, 50 * GRANULE);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    return r;
}

static int take_from_the_driver(void)
{
    return spw_unmanaged_take(device, 50 * GRANULE, "a call");
}

static int allocate(void)
{
    CUdeviceptr address;
    return spw_allocate(device, 50 * GRANULE, NULL, NULL, spw_mempool_stats_of_locked(NULL), &address);
}

static void free_behind_a_gate(void)
{
    CUstream stream = fake_stream();
    fake_goes_on(true);
    assert_int_equal(take(FIRST, 60, 60), 0);
    fake_gate(stream);
    struct spw_stream *record = spw_stream_of_locked(stream);
    (void)spw_stream_next_locked(record);
    spw_stream_gate_of_program_locked(record);
    give(FIRST, 60, stream);
    on_its_way = true;
}

/* They are waited for also behind a gate: nothing else is left. */
static void frees_that_are_gated_are_waited_for_by_operations_and_allocations(void **state)
{
    int (*const wants[])(void) = {make_room, take_from_the_driver, allocate};
    for (unsigned i = 0; i < sizeof(wants) / sizeof(*wants); i++) {
        pthread_t thread;
        (void)begin(state);
        free_behind_a_gate();
        assert_int_equal(pthread_create(&thread, NULL, open_late, NULL), 0);
        const int r = wants[i]();
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(r, 0);
        assert_int_equal(billed(), wants[i] == take_from_the_driver ? 50 : 0);
    }
}

static bool is_quick; /* each look at the clock takes a second */
static time_t ahead_s;
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    const int r = __real_clock_gettime(clock, now);
    ahead_s += is_quick;
    now->tv_sec += ahead_s;
    return r;
}

/* The thread that allocates is the one that would open the gate: it is refused in the end. */
static void an_allocation_waits_for_no_gate_without_end(void **state)
{
    CUdeviceptr address;
    (void)state;
    free_behind_a_gate();
    const time_t before_s = ahead_s;
    is_quick = true;
    assert_int_equal(spw_allocate(device, 50 * GRANULE, NULL, NULL, spw_mempool_stats_of_locked(NULL), &address), -ENOMEM);
    assert_int_equal(spw_unmanaged_take(device, 50 * GRANULE, "a call"), -ENOMEM);
    is_quick = false;
    assert_in_range(ahead_s - before_s, 20, 200);
    fake_open_gates();
}

/* Not by one that does not fit even so. */
static void nobody_waits_for_a_gate_in_vain(void **state)
{
    CUdeviceptr address;
    (void)state;
    free_behind_a_gate();
    assert_int_equal(spw_unmanaged_take(device, BUDGET + GRANULE, "a call"), -ENOMEM);
    assert_int_equal(spw_allocate(device, BUDGET + GRANULE, NULL, NULL, spw_mempool_stats_of_locked(NULL), &address),
                     -ENOMEM);
    fake_open_gates();
}

static void of_a_driver_that_does_not_tell_what_is_allocated_counts(void **state)
{
    (void)state;
    answer = CUDA_ERROR_NOT_SUPPORTED;
    assert_int_equal(take(FIRST, 10, 10), 0);
    assert_int_equal(billed(), 10);
    give(FIRST, 10, NULL);
    assert_int_equal(billed(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_freed_counts_until_the_driver_gives_it_back, begin),
        cmocka_unit_test_setup(what_is_served_from_what_the_pool_keeps_counts_once, begin),
        cmocka_unit_test_setup(what_the_pool_does_not_use_makes_room, begin),
        cmocka_unit_test_setup(more_than_was_asked_for_is_put_on_the_bill_late, begin),
        cmocka_unit_test_setup(what_the_driver_refuses_is_off_the_bill, begin),
        cmocka_unit_test_setup(two_at_once_are_counted_once_each, begin),
        cmocka_unit_test_setup(a_destroyed_pool_counts_until_its_last_free_was_carried_out, begin),
        cmocka_unit_test_setup(frees_that_are_on_their_way_are_waited_for_where_nothing_else_makes_room, begin),
        cmocka_unit_test_setup(frees_that_are_gated_are_waited_for_by_operations_and_allocations, begin),
        cmocka_unit_test_setup(an_allocation_waits_for_no_gate_without_end, begin),
        cmocka_unit_test_setup(nobody_waits_for_a_gate_in_vain, begin),
        cmocka_unit_test_setup(of_a_driver_that_does_not_tell_what_is_allocated_counts, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
