/* test-streams.c - numbers, marks and waiting, on streams that come and go. */
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
#include "engine.h"
#include "fake-device.h"
#include "follower.h"
#include "capture.h"
#include "lock.h"
#include "mover.h"
#include "mempool_stats.h"
#include "reclaim.h"
#include "stream_table.h"
#include "unlocked.h"
#include "uses_wait.h"

static CUcontext context;
static struct spw_device *device;

static void begin(void)
{
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_reclaim_pressed = false;
    fake_start(4096, 128 << 20, 1 << 20, 16 << 20);
    device = spw_device_current(&context);
    assert_non_null(device);
}

static void *use_own_default_stream(void *ret_record)
{
    spw_lock();
    struct spw_stream *s = spw_stream_of_locked(CU_STREAM_PER_THREAD);
    if (s)
        (void)spw_stream_next_locked(s);
    spw_unlock();
    *(struct spw_stream **)ret_record = s;
    return NULL;
}

static struct spw_stream *stream_of_new_thread(void)
{
    pthread_t thread;
    struct spw_stream *s = NULL;
    assert_int_equal(pthread_create(&thread, NULL, use_own_default_stream, &s), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_non_null(s);
    return s;
}

/* A thread that ends leaves work behind on its default stream; the next thread's stream is another one, though it lives at
 * the same addresses. */
static void default_streams_of_threads_are_told_apart(void **state)
{
    begin();
    struct spw_stream *first = stream_of_new_thread(), *second = stream_of_new_thread();
    assert_ptr_not_equal(first, second);
    assert_int_equal(first->begun, 1);
    assert_int_equal(second->begun, 1);
}

/* The record of a thread's default stream is used again once the thread is gone and its work is complete. */
static void threads_that_ended_leave_no_records_behind(void **state)
{
    begin();
    for (int i = 0; i < 5000; i++) {
        struct spw_stream *s = stream_of_new_thread();
        spw_note_stream_done(s, s->begun);
    }
    assert_true(spw_streams_count_locked() < 10);
}

/* Also where nobody has waited for its work. */
static void threads_that_ended_are_waited_for_where_there_is_no_record_left(void **state)
{
    begin();
    for (int i = 0; i < 5000; i++)
        (void)stream_of_new_thread(); /* which has a record */
}

/* With no record left for its stream an operation is refused: it might run on missing memory. */
static void an_operation_on_one_stream_too_many_is_refused(void **state)
{
    begin();
    CUdeviceptr a = 0;
    assert_int_equal(spw_allocate(device, 64 << 10, NULL, context, spw_mempool_stats_of_locked(NULL), &a), 0);
    for (unsigned i = 0; i < 5000; i++) {
        struct spw_op op = {
            .handle = (CUstream)(uintptr_t)(0x10000 + 16 * i), .hits = &a, .count = 1, .room = 1, .name = "k"};
        int r = spw_op_begin(&op);
        if (r == 0) {
            spw_op_end(&op);
            continue;
        }
        assert_int_equal(r, -ENOMEM); /* -ENODEV would mean: let the driver have it */
        return;
    }
    fail_msg("there is room for any number of streams");
}

static CUstream s, t;
static struct spw_stream *record;

/* The stream that somebody waits for is destroyed, its work completes, and a new stream wants a record. */
static void destroy_and_create(void)
{
    spw_lock();
    spw_stream_gone_locked(s);
    spw_unlock();
    assert_int_equal(spw_driver.cuCtxSynchronize(), CUDA_SUCCESS);
    unsigned events = fake_counts()->events;
    spw_lock();
    assert_non_null(spw_stream_of_locked(t));
    spw_unlock();
    assert_int_equal(fake_counts()->events, events); /* the one that is waited for is still there */
}

/* An event that another thread waits for is not destroyed with its stream. */
static void a_mark_outlives_its_stream_while_somebody_waits(void **state)
{
    begin();
    s = fake_stream();
    t = fake_stream();
    struct spw_uses uses = {0};
    spw_lock();
    record = spw_stream_of_locked(s);
    spw_uses_add_locked(&uses, record, spw_stream_next_locked(record));
    fake_meanwhile(destroy_and_create);
    assert_int_equal(spw_uses_wait_unlocking(&uses), 0);
    spw_unlock();
}

/* One more stream than are noted: all of their device's stand for it, and none of another device's, where work may wait for
 * what the program does next. */
static void what_many_streams_use_is_not_waited_for_on_other_devices(void **state)
{
    begin();
    const CUstream elsewhere = fake_stream(), idle = fake_stream();
    CUdeviceptr a;
    assert_int_equal(spw_allocate(device, 64 << 10, NULL, context, spw_mempool_stats_of_locked(NULL), &a), 0);
    spw_lock();
    struct spw_uses uses = {0};
    for (int i = 0; i <= SPW_USES; i++) {
        const CUstream handle = fake_stream();
        struct spw_stream *user = spw_stream_of_locked(handle);
        user->device = 0;
        spw_uses_add_locked(&uses, user, spw_stream_next_locked(user));
        fake_fill(handle, a, 4096, (unsigned char)i);
    }
    struct spw_stream *other = spw_stream_of_locked(elsewhere), *next = spw_stream_of_locked(idle);
    other->device = 1;
    (void)spw_stream_next_locked(other);
    fake_fill(elsewhere, a + 4096, 4096, 9);
    assert_int_equal(spw_uses_order_locked(&uses, next), 0);
    assert_int_equal(spw_driver.cuStreamSynchronize(idle), CUDA_SUCCESS);
    fake_expect(idle, a, 4096, SPW_USES);
    assert_int_equal(fake_left(elsewhere), 1);
    assert_int_equal(spw_uses_wait_unlocking(&uses), 0);
    assert_true(spw_uses_done_locked(&uses));
    assert_int_equal(fake_left(elsewhere), 1);
    spw_unlock();
}

static int rounds;

static void submit_more(void)
{
    spw_lock();
    (void)spw_stream_next_locked(record);
    spw_unlock();
    if (++rounds < 50)
        fake_meanwhile(submit_more);
}

/* Waiting for everybody's work ends though others go on submitting: only what was there before is waited for. */
static void waiting_for_everything_does_not_wait_for_what_comes_later(void **state)
{
    begin();
    s = fake_stream();
    struct spw_uses uses = {.everybody = UINT32_MAX};
    spw_lock();
    record = spw_stream_of_locked(s);
    (void)spw_stream_next_locked(record);
    rounds = 0;
    fake_meanwhile(submit_more);
    assert_int_equal(spw_uses_wait_unlocking(&uses), 0);
    spw_unlock();
    fake_meanwhile(NULL);
    assert_true(rounds < 5);
}

/* However far the host runs ahead, waiting for the oldest operation waits for little more than it, and waiting for one in
 * the middle not for the newest; the events are used again and again. */
static void an_old_operation_can_be_waited_for_without_the_newest(void **state)
{
    enum { MANY = 1000 };
    begin();
    s = fake_stream();
    spw_lock();
    record = spw_stream_of_locked(s);
    for (int i = 0; i < MANY; i++) {
        (void)spw_stream_next_locked(record);
        assert_int_equal(spw_stream_mark_locked(record), 0);
    }
    for (unsigned number = 1; number < MANY; number += number < 4 ? 1 : 100) {
        struct spw_uses uses = {0};
        spw_uses_add_locked(&uses, record, number);
        assert_int_equal(spw_uses_wait_unlocking(&uses), 0);
        assert_true(record->done >= number && record->done <= (number == 1 ? 1 : number + MANY / 4));
    }
    spw_unlock();
    assert_int_equal(fake_counts()->events, SPW_STREAM_MARKS);
}

static int own_mark, own_follow;

/* Who is told of an operation has the stream marked, as plans do at the beginning of an iteration. */
static void mark_meanwhile(struct spw_op *op, struct spw_object *const *objects, unsigned count)
{
    struct spw_uses before = {0}, own = {0};
    (void)objects;
    (void)count;
    spw_uses_add_locked(&before, op->stream, op->stream->begun - 1);
    spw_uses_add_locked(&own, op->stream, op->stream->begun);
    assert_int_equal(spw_uses_mark_locked(&before), 0);
    assert_true(spw_uses_in_call_locked(&own));
    own_mark = spw_uses_mark_locked(&own);
    own_follow = spw_streams_follow_locked(op->stream, ~UINT64_C(0));
}

/* It has its number when it is told of, and the driver does not have it: no event stands for it. */
static void an_event_that_is_recorded_while_an_operation_is_begun_does_not_stand_for_it(void **state)
{
    const struct spw_follower follower = {.op = mark_meanwhile};
    CUdeviceptr a = 0;
    begin();
    s = fake_stream();
    t = fake_stream();
    assert_int_equal(spw_allocate(device, 64 << 10, NULL, context, spw_mempool_stats_of_locked(NULL), &a), 0);
    spw_follower = &follower;
    for (int i = 0; i < 3; i++) { /* the slow way, where memory comes first, and the quick one */
        struct spw_op other = {.handle = t, .name = "k"}, op = {.handle = s, .hits = &a, .count = 1, .room = 1, .name = "k"};
        struct spw_uses uses = {0};
        assert_int_equal(spw_op_begin(&other), 0);
        spw_op_end(&other);
        spw_plan_follower_any = true;
        assert_int_equal(spw_op_begin(&op), 0);
        spw_plan_follower_any = false;
        assert_int_equal(own_mark, -EAGAIN);
        assert_int_equal(own_follow, 0);
        assert_int_equal(spw_driver.cuCtxSynchronize(), CUDA_SUCCESS);
        spw_lock();
        spw_uses_add_locked(&uses, op.stream, op.stream->begun);
        assert_false(spw_uses_done_locked(&uses));
        assert_true(op.stream->done < op.stream->begun);
        spw_unlock();
        spw_op_end(&op);
        spw_lock();
        assert_int_equal(spw_uses_wait_unlocking(&uses), 0);
        spw_unlock();
    }
    spw_follower = NULL;
}

static CUstreamCaptureStatus capture_status;

static CUresult capture_status_of(CUstream stream, CUstreamCaptureStatus *status)
{
    *status = capture_status;
    return CUDA_SUCCESS;
}

/* An event recorded on a capturing stream would be a node of its graph. What was submitted before the capture has its mark
 * from when the capture began, and can be waited for. */
static void nothing_of_ours_gets_into_a_capture(void **state)
{
    struct spw_uses uses = {0};
    begin();
    CUstream handle = fake_stream();
    spw_driver.cuStreamIsCapturing = capture_status_of;
    spw_lock();
    struct spw_stream *s = spw_stream_of_locked(handle);
    spw_uses_add_locked(&uses, s, spw_stream_next_locked(s));
    spw_streams_capture_begins_locked();
    spw_unlock();
    spw_captures_active = 1;
    capture_status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    unsigned events = fake_counts()->events;
    spw_lock();
    assert_int_equal(spw_stream_mark_locked(s), -EBUSY);
    assert_int_equal(spw_uses_wait_unlocking(&uses), 0);
    spw_unlock();
    spw_captures_active = 0;
    capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
    assert_int_equal(fake_counts()->events, events);
    assert_int_equal(s->done, 1);
}

static CUresult never(void)
{
    fail_msg("waiting for a context ends what is captured in it");
    return CUDA_SUCCESS;
}

/* Nobody marked what it was given before: who has to come behind that cannot, and is told so. */
static void no_context_is_waited_for_while_something_captures(void **state)
{
    struct spw_uses uses = {0};
    begin();
    CUresult (*synchronize)(void) = spw_driver.cuCtxSynchronize;
    CUstream capturing = fake_stream(), other = fake_stream();
    spw_driver.cuStreamIsCapturing = capture_status_of;
    spw_driver.cuCtxSynchronize = never;
    spw_captures_active = 1;
    capture_status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    spw_lock();
    struct spw_stream *s = spw_stream_of_locked(capturing), *o = spw_stream_of_locked(other);
    spw_uses_add_locked(&uses, s, spw_stream_next_locked(s));
    assert_true(spw_uses_order_locked(&uses, o) < 0);
    spw_captures_active = 0;
    capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
    assert_int_equal(spw_uses_order_locked(&uses, o), 0);
    spw_unlock();
    spw_driver.cuCtxSynchronize = synchronize;
}

static unsigned synchronized;

static CUresult count_synchronize(void)
{
    synchronized++;
    return CUDA_SUCCESS;
}

static void expect_marked(struct spw_stream *s)
{
    CUevent event;
    uint64_t covered = 0;
    spw_captures_active = 1;
    assert_int_equal(spw_mark_for_locked(s, s->begun, &event, &covered), 0);
    assert_true(covered >= s->begun);
    spw_captures_active = 0;
}

/* Where a blocking stream captures, nothing can be recorded on the default stream either. */
static void what_any_stream_was_given_can_be_waited_for_during_a_capture(void **state)
{
    begin();
    CUstream handles[] = {NULL, fake_stream(), fake_stream()};
    struct spw_stream *s[3];
    spw_driver.cuStreamIsCapturing = capture_status_of;
    spw_lock();
    for (int i = 0; i < 3; i++) {
        s[i] = spw_stream_of_locked(handles[i]);
        (void)spw_stream_next_locked(s[i]);
    }
    spw_streams_capture_begins_locked();
    capture_status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    const unsigned events = fake_counts()->events;
    for (int i = 0; i < 3; i++)
        expect_marked(s[i]);
    capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
    assert_int_equal(fake_counts()->events, events);
    (void)spw_stream_next_locked(s[1]);
    assert_int_equal(spw_stream_may_be_captured_locked(s[1]), 0);
    capture_status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    expect_marked(s[1]);
    capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
    spw_unlock();
}

/* Nobody but its thread can mark it. */
static void other_threads_own_streams_are_waited_for_before_the_first_capture(void **state)
{
    begin();
    CUresult (*synchronize)(void) = spw_driver.cuCtxSynchronize;
    struct spw_stream *s = stream_of_new_thread();
    spw_driver.cuCtxSynchronize = count_synchronize;
    synchronized = 0;
    spw_lock();
    spw_captures_active = 1;
    spw_streams_capture_begins_locked();
    assert_int_equal(synchronized, 0);
    assert_int_equal(s->done, 0);
    spw_captures_active = 0;
    spw_streams_capture_begins_locked();
    assert_int_equal(synchronized, 1);
    assert_int_equal(s->done, 1);
    spw_streams_capture_begins_locked();
    assert_int_equal(synchronized, 1);
    spw_unlock();
    spw_driver.cuCtxSynchronize = synchronize;
}

static void mark_nothing(struct spw_op *op, struct spw_object *const *objects, unsigned count)
{
    (void)op;
    (void)objects;
    (void)count;
}

static CUresult must_not_wait(CUstream stream)
{
    fail_msg("waiting for a stream that captures ends the capture");
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* It joined a capture, and has its mark from then. Without one nobody knows that its work is done. */
static void a_stream_that_goes_while_it_captures_is_not_waited_for(void **state)
{
    for (int has_mark = 0; has_mark < 2; has_mark++) {
        begin();
        CUresult (*synchronize)(CUstream stream) = spw_driver.cuStreamSynchronize;
        const CUstream handle = fake_stream();
        CUdeviceptr a;
        assert_int_equal(spw_allocate(device, 64 << 10, NULL, context, spw_mempool_stats_of_locked(NULL), &a), 0);
        spw_driver.cuStreamIsCapturing = capture_status_of;
        spw_lock();
        struct spw_stream *gone = spw_stream_of_locked(handle);
        struct spw_uses uses = {0};
        spw_uses_add_locked(&uses, gone, spw_stream_next_locked(gone));
        fake_fill(handle, a, 4096, 1);
        if (has_mark)
            assert_int_equal(spw_stream_may_be_captured_locked(gone), 0);
        spw_driver.cuStreamSynchronize = must_not_wait;
        spw_captures_active = 1;
        capture_status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
        spw_stream_gone_locked(handle);
        spw_captures_active = 0;
        capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
        spw_driver.cuStreamSynchronize = synchronize;
        assert_false(spw_uses_seen_done_locked(&uses));
        const unsigned events = fake_counts()->events;
        assert_int_equal(spw_uses_wait_unlocking(&uses), 0);
        assert_int_equal(fake_counts()->events, events); /* there is no stream to record one on */
        assert_int_equal(fake_left(handle), 0);
        spw_unlock();
    }
}

/* The driver does not wait for it: what it was given is not done. */
static void a_stream_that_cannot_be_waited_for_is_not_done_when_it_goes(void **state)
{
    begin();
    const CUstream handle = fake_stream();
    spw_lock();
    struct spw_stream *gone = spw_stream_of_locked(handle);
    (void)spw_stream_next_locked(gone);
    fake_fail("cuEventRecord", 1, CUDA_ERROR_UNKNOWN, false);
    fake_fail_too("cuStreamSynchronize");
    spw_stream_gone_locked(handle);
    fake_fail("", 1, CUDA_SUCCESS, false);
    assert_true(gone->done < gone->begun);
    spw_unlock();
}

static void *come_out_of_the_driver(void *stream)
{
    usleep(50000);
    atomic_fetch_sub(&((struct spw_stream *)stream)->in_call, 1);
    return NULL;
}

/* What ran again on one stream, where another thread is in the driver just now, comes before all of a stream that is new. */
static void a_new_stream_comes_after_what_ran_again_before(void **state)
{
    const struct spw_follower follower = {.op = mark_nothing};
    begin();
    CUdeviceptr a;
    pthread_t thread;
    s = fake_stream();
    t = fake_stream();
    assert_int_equal(spw_allocate(device, 64 << 10, NULL, context, spw_mempool_stats_of_locked(NULL), &a), 0);
    spw_lock();
    struct spw_stream *again = spw_stream_of_locked(s);
    spw_uses_add_locked(&device->replays, again, spw_stream_next_locked(again));
    spw_unlock();
    fake_fill(s, a, 4096, 1);
    atomic_fetch_add(&again->in_call, 1);
    assert_int_equal(pthread_create(&thread, NULL, come_out_of_the_driver, again), 0);
    spw_follower = &follower;
    spw_plan_follower_any = true;
    struct spw_op op = {.handle = t, .hits = &a, .count = 1, .room = 1, .name = "k"};
    assert_int_equal(spw_op_begin(&op), 0);
    fake_expect(t, a, 4096, 1);
    spw_op_end(&op);
    spw_plan_follower_any = false;
    spw_follower = NULL;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(spw_driver.cuStreamSynchronize(t), CUDA_SUCCESS);
    assert_int_equal(fake_left(s), 0);
}

/* The only trace of a use may be that of a stream of ours which comes after it: it is not left out then. */
static void a_stream_of_ours_is_not_left_out_where_it_stands_for_others(void **state)
{
    for (int stands = 0; stands < 2; stands++) {
        begin();
        const CUstream program = fake_stream(), other = fake_stream();
        CUdeviceptr a;
        assert_int_equal(spw_allocate(device, 64 << 10, NULL, context, spw_mempool_stats_of_locked(NULL), &a), 0);
        spw_lock();
        struct spw_stream *s = spw_stream_of_locked(program), *last = spw_stream_of_locked(other);
        struct spw_stream *ours = spw_stream_adopt_locked(fake_stream(), context);
        struct spw_uses uses = {0};
        spw_uses_add_locked(&uses, stands ? s : ours, spw_stream_next_locked(stands ? s : ours));
        fake_fill(program, a, 4096, 1);
        assert_int_equal(spw_uses_order_locked(&uses, ours), 0);
        spw_uses_gather_locked(&uses, ours, spw_stream_next_locked(ours));
        assert_int_equal(spw_uses_order_beside_locked(&uses, last, ours), 0);
        fake_fill(other, a, 4096, 2);
        assert_int_equal(spw_uses_of_others_locked(&uses, last), stands);
        assert_int_equal(spw_driver.cuStreamSynchronize(other), CUDA_SUCCESS);
        assert_true(!stands || fake_left(program) == 0);
        assert_int_equal(spw_uses_wait_unlocking(&uses), 0);
        assert_false(spw_uses_of_others_locked(&uses, last));
        assert_false(uses.gathered);
        spw_unlock();
        fake_run_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_any_stream_was_given_can_be_waited_for_during_a_capture),
        cmocka_unit_test(other_threads_own_streams_are_waited_for_before_the_first_capture),
        cmocka_unit_test(no_context_is_waited_for_while_something_captures),
        cmocka_unit_test(default_streams_of_threads_are_told_apart),
        cmocka_unit_test(threads_that_ended_leave_no_records_behind),
        cmocka_unit_test(threads_that_ended_are_waited_for_where_there_is_no_record_left),
        cmocka_unit_test(an_operation_on_one_stream_too_many_is_refused),
        cmocka_unit_test(a_mark_outlives_its_stream_while_somebody_waits),
        cmocka_unit_test(what_many_streams_use_is_not_waited_for_on_other_devices),
        cmocka_unit_test(waiting_for_everything_does_not_wait_for_what_comes_later),
        cmocka_unit_test(an_old_operation_can_be_waited_for_without_the_newest),
        cmocka_unit_test(nothing_of_ours_gets_into_a_capture),
        cmocka_unit_test(an_event_that_is_recorded_while_an_operation_is_begun_does_not_stand_for_it),
        cmocka_unit_test(a_stream_that_goes_while_it_captures_is_not_waited_for),
        cmocka_unit_test(a_stream_that_cannot_be_waited_for_is_not_done_when_it_goes),
        cmocka_unit_test(a_new_stream_comes_after_what_ran_again_before),
        cmocka_unit_test(a_stream_of_ours_is_not_left_out_where_it_stands_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
