/* test-uses_wait.c - how long the host waits where something is gated: as long as what it waits for comes on, by a clock
 * that goes on while the driver is asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <time.h>

#include "driver.h"
#include "fake-device.h"
#include "lock.h"
#include "stream_table.h"
#include "unlocked.h"
#include "uses_wait.h"

#define MS UINT64_C(1000000)

static uint64_t now_ns, due_ns, every_ns;
static void (*step)(void); /* what happens on the device, and in other threads, so often; or NULL */
static CUresult (*ask_fake)(CUevent event);
static CUstream t, elsewhere; /* nobody waits for what is gated elsewhere */
static struct spw_stream *moving;
static unsigned going; /* so many of its marks are still to come */

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    now_ns += MS / 10;
    *now = (struct timespec){.tv_sec = (time_t)(now_ns / (1000 * MS)), .tv_nsec = (long)(now_ns % (1000 * MS))};
    return 0;
}

/* Others come to something only while nobody has the lock. */
static CUresult ask(CUevent event)
{
    now_ns += MS / 100;
    while (step && now_ns >= due_ns && !atomic_load(&spw_engine_lock)) {
        due_ns += every_ns;
        step();
    }
    return ask_fake(event);
}

static void every(uint64_t ms, void (*then)(void))
{
    every_ns = ms * MS;
    due_ns = now_ns + every_ns;
    step = then;
}

static struct spw_stream *submit(CUstream handle)
{
    struct spw_stream *s = spw_stream_of_locked(handle);
    assert_non_null(s);
    (void)spw_stream_next_locked(s);
    return s;
}

static struct spw_stream *gate(CUstream handle, bool is_known)
{
    fake_gate(handle);
    struct spw_stream *s = submit(handle);
    if (is_known)
        spw_stream_gate_locked(s);
    return s;
}

/* Operations with a mark each. */
static void submit_marked(unsigned count)
{
    going = count;
    for (unsigned i = 0; i < count; i++) {
        moving = submit(t);
        assert_int_equal(spw_stream_mark_locked(moving), 0);
    }
}

/* With the lock. */
static void begin(void)
{
    step = NULL;
    now_ns += 1000 * MS;
    atomic_store(&spw_engine_lock, 0); /* a test that failed may have left with it */
    spw_streams_reset();
    fake_start(4096, 1 << 20, 1 << 20, 1 << 20);
    ask_fake = spw_driver.cuEventQuery;
    spw_driver.cuEventQuery = ask;
    t = fake_stream();
    spw_waits_in_vain = 0;
    spw_lock();
    elsewhere = fake_stream();
    gate(elsewhere, true)->device = 1;
}

static void end(void)
{
    step = NULL;
    spw_unlock();
    fake_run_all();
}

static uint64_t waited_ms(struct spw_uses *u, int expected)
{
    const uint64_t began_ns = now_ns;
    assert_int_equal(spw_uses_wait_a_while_unlocking(u), expected);
    return (now_ns - began_ns) / MS;
}

static struct spw_uses use_of(struct spw_stream *s)
{
    struct spw_uses u = {0};
    spw_uses_add_locked(&u, s, s->begun);
    return u;
}

static void next_ends(void)
{
    if (going && going--)
        (void)spw_driver.cuEventSynchronize(moving->marks[moving->mark_first].event);
}

/* Longer than a tenth of a second in all, and never so long for nothing. */
static void what_comes_on_is_waited_for(void **state)
{
    enum { OPERATIONS = 20, EVERY_MS = 90 };
    begin();
    submit_marked(OPERATIONS);
    every(EVERY_MS, next_ends);
    struct spw_uses u = use_of(moving);
    assert_in_range(waited_ms(&u, 0), OPERATIONS * EVERY_MS, OPERATIONS * EVERY_MS + 5);
    assert_int_equal(u.count, 0);
    assert_int_equal(spw_waits_in_vain, 0);
    end();
}

