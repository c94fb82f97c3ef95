/* test-chronicle.c - SIMGPU_CHRONICLE: operations and calls with their times, and who waited for whom. */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 1 << 20 };

static char path[64], text[1 << 16];

static void start(void)
{
    snprintf(path, sizeof path, "/tmp/simgpu-chronicle-%d", (int)getpid());
    setenv("SIMGPU_CHRONICLE", "/tmp/simgpu-chronicle-%p", 1);
    device_start();
}

/* The n-th line, from 0, that has both in it. */
static const char *line_with(const char *one, const char *other, int n)
{
    static char line[1024];
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    const char *found = NULL;
    while (!found && fgets(line, sizeof line, f))
        if (strstr(line, one) && strstr(line, other) && n-- == 0)
            found = line;
    fclose(f);
    return found;
}

static double number_of(const char *line, const char *key)
{
    snprintf(text, sizeof text, "\"%s\": ", key);
    const char *at = strstr(line, text);
    assert_non_null(at);
    return strtod(at + strlen(text), NULL);
}

CHILD_TEST(an_operation_is_told_with_its_times_and_whom_it_waited_for)
{
    CUdeviceptr a;
    CUstream s, t;
    CUevent e;
    void *host;
    start();
    OK(cuMemAlloc(&a, BYTES));
    OK(cuMemHostAlloc(&host, BYTES, 0));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, 0));
    OK(cuMemcpyHtoDAsync(a, host, BYTES, s));
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    OK(cuMemsetD32Async(a, 1, BYTES / 4, t));
    OK(cuStreamSynchronize(t));
    const char *copy = line_with("\"lane\": \"h2d\"", "cuMemcpyHtoDAsync", 0);
    assert_non_null(copy);
    assert_int_equal(number_of(copy, "address"), a);
    assert_int_equal(number_of(copy, "bytes"), BYTES);
    const double copied_us = number_of(copy, "ended_us");
    assert_true(number_of(copy, "submitted_us") <= number_of(copy, "started_us"));
    assert_true(number_of(copy, "started_us") < copied_us);
    const char *set = line_with("\"lane\": \"compute\"", "cuMemsetD32Async", 0);
    assert_non_null(set);
    assert_true(number_of(set, "submitted_us") < copied_us);
    assert_true(number_of(set, "ready_us") == copied_us && number_of(set, "started_us") == copied_us);
    const double behind = number_of(set, "behind");
    assert_true(behind > 0);
    snprintf(text, sizeof text, "\"operation\": %.0f,", behind);
    char wanted[64];
    memcpy(wanted, text, sizeof wanted);
    assert_non_null(line_with(wanted, "\"lane\": \"\"", 0)); /* the wait */
    const char *call = line_with("\"call\": \"cuStreamSynchronize\"", "\"result\": 0", 0);
    assert_non_null(call);
    assert_true(number_of(call, "from_us") < copied_us && number_of(call, "to_us") >= copied_us);
    unlink(path);
}

CHILD_TEST(a_call_that_fails_is_told_with_its_result)
{
    CUdeviceptr a;
    start();
    assert_int_equal(cuMemAlloc(&a, 0), CUDA_ERROR_INVALID_VALUE);
    assert_non_null(line_with("\"call\": \"cuMemAlloc\"", "\"result\": 1,", 0));
    unlink(path);
}

CHILD_TEST(a_chronicle_that_cannot_be_written_is_refused, "SIMGPU_CHRONICLE", "/nowhere/chronicle")
{
    assert_int_equal(cuInit(0), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_is_told_with_its_times_and_whom_it_waited_for),
        cmocka_unit_test(a_call_that_fails_is_told_with_its_result),
        cmocka_unit_test(a_chronicle_that_cannot_be_written_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
