/* verified.h - what the tests of comparisons share: operations whose replays can make other bytes. */
#ifndef SPILLWAY_TESTS_VERIFIED_H
#define SPILLWAY_TESTS_VERIFIED_H
#include "replayed.h"
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "detect/iteration.h"
#include "digest.h"
#include "layout.h"
#include "log.h"
#include "recorded_op.h"
#include "result.h"
#include "spot_checks.h"
#include "verify.h"
#include "verify_records.h"
#include "launch_class.h"

enum { OPERATIONS = 8, VALUE = 9, SALT = 3, EVERY = 4, MOST = 3 * EVERY };

static const CUfunction one = (CUfunction)(uintptr_t)0x110, another = (CUfunction)(uintptr_t)0x120,
                        other = (CUfunction)(uintptr_t)0x130;
static CUdeviceptr input;
static uint64_t course;
static char log_path[64];

static inline CUresult no_name(const char **name, CUfunction f)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static inline int begin_watch(void **state)
{
    (void)state;
    begin_replays(64 * BYTES, 16 << 20);
    spw_verify_reset();
    spw_launch_classes_reset();
    spw_driver.cuFuncGetName = no_name;
    struct spw_settings settings = *spw_settings_get();
    settings.verify_every = EVERY;
    spw_settings_use(&settings);
    snprintf(log_path, sizeof(log_path), "/tmp/test-verify-%d.log", (int)getpid());
    spw_log_setup(SPW_LOG_WARN, log_path);
    spw_lock();
    course = spw_verify_record_follow_locked(device->ordinal, 1, OPERATIONS);
    spw_unlock();
    assert_true(course > 0);
    input = allocate(BYTES);
    fill(input, VALUE);
    return 0;
}

static inline int end_watch(void **state)
{
    (void)state;
    spw_log_setup(SPW_LOG_QUIET, NULL);
    unlink(log_path);
    return 0;
}

/* How often this stands in the log. */
static inline unsigned said(const char *text)
{
    static char all[1 << 16];
    FILE *f = fopen(log_path, "r");
    const size_t n = f ? fread(all, 1, sizeof(all) - 1, f) : 0;
    unsigned times = 0;
    all[n] = 0;
    if (f)
        fclose(f);
    for (const char *at = all; (at = strstr(at, text)); at++)
        times++;
    return times;
}

static inline unsigned char right_value(void)
{
    const unsigned char value = VALUE;
    return fake_mixed(&value, 1, SALT);
}

/* Operation number n of the plan, of that function, makes a tensor. */
static inline CUdeviceptr make(uint32_t n, CUfunction function)
{
    CUdeviceptr a[] = {input, allocate(BYTES)};
    assert_int_equal(mix_on(s, a, 1, 1, SALT), 0);
    struct spw_recorded_op *maker = block_at(a[1])->content.maker;
    assert_non_null(maker);
    maker->course = course;
    maker->operation = n;
    maker->function = function;
    return a[1];
}

static inline void let_go(CUdeviceptr a)
{
    drop(a);
    for (int i = 0; i < 3; i++) {
        let_run();
        pump();
    }
    assert_true(attention(a) & SPW_DROPPED);
}

static inline bool is_watched(CUdeviceptr a)
{
    return block_at(a)->check != NULL;
}

/* Until a tensor of operation n that was dropped is not compared when it is made again: it is the caller's, still dropped.
 */
static inline CUdeviceptr drop_unwatched(uint32_t n, CUfunction function)
{
    for (unsigned i = 0; i < MOST; i++) {
        CUdeviceptr a = make(n, function);
        let_go(a);
        if (!is_watched(a))
            return a;
        expect(a, right_value());
        give_back(a, s, false);
    }
    fail_msg("each one is compared");
    return 0;
}

static inline void refused(CUdeviceptr a)
{
    const unsigned runs = fake_counts()->mixes;
    const int r = expect_on(s, a, BYTES, right_value());
    assert_true(r < 0);
    assert_int_equal(spw_cuda(r), CUDA_ERROR_ILLEGAL_STATE);
    assert_int_equal(spw_cuda(fill_on(t, a, BYTES, 1)), CUDA_ERROR_ILLEGAL_STATE); /* it may write a part of it only */
    assert_int_equal(fake_counts()->mixes, runs);                                  /* nothing was launched for it */
}

/* There are true bytes to go back to: of the first of its operation, and where each one is compared. */
static inline bool has_copy(CUdeviceptr a)
{
    return block_at(a)->has_true_copy;
}

/* The next one of operation n that is compared is made wrong: nobody gets what was made. Answers how many were lost by it.
 */
static inline unsigned turn_wrong(uint32_t n, CUfunction function)
{
    const uint64_t before = spw_verified.mismatch_count;
    unsigned lost = 0;
    for (unsigned i = 0; i < MOST && spw_verified.mismatch_count == before; i++) {
        CUdeviceptr a = make(n, function);
        let_go(a);
        spoils = is_watched(a);
        lost = spoils && !has_copy(a);
        if (lost)
            assert_int_equal(expect_on(s, a, BYTES, right_value()), -ESTALE);
        else
            expect(a, right_value());
        spoils = 0;
        if (lost)
            refused(a);
        give_back(a, s, false);
    }
    assert_int_equal(spw_verified.mismatch_count, before + 1);
    return lost;
}

/* ---- by digests alone ---- */

/* The next one of operation 1 that is compared without a copy: dropped, and the caller's. */
static inline CUdeviceptr drop_by_digest(void)
{
    for (unsigned i = 0; i < MOST; i++) {
        CUdeviceptr a = make(1, one);
        let_go(a);
        if (is_watched(a) && !has_copy(a))
            return a;
        expect(a, right_value());
        give_back(a, s, false);
    }
    fail_msg("none is compared without a copy");
    return 0;
}
#endif