/* Only their marks tell: each operation until the next one has as long. */
static void what_comes_on_unseen_is_waited_for(void **state)
{
    enum { MARKS = 3, EVERY_MS = 90 };
    begin();
    for (int i = 0; i < MARKS; i++) {
        for (int k = 1; k < SPW_MARK_EVERY; k++)
            (void)submit(t);
        submit_marked(1);
    }
    going = MARKS;
    every(SPW_MARK_EVERY * EVERY_MS, next_ends);
    struct spw_uses u = use_of(moving);
    assert_in_range(waited_ms(&u, 0), MARKS * SPW_MARK_EVERY * EVERY_MS, MARKS * SPW_MARK_EVERY * EVERY_MS + 5);
    assert_int_equal(spw_waits_in_vain, 0);
    end();
}

/* Where there is no mark for long, nothing is known; no more time than until the next one would take is given, and that
 * once. */
static void what_comes_no_further_has_no_mark_for_long(void **state)
{
    const unsigned most_ms[] = {100 * SPW_MARK_EVERY, 100};
    begin();
    for (unsigned i = 0; i < 2; i++) {
        for (int k = 0; k < 100; k++)
            (void)submit(t);
        moving = gate(t, false);
        struct spw_uses u = use_of(moving);
        assert_in_range(waited_ms(&u, -ETIME), most_ms[i], most_ms[i] + 10);
        moving->done = moving->begun;
        (void)spw_streams_gated_locked();
    }
    end();
}

/* From its last step on. */
static void what_comes_no_further_is_waited_for_a_while(void **state)
{
    enum { STEPS = 3, EVERY_MS = 90 };
    begin();
    submit_marked(STEPS);
    const uint64_t before = moving->begun + 1;
    (void)gate(t, false);
    every(EVERY_MS, next_ends);
    struct spw_uses u = use_of(moving);
    assert_in_range(waited_ms(&u, -ETIME), STEPS * EVERY_MS + 100, STEPS * EVERY_MS + 110);
    assert_int_equal(spw_waits_in_vain, 1);
    assert_int_equal(moving->gate_first, before);
    assert_true(spw_uses_gated_locked(&u));
    end();
}

/* What is gated has the time that it had before, however it comes on: it leads to a gate. */
static void what_is_gated_is_given_no_more_time(void **state)
{
    for (int moves = 0; moves < 2; moves++) {
        begin();
        moving = gate(t, true);
        submit_marked(20);
        if (moves) {
            fake_open_gates();
            moving->gate_last = moving->begun; /* one that is not known to be open */
            every(30, next_ends);
        }
        struct spw_uses u = use_of(moving);
        assert_in_range(waited_ms(&u, -ETIME), 100, 110);
        end();
    }
}

static void come_on(void)
{
    moving->done++;
}

/* The longest wait of all; what is waited for behind it has no such time once more. */
static void what_comes_on_for_ever_is_given_up(void **state)
{
    begin();
    for (int i = 0; i < 1000; i++)
        moving = submit(t);
    struct spw_uses first = use_of(moving);
    moving = submit(t);
    struct spw_uses second = use_of(moving);
    every(90, come_on);
    assert_in_range(waited_ms(&first, -ETIME), 20000, 20010);
    assert_in_range(waited_ms(&second, -ETIME), 100, 110);
    assert_int_equal(spw_waits_in_vain, 2);
    end();
}

static struct spw_stream *both[2];

static void both_come_on(void)
{
    both[0]->done++;
    both[1]->done++;
}

/* One after the other, within one call of the program's; the next call has as long again. */
static void waits_for_one_call_have_one_longest_time(void **state)
{
    begin();
    for (int call = 0; call < 2; call++) {
        struct spw_uses u[2];
        for (int i = 0; i < 2; i++) {
            both[i] = submit(fake_stream());
            both[i]->begun += 1000;
            u[i] = use_of(both[i]);
        }
        every(90, both_come_on);
        spw_waits_begin();
        assert_in_range(waited_ms(&u[0], -ETIME), 20000, 20010);
        spw_waits_begin();
        assert_in_range(waited_ms(&u[1], -ETIME), 0, 10);
        spw_waits_end();
        spw_waits_end();
    }
    end();
}

static struct spw_stream *users[SPW_USES];

