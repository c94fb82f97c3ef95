/* test-hooks_attrs.c - a function that is told something new changes what its operations do. */
#include "versioned-launches.h"
#include "hooks.h"

/* ---- what is needed ---- */

static unsigned told; /* how often the driver was */

static CUresult set_answer;

static CUresult on_cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value)
{
    told++;
    return set_answer;
}

static CUresult on_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice dev)
{
    told++;
    return CUDA_SUCCESS;
}

static void telling_a_function_the_same_again_changes_nothing(void **state)
{
    const CUfunction_attribute shared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    const uint64_t epoch = spw_version_epoch;
    told = 0;
    spw_driver.cuFuncSetAttribute = on_cuFuncSetAttribute;
    spw_driver.cuKernelSetAttribute = on_cuKernelSetAttribute;
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(spw_on_cuFuncSetAttribute(FUNCTION, shared, 65536), CUDA_SUCCESS);
        assert_int_equal(spw_version_epoch, epoch + 1);
        assert_int_equal(told, i);
    }
    assert_int_equal(spw_on_cuFuncSetAttribute(FUNCTION, shared, 49152), CUDA_SUCCESS);
    assert_int_equal(spw_version_epoch, epoch + 2);
    assert_int_equal(spw_on_cuKernelSetAttribute(shared, 49152, (CUkernel)FUNCTION, 0), CUDA_SUCCESS);
    assert_int_equal(spw_version_epoch, epoch + 3);
    assert_int_equal(spw_on_cuKernelSetAttribute(shared, 49152, (CUkernel)FUNCTION, 1), CUDA_SUCCESS);
    assert_int_equal(spw_version_epoch, epoch + 4);
}

static void a_function_is_not_told_what_would_ruin_something_dropped(void **state)
{
    told = 0;
    spw_driver.cuFuncSetAttribute = on_cuFuncSetAttribute;
    device->dropping = 1;
    rescue_answer = -ENOMEM;
    for (int i = 0; i < 2; i++) /* it was not told: the same again differs still */
        assert_int_equal(spw_on_cuFuncSetAttribute(FUNCTION, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536),
                         CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(told, 0);
    rescue_answer = 0;
    for (unsigned i = 0; i < 2; i++) { /* and neither if the driver did not take it */
        const uint64_t epoch = spw_version_epoch;
        set_answer = CUDA_ERROR_INVALID_VALUE;
        assert_int_equal(spw_on_cuFuncSetAttribute(FUNCTION, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536),
                         CUDA_ERROR_INVALID_VALUE);
        assert_int_equal(spw_version_epoch, epoch + 1);
    }
    assert_int_equal(told, 2);
    set_answer = CUDA_SUCCESS;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(telling_a_function_the_same_again_changes_nothing),
        TEST(a_function_is_not_told_what_would_ruin_something_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
