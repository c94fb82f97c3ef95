/* test-readable.c - names of kernels in messages, with and without a C++ library in the process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "readable.h"

static const char *readable(const char *symbol)
{
    static char buffer[256];
    return spw_readable_symbol(symbol, buffer, sizeof(buffer));
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
    char buffer[8], small[5];
    assert_string_equal(spw_readable_symbol("_Z1fv", buffer, sizeof(buffer)), "f");
    assert_string_equal(spw_readable_symbol("_Z10sum_kernelPKfS0_Pfm", small, sizeof(small)), "sum_");
}

static CUresult CUDAAPI name_of(const char **name, CUfunction f)
{
    *name = "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastINS0_15CUDAFunctor_addIfEEEEvRNS_18Ten"
            "sorIteratorBaseERKT_EUliE_EEviT1_";
    return CUDA_SUCCESS;
}

/* Only a whole symbol can be read. */
static void a_symbol_may_be_longer_than_what_is_made_of_it(void **state)
{
    char buffer[64];
    spw_driver.cuFuncGetName = name_of;
    assert_string_equal(spw_readable_name((CUfunction)0x100, buffer, sizeof(buffer)), "at::native::elementwise_kernel<...>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_library_names_stay),
        cmocka_unit_test(with_one_names_are_readable_even_where_others_do_not_see_it),
        cmocka_unit_test(what_is_too_long_is_cut),
        cmocka_unit_test(a_symbol_may_be_longer_than_what_is_made_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