static void next_user_ends(void)
{
    static unsigned next;
    struct spw_stream *s = users[next++ % SPW_USES];
    s->done = s->begun;
}

/* Each has its time. */
static void one_stream_after_the_other_is_waited_for(void **state)
{
    begin();
    struct spw_uses u = {0};
    for (unsigned i = 0; i < SPW_USES; i++) {
        users[i] = submit(fake_stream());
        spw_uses_add_locked(&u, users[i], users[i]->begun);
    }
    every(90, next_user_ends);
    assert_in_range(waited_ms(&u, 0), 360, 370);
    end();
}

/* Another thread submits more than the device comes to. */
static void fall_behind(void)
{
    moving->done++;
    moving->begun += 2;
}

/* Only what was there before is waited for, as where nothing is gated. */
static void everybody_is_waited_for_as_far_as_they_had_come(void **state)
{
    enum { OPERATIONS = 5, EVERY_MS = 50 };
    begin();
    for (int i = 0; i < OPERATIONS; i++)
        moving = submit(t);
    moving->device = 0;
    struct spw_uses u = {.everybody = spw_uses_everybody_beside(moving)};
    every(EVERY_MS, fall_behind);
    assert_in_range(waited_ms(&u, 0), OPERATIONS * EVERY_MS, OPERATIONS * EVERY_MS + 5);
    end();
}

/* What was not waited for is used as before, also where "everybody" stands for it. */
static void who_is_given_up_is_still_there(void **state)
{
    begin();
    moving = gate(t, false);
    const uint32_t everybody = spw_uses_everybody_beside(moving);
    struct spw_uses u = use_of(moving);
    u.everybody = everybody;
    assert_in_range(waited_ms(&u, -ETIME), 100, 110);
    assert_int_equal(u.everybody, everybody);
    assert_int_equal(u.count, 1);
    assert_false(spw_uses_done_locked(&u));
    end();
}

/* The stream goes, its work ends, and a new stream wants a record. */
static void destroy_and_create(void)
{
    step = NULL;
    spw_lock();
    spw_stream_gone_locked(t);
    spw_unlock();
    next_ends();
    const unsigned events = fake_counts()->events;
    spw_lock();
    const struct spw_stream *other = spw_stream_of_locked(fake_stream());
    spw_unlock();
    assert_non_null(other);
    assert_ptr_not_equal(other, moving);
    assert_int_equal(fake_counts()->events, events); /* the one that is asked for is still there */
}

static void a_stream_may_go_while_it_is_waited_for(void **state)
{
    begin();
    submit_marked(1);
    struct spw_uses u = use_of(moving);
    every(50, destroy_and_create);
    assert_in_range(waited_ms(&u, 0), 50, 55);
    end();
}

static void open_gates(void)
{
    step = NULL;
    fake_open_gates();
    assert_int_equal(spw_driver.cuStreamSynchronize(elsewhere), CUDA_SUCCESS);
}

/* What is not gated any more is waited for without end: by the event, that is, and not by the clock. */
static void a_wait_has_no_end_once_nothing_is_gated(void **state)
{
    begin();
    submit_marked(1);
    every(50, open_gates);
    struct spw_uses u = use_of(moving);
    assert_in_range(waited_ms(&u, 0), 50, 55);
    assert_int_equal(fake_left(t), 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_on_is_waited_for),
        cmocka_unit_test(what_comes_on_unseen_is_waited_for),
        cmocka_unit_test(what_comes_no_further_has_no_mark_for_long),
        cmocka_unit_test(what_comes_no_further_is_waited_for_a_while),
        cmocka_unit_test(what_is_gated_is_given_no_more_time),
        cmocka_unit_test(what_comes_on_for_ever_is_given_up),
        cmocka_unit_test(waits_for_one_call_have_one_longest_time),
        cmocka_unit_test(one_stream_after_the_other_is_waited_for),
        cmocka_unit_test(everybody_is_waited_for_as_far_as_they_had_come),
        cmocka_unit_test(who_is_given_up_is_still_there),
        cmocka_unit_test(a_stream_may_go_while_it_is_waited_for),
        cmocka_unit_test(a_wait_has_no_end_once_nothing_is_gated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
