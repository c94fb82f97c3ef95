/* test-reclaim-slow.c - making room of what streams use that come on slowly, while another one is gated: how long an
 * operation, or an allocation, waits for all of them. */
#include <time.h>

#include "carried.h"
#include "driver.h"
#include "idle-follower.h"
#include "stream_table.h"
#include "unmanaged.h"

enum { VICTIMS = 4, AHEAD = 1000000, MOST_S = 20, LOOKS = 4 }; /* at the clock, for each wait that has no time */

static time_t now_s; /* each look at the clock takes a second */
static CUresult (*ask_fake)(CUevent event);
static struct spw_stream *slow[VICTIMS];
static time_t began_s, given_up_s;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = ++now_s};
    return 0;
}

/* They come on whenever somebody asks, and to nothing before all were given up. */
static CUresult ask(CUevent event)
{
    for (unsigned i = 0; i < VICTIMS; i++)
        slow[i]->done++;
    if (spw_waits_in_vain == VICTIMS && !given_up_s) {
        given_up_s = now_s;
        fake_open_gates();
    }
    return ask_fake(event);
}

/* All that the budget has is used by streams that are far behind. */
static void begin_with_victims(void)
{
    CUdeviceptr victims[VICTIMS];
    begin(VICTIMS * BYTES, 16 << 20);
    fake_goes_on(true);
    for (unsigned i = 0; i < VICTIMS; i++) {
        victims[i] = allocate(BYTES);
        fill(victims[i], (unsigned char)i);
    }
    let_run();
    for (unsigned i = 0; i < VICTIMS; i++) { /* with a copy on the host that is good */
        leave(victims[i]);
        let_run();
        expect(victims[i], (unsigned char)i);
    }
    let_run();
    spw_lock();
    const CUstream elsewhere = fake_stream();
    fake_gate(elsewhere);
    (void)spw_stream_next_locked(spw_stream_of_locked(elsewhere));
    spw_stream_gate_locked(spw_stream_of_locked(elsewhere));
    spw_unlock();
    for (unsigned i = 0; i < VICTIMS; i++) {
        const CUstream on = fake_stream();
        fake_gate(on);
        slow[i] = spw_stream_of_locked(on);
        slow[i]->begun += AHEAD;
        assert_int_equal(expect_on(on, victims[i], BYTES, (unsigned char)i), 0);
    }
    ask_fake = spw_driver.cuEventQuery;
    spw_driver.cuEventQuery = ask;
    spw_waits_in_vain = 0;
    given_up_s = 0;
    began_s = now_s;
}

static int operate(void)
{
    return fill_on(fake_stream(), allocate(VICTIMS * BYTES), VICTIMS * BYTES, 9);
}

static int take_from_the_driver(void)
{
    return spw_unmanaged_take(device, VICTIMS * BYTES, "a call");
}

/* However many victims there are. */
static void all_waits_of_one_call_take_no_longer_than_one_may(void **state)
{
    int (*const calls[])(void) = {operate, take_from_the_driver};
    (void)state;
    for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        begin_with_victims();
        assert_int_equal(calls[i](), 0);
        assert_in_range(given_up_s - began_s, MOST_S, MOST_S + LOOKS * VICTIMS);
        spw_driver.cuEventQuery = ask_fake;
        fake_run_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_waits_of_one_call_take_no_longer_than_one_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
