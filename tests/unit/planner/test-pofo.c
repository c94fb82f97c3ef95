/* test-pofo.c - the program for offloading and recomputation takes the means that pay, and sees no way where there is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "stages/pofo.h"

enum { STAGES = 8, FORWARD = 8, BACKWARD = 16 };

/* Eight stages with inputs of 10 and records of 100 bytes. */
static struct {
    struct spw_rotor_stage stages[STAGES];
    struct spw_rotor_option option;
    struct spw_pofo_choice choices[STAGES];
    double us;
} chain;

static int decide(uint64_t bytes, double bytes_per_us, bool may_replay)
{
    chain.option = (struct spw_rotor_option){.forward_us = FORWARD, .backward_us = BACKWARD, .record_bytes = 100};
    for (uint32_t i = 0; i < STAGES; i++)
        chain.stages[i] = (struct spw_rotor_stage){.walk_us = FORWARD,
                                                   .input_bytes = i ? 10 : 0,
                                                   .gradient_bytes = i ? 10 : 0,
                                                   .options = &chain.option,
                                                   .option_count = 1};
    const struct spw_pofo_request request = {.stages = chain.stages,
                                             .count = STAGES,
                                             .bytes = bytes,
                                             .d2h_bytes_per_us = bytes_per_us,
                                             .h2d_bytes_per_us = bytes_per_us,
                                             .may_replay = may_replay,
                                             .slots = 40,
                                             .queue_slots = 20};
    struct spw_rotor *rotor;
    assert_int_equal(spw_rotor_create(chain.stages, STAGES, bytes, 400, &rotor), 0);
    const int r = spw_pofo(&request, rotor, chain.choices, &chain.us);
    spw_rotor_destroy(rotor);
    return r;
}

static uint32_t count_offloaded(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < STAGES; i = chain.choices[i].last + 1)
        count += chain.choices[i].offload;
    return count;
}

static uint32_t count_saved(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < STAGES; i = chain.choices[i].last + 1)
        count += chain.choices[i].save;
    return count;
}

static void nothing_moves_where_all_fits(void **state)
{
    assert_int_equal(decide(900, 10, true), 0);
    assert_true(chain.us == STAGES * (FORWARD + BACKWARD));
    assert_int_equal(count_offloaded(), 0);
    assert_int_equal(count_saved(), STAGES);
}

/* A link that carries a record in less than a forward: three records' worth of memory is enough. */
static void a_fast_link_makes_offloading_free(void **state)
{
    assert_int_equal(decide(400, 20, false), 0);
    assert_true(chain.us <= STAGES * (FORWARD + BACKWARD) * 1.001);
    assert_true(count_offloaded() >= 4);
    assert_int_equal(count_saved(), STAGES);
}

static void a_slow_link_has_the_computation_wait(void **state)
{
    assert_int_equal(decide(400, 1, false), 0);
    assert_int_equal(count_saved(), STAGES);
    /* 400 bytes or more go out at one byte per us while 64 us are computed, and come back while 128 us are */
    assert_true(chain.us >= (400 - 64) + (400 - 128) + STAGES * (FORWARD + BACKWARD));
    const double waiting = chain.us;
    assert_int_equal(decide(400, 1, true), 0);
    assert_true(chain.us < waiting && count_saved() < STAGES);
}

/* Without a link it is rotor's problem, whose optimum the estimate comes near. */
static void no_link_leaves_recomputation(void **state)
{
    for (uint64_t bytes = 200; bytes < 800; bytes += 50) {
        struct spw_rotor *rotor;
        const int r = decide(bytes, 0, true);
        assert_int_equal(spw_rotor_create(chain.stages, STAGES, bytes, (uint32_t)bytes, &rotor), 0);
        const double optimum = spw_rotor_time(rotor, 0, STAGES - 1, bytes);
        assert_int_equal(r, 0);
        if (chain.us < 0.95 * optimum || chain.us > 1.25 * optimum)
            fail_msg("%g within %u bytes, the optimum is %g", chain.us, (unsigned)bytes, optimum);
        assert_int_equal(count_offloaded(), 0);
        spw_rotor_destroy(rotor);
    }
}

static void no_way_is_seen_where_nothing_is_allowed(void **state)
{
    assert_int_equal(decide(400, 0, false), -ENOSPC);
    assert_int_equal(decide(60, 10, true), -ENOSPC);
    assert_int_equal(decide(150, 1000, false), -ENOSPC); /* two records at once do not fit, however fast the link */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_moves_where_all_fits),
        cmocka_unit_test(a_fast_link_makes_offloading_free),
        cmocka_unit_test(a_slow_link_has_the_computation_wait),
        cmocka_unit_test(no_link_leaves_recomputation),
        cmocka_unit_test(no_way_is_seen_where_nothing_is_allowed),
    };
    return cmocka_run_group_tests_name("pofo", tests, NULL, NULL);
}
