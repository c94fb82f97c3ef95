/* digests-given.c - the slots of digests are given back to an operation that would be refused: all that was asked is
 * forgotten, and what may still write to them is waited for. Parts of the library on the simulated device, without the
 * hooks. */
#include <stdatomic.h>
#include <unistd.h>

#include "budget.h"
#include "digest_calls.h"
#include "result.h"

static int give(void)
{
    pthread_mutex_lock(&d->slow);
    spw_lock();
    const int r = spw_digests_give_unlocking(d);
    spw_unlock();
    pthread_mutex_unlock(&d->slow);
    return r;
}

CHILD_TEST(slots_that_are_given_back_take_no_room_and_are_not_made_again)
{
    struct spw_hash hash;
    uint32_t ticket, unsent;
    start();
    const uint64_t budget = d->handles.budget_bytes;
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream();
    assert_int_equal(give(), 0); /* there are none */
    for (int i = 0; i < 100; i++)
        assert_int_equal(ask(s, p, GRANULE, &ticket), 0);
    assert_int_equal(send(s), 0);
    assert_int_equal(ask(s, p, GRANULE, &unsent), 0);
    assert_int_equal(give(), 0); /* they are under way, which the device would tell of if it was not waited for */
    assert_int_equal(d->foreign_bytes, 0);
    assert_int_equal(d->handles.budget_bytes, budget);
    assert_int_equal(held(), 0);
    assert_int_equal(answer(ticket, &hash), -EINVAL);
    assert_int_equal(answer(unsent, &hash), -EINVAL);
    forget(ticket);
    assert_int_equal(send(s), 0);
    assert_int_equal(ask(s, p, 8, &ticket), -ENOTSUP);
    assert_int_equal(open_digests(), -ENOTSUP);
    assert_int_equal(d->foreign_bytes, 0);
    spw_lock();
    spw_digests_context_gone_locked(context);
    spw_unlock();
    assert_int_equal(d->handles.budget_bytes, budget);
    assert_int_equal(ask(s, p, 8, &ticket), 0);
}

/* In a larger budget there may be room for them. */
CHILD_TEST(slots_that_were_given_back_are_asked_for_again_in_a_larger_budget)
{
    uint64_t smallest;
    uint32_t ticket;
    start();
    const uint64_t budget = d->handles.budget_bytes;
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream();
    assert_int_equal(ask(s, p, 8, &ticket), 0);
    assert_int_equal(give(), 0);
    assert_int_equal(spw_budget_set(d, budget, &smallest), 0);
    assert_int_equal(ask(s, p, 8, &ticket), -ENOTSUP);
    assert_int_equal(spw_budget_set(d, budget + GRANULE, &smallest), 0);
    assert_int_equal(ask(s, p, 8, &ticket), 0);
    assert_int_equal(send(s), 0);
    OK(cuStreamSynchronize(s));
    (void)answered(ticket);
    assert_int_equal(d->foreign_bytes, RING_BYTES);
}

static atomic_int expired;

static void wait_for_flag(void *flag)
{
    int i = 0;
    while (i < 50000 && !atomic_load((atomic_int *)flag)) {
        usleep(100);
        i++;
    }
    atomic_store(&expired, i == 50000);
}

CHILD_TEST(slots_that_something_gated_will_write_to_are_not_given_back)
{
    static atomic_int flag;
    struct spw_hash hash;
    uint32_t ticket;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream(), other = new_stream();
    OK(cuLaunchHostFunc(s, wait_for_flag, &flag));
    spw_lock();
    struct spw_stream *record = spw_stream_of_locked(s);
    (void)spw_stream_next_locked(record);
    spw_stream_gate_locked(record);
    spw_unlock();
    assert_int_equal(ask(s, p, 8, &ticket), 0);
    assert_int_equal(give(), -ETIME);
    assert_int_equal(d->foreign_bytes, RING_BYTES);
    assert_int_equal(answer(ticket, &hash), -EINVAL);
    assert_int_equal(ask(other, p, 8, &ticket), 0); /* as before */
    assert_int_equal(send(other), 0);
    OK(cuStreamSynchronize(other));
    (void)answered(ticket);
    atomic_store(&flag, 1);
    OK(cuCtxSynchronize());
    assert_int_equal(give(), 0);
    assert_int_equal(d->foreign_bytes, 0);
}

static atomic_int flag;

/* The program's own thread would do so only once it has come out of its call. */
static void *set_flag_late(void *unused)
{
    usleep(400000);
    spw_lock();
    atomic_store(&flag, 1);
    spw_unlock();
    return unused;
}

/* The driver's own call waits for all that the context has. */
static void give_beside_a_gate(CUstream other)
{
    pthread_t thread;
    OK(cuLaunchHostFunc(other, wait_for_flag, &flag));
    spw_lock();
    struct spw_stream *gated = spw_stream_of_locked(other);
    (void)spw_stream_next_locked(gated);
    spw_stream_gate_locked(gated);
    spw_unlock();
    assert_int_equal(pthread_create(&thread, NULL, set_flag_late, NULL), 0);
    assert_int_equal(give(), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    OK(cuCtxSynchronize());
    assert_false(atomic_load(&expired));
    assert_int_equal(d->foreign_bytes, 0);
}

CHILD_TEST(nobody_is_kept_from_the_lock_while_something_is_gated_beside_slots)
{
    uint32_t ticket;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream(), other = new_stream();
    assert_int_equal(ask(s, p, 8, &ticket), 0);
    give_beside_a_gate(other);
}

/* As far as it is known, nothing has come on before the next mark of the stream: each of the operations until there has its
 * time. */
CHILD_TEST(slots_behind_slow_work_are_waited_for_while_another_stream_is_gated, "SIMGPU_PROFILE", "a100-40g",
           "SIMGPU_SCALE_BYTES", "300")
{
    void *host;
    uint32_t ticket;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream(), other = new_stream();
    OK(cuMemHostAlloc(&host, GRANULE, 0));
    for (int i = 0; i < SPW_MARK_EVERY; i++) {
        OK(cuMemcpyDtoHAsync_v2(host, p, GRANULE, s)); /* some 25 ms */
        spw_lock();
        (void)spw_stream_next_locked(spw_stream_of_locked(s));
        spw_unlock();
    }
    assert_int_equal(ask(s, p, 8, &ticket), 0);
    give_beside_a_gate(other);
}

static void keep_what_cannot_be_freed(void)
{
    uint32_t ticket;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    assert_int_equal(ask(NULL, p, 8, &ticket), 0);
    assert_int_equal(give(), spw_result(CUDA_ERROR_INVALID_VALUE));
    assert_int_equal(d->foreign_bytes, RING_BYTES);
    assert_int_equal(ask(NULL, p, 8, &ticket), 0);
    assert_int_equal(give(), 0);
    assert_int_equal(d->foreign_bytes, 0);
}

static void slots_that_the_driver_does_not_free_stay_on_the_bill(void **state)
{
    assert_true(in_child(keep_what_cannot_be_freed, "SIMGPU_FAIL", "cuMemFree:1=1", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_that_are_given_back_take_no_room_and_are_not_made_again),
        cmocka_unit_test(slots_that_were_given_back_are_asked_for_again_in_a_larger_budget),
        cmocka_unit_test(slots_that_something_gated_will_write_to_are_not_given_back),
        cmocka_unit_test(nobody_is_kept_from_the_lock_while_something_is_gated_beside_slots),
        cmocka_unit_test(slots_behind_slow_work_are_waited_for_while_another_stream_is_gated),
        cmocka_unit_test(slots_that_the_driver_does_not_free_stay_on_the_bill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
