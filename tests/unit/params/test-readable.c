/* test-readable.c - names of kernels in messages, with and without a C++ library in the process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "readable.h"

static const char *readable(const char *symbol)
{
    static char buffer[256];
    (void)snprintf(buffer, sizeof(buffer), "%s", symbol);
    spw_readable_make(buffer, sizeof(buffer));
    return buffer;
}

static void without_a_library_names_stay(void **state)
{
    if (dlsym(RTLD_DEFAULT, "__cxa_demangle")) /* a sanitizer's */
        return;
    spw_readable_look_for_library();
    assert_string_equal(readable("_Z10sum_kernelPKfS0_Pfm"), "_Z10sum_kernelPKfS0_Pfm");
}

static void with_one_names_are_readable_even_where_others_do_not_see_it(void **state)
{
    assert_non_null(dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL)); /* the compiler's */
    spw_readable_look_for_library();
    assert_string_equal(readable("_Z10sum_kernelPKfS0_Pfm"), "sum_kernel");
    assert_string_equal(readable("_ZN2at6native3addIfEEvT_"), "at::native::add<float>");
    assert_string_equal(
        readable("_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi3EEENS1_24BinaryOpList"
                 "AlphaFunctorIfLi3ELi2ELi2EEEJSt4plusIfEfEEEvT_T0_DpT1_"),
        "at::native::(anonymous namespace)::multi_tensor_apply_kernel<...>");
    assert_string_equal(readable("triton_red_fused_0"), "triton_red_fused_0");
    assert_string_equal(readable("_Znonsense"), "_Znonsense");
    assert_string_equal(readable("_ZN12_GLOBAL__N_16kernelEv"), "(anonymous namespace)::kernel");
}

static void what_is_too_long_is_cut(void **state)
{
    char buffer[8] = "_Z1fv";
    spw_readable_make(buffer, sizeof(buffer));
    assert_string_equal(buffer, "f");
    char small[5] = "_Z1g";
    spw_readable_make(small, sizeof(small));
    assert_true(strlen(small) < sizeof(small));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_library_names_stay),
        cmocka_unit_test(with_one_names_are_readable_even_where_others_do_not_see_it),
        cmocka_unit_test(what_is_too_long_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
