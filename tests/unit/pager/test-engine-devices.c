/* test-engine-devices.c - where there are pointer tables, an operation waits for whoever makes room on a device that it
 * touches, and on no other. On the fake device, which is two here. */
#include "versioned-launches.h"

#include "transfers.h"

#include <unistd.h>

static struct spw_device *second;
static CUdeviceptr there; /* on the second */

static int begin_two(void **state)
{
    int r;
    if (begin(state) < 0)
        return -1;
    spw_lock();
    second = spw_device_ready_locked(1, &r);
    spw_unlock();
    assert_non_null(second);
    assert_int_equal(spw_allocate(second, 64 * KIB, NULL, context, spw_mempool_stats_of_locked(NULL), &there), 0);
    return 0;
}

static void lead(CUdeviceptr from, CUdeviceptr to)
{
    spw_pointer_tables_learn(from, &to, sizeof(to), &spw_pinning);
}

/* Who waits where nobody should has the test ended. */
static void while_room_is_made_on_the_second(int (*act)(void))
{
    pthread_mutex_lock(&second->slow);
    (void)alarm(20);
    assert_int_equal(act(), 0);
    (void)alarm(0);
    pthread_mutex_unlock(&second->slow);
}

static int follow_here(void)
{
    return launch(1, a, 0, 0);
}

static void an_operation_waits_for_nobody_on_a_device_that_it_does_not_touch(void **state)
{
    const uint64_t was = version(b);
    lead(a, b);
    while_room_is_made_on_the_second(follow_here);
    assert_true(version(b) > was);
}

static void where_a_table_leads_to_another_device_that_is_made_ready_as_well(void **state)
{
    lead(a, b);
    lead(b, there);
    struct spw_block *o = spw_block_of(spw_object_at_locked(there));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(launch(1, there, 0, 0), 0);
        fake_run_all();
        pthread_mutex_lock(&second->slow);
        spw_lock();
        assert_int_equal(spw_transfer_evict_locked(second, o), 0);
        fake_run_all();
        spw_transfer_pump_locked(second);
        spw_unlock();
        pthread_mutex_unlock(&second->slow);
        assert_true(o->object.attention & SPW_EVICTED);
        assert_int_equal(launch(1, a, 0, 0), 0);
        assert_false(o->object.attention & SPW_ABSENT);
    }
}

static void a_break_waits_for_nobody_where_nothing_is_dropped(void **state)
{
    const uint64_t epoch = spw_version_epoch;
    while_room_is_made_on_the_second(spw_versions_break);
    assert_int_equal(spw_version_epoch, epoch + 1);
    device->dropping = 1;
    while_room_is_made_on_the_second(spw_versions_break);
    assert_int_equal(rescues_of_all, 1);
    assert_int_equal(spw_version_epoch, epoch + 2);
}

static bool is_locked; /* where something was last made again */

static int look_for_lock(struct spw_device *d, const struct spw_versioned *what, bool is_known, struct spw_stream *s)
{
    is_locked = pthread_mutex_trylock(&d->slow) == EBUSY;
    if (!is_locked)
        pthread_mutex_unlock(&d->slow);
    d->dropping = 0;
    rescues_of_all++;
    return 0;
}

/* What is dropped there may be nobody's any more, and kept for replays alone. */
static void without_memory_to_list_what_tables_lead_to_all_devices_are_locked(void **state)
{
    static const struct spw_rematerialiser locked = {.kept = on_kept, .rescue_unlocking = look_for_lock};
    CUdeviceptr table[20];
    for (size_t i = 0; i < 20; i++)
        table[i] = allocate(64 * KIB);
    assert_int_equal(launch(1, a, 0, 0), 0);
    spw_pointer_tables_learn(a, table, sizeof(table), &spw_pinning);
    assert_int_equal(spw_free(there, NULL), 0);
    spw_rematerialiser = &locked;
    second->dropping = 1;
    memory_fails_once_after(0);
    assert_int_equal(launch(1, a, 0, 0), 0);
    assert_true(memory_is_back());
    assert_int_equal(rescues_of_all, 1);
    assert_true(is_locked);
}

int main(void)
{
#define TWO(name) cmocka_unit_test_setup_teardown(name, begin_two, end)
    const struct CMUnitTest tests[] = {
        TWO(an_operation_waits_for_nobody_on_a_device_that_it_does_not_touch),
        TWO(where_a_table_leads_to_another_device_that_is_made_ready_as_well),
        TWO(without_memory_to_list_what_tables_lead_to_all_devices_are_locked),
        TWO(a_break_waits_for_nobody_where_nothing_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
