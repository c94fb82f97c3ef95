/* reran.h - what the tests of replays share beside replayed.h. */
#ifndef SPILLWAY_TESTS_RERAN_H
#define SPILLWAY_TESTS_RERAN_H
#include "replayed.h"
#include <pthread.h>
#include <time.h>

#define BUDGET (8 * BYTES)

static bool is_eager; /* the device is done with all at once */

static inline void mix(const CUdeviceptr *a, unsigned reads, unsigned writes, unsigned char salt)
{
    assert_int_equal(mix_on(s, a, reads, writes, salt), 0);
}

static inline unsigned char mixed(unsigned char value, unsigned char salt)
{
    return fake_mixed(&value, 1, salt);
}

static inline void let_go_all(void)
{
    for (int i = 0; i < 2; i++) { /* a free is a use as well */
        let_run();
        pump();
        sweep();
    }
    check_needs();
}
#endif
