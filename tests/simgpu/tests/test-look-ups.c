/* test-look-ups.c - cuGetProcAddress() in both of its forms. */
#include "device.h"

#include <dlfcn.h>

CHILD_TEST(look_ups_choose_version_and_variant)
{
    void *legacy, *thread, *old, *new;
    CUdriverProcAddressQueryResult status;
    OK(cuGetProcAddress("cuMemcpyAsync", &legacy, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    OK(cuGetProcAddress("cuMemcpyAsync", &thread, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
    assert_ptr_not_equal(legacy, thread);
    OK(cuGetProcAddress("cuMemcpyBatchAsync", &old, 12080, 0, &status));
    OK(cuGetProcAddress("cuMemcpyBatchAsync", &new, 13000, 0, &status));
    assert_ptr_not_equal(old, new);
    OK(cuGetProcAddress("cuGraphInstantiate", &new, 13000, 0, &status));
    assert_ptr_equal(new, dlsym(RTLD_DEFAULT, "cuGraphInstantiate_v2"));
}

CHILD_TEST(look_ups_that_find_nothing_succeed_and_tell_why)
{
    void *function = (void *)&function;
    CUdriverProcAddressQueryResult status;
    CUresult (*first_form)(const char *, void **, int, cuuint64_t) =
        (CUresult(*)(const char *, void **, int, cuuint64_t))dlsym(RTLD_DEFAULT, "cuGetProcAddress");
    assert_int_equal(first_form("cuNoSuchThing", &function, 13000, 0), CUDA_ERROR_NOT_FOUND);
    assert_ptr_equal(function, &function);
    OK(cuGetProcAddress("cuMemcpyBatchAsync", &function, 12000, 0, &status));
    assert_null(function);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    OK(cuGetProcAddress("cuNoSuchThing", &function, 13000, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

CHILD_TEST(what_is_missing_says_so)
{
    void *f;
    OK(cuGetProcAddress("cuTexObjectCreate", &f, 13000, 0, NULL));
    assert_int_equal(((CUresult(*)(void))f)(), CUDA_ERROR_NOT_SUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(look_ups_choose_version_and_variant),
        cmocka_unit_test(look_ups_that_find_nothing_succeed_and_tell_why),
        cmocka_unit_test(what_is_missing_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
