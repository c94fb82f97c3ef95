/* test-call_args-moved.c - what was kept of an operation is told of memory in another place. */
#include "call_args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "layout.h"

#define HERE  UINT64_C(0x7a0000008000)
#define THERE UINT64_C(0x7a0000100000)

static uint64_t told[6]; /* of a launch: its parameters; of a set: where, and how many */

static CUresult on_cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                  unsigned shared, CUstream stream, void **params, void **extra)
{
    memcpy(told, extra[1], *(size_t *)extra[3]);
    return CUDA_SUCCESS;
}

static CUresult on_cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    told[0] = to;
    told[1] = count;
    return CUDA_SUCCESS;
}

static struct spw_kept_call_args *keep(const struct spw_call_args *s)
{
    return spw_call_args_keep(s, malloc(spw_call_args_bytes(s)));
}

static void all_words_of_a_launch_that_are_addresses_there(void **state)
{
    const struct spw_layout unknown = {0};
    uint64_t buffer[6] = {HERE, HERE + 0xfff, HERE + 0x1000, HERE - 1, 7, HERE + 0x100};
    size_t bytes = sizeof(buffer);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    const struct spw_call_args s = {
        .kind = SPW_SUBMIT_LAUNCH,
        .launch = {(CUfunction)0x100, {1, 1, 1, 32, 1, 1, 0, NULL, NULL, 0}, &unknown, NULL, extra}};
    struct spw_kept_call_args *kept = keep(&s);
    assert_int_equal(spw_call_args_move(kept, HERE, 0x1000, THERE), 3);
    assert_int_equal(spw_call_args_move(kept, HERE, 0x1000, THERE), 0);
    assert_int_equal(spw_call_args_send(kept, (CUfunction)0x200, NULL), 0);
    const uint64_t expected[] = {THERE, THERE + 0xfff, HERE + 0x1000, HERE - 1, 7, THERE + 0x100};
    assert_memory_equal(told, expected, sizeof(expected));
    free(kept);
}

static void a_set_that_begins_there(void **state)
{
    const struct spw_call_args s = {.kind = SPW_SUBMIT_SET,
                                    .set = {.to = HERE + 4, .width = 3, .rows = 1, .value = 5, .element_bytes = 4}};
    struct spw_kept_call_args *kept = keep(&s);
    assert_int_equal(spw_call_args_move(kept, HERE + 8, 0x1000, THERE), 0);
    assert_int_equal(spw_call_args_move(kept, HERE, 0x1000, THERE), 1);
    assert_int_equal(spw_call_args_send(kept, NULL, NULL), 0);
    assert_int_equal(told[0], THERE + 4);
    assert_int_equal(told[1], 3);
    free(kept);
}

static int begin(void **state)
{
    spw_driver.cuLaunchKernel = on_cuLaunchKernel;
    spw_driver.cuMemsetD32Async = on_cuMemsetD32Async;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_words_of_a_launch_that_are_addresses_there),
        cmocka_unit_test(a_set_that_begins_there),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
