/* test-signature.c - what mangled names say of the pointers among a kernel's parameters. The names are those that gcc and
 * nvcc give; where a name does not say it, or says something else, nothing is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "signature.h"
#include "elementwise.h"

/* As "CMu": const, mutable, unknown. */
static const char *read(const char *name)
{
    static char said[65];
    enum spw_pointee pointees[64];
    const unsigned count = spw_signature_read(name, pointees, 64);
    for (unsigned i = 0; i < count; i++)
        said[i] = "uCM"[pointees[i]];
    said[count] = '\0';
    return said;
}

static void plain_types(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"_Z1fPfPKffm", "MCuu"},
        {"_Z1fPKfS0_Pf", "CCM"},
        {"_Z11adam_kernelPfPKfS_S_ffm", "MCMMuuu"},
        {"_Z1fPKPjm", "Cu"},      /* a pointer to const pointers */
        {"_Z1fPPKj", "M"},        /* a pointer to pointers to const */
        {"_Z1fPVKf", "C"},        /* volatile and const */
        {"_Z1kPVKiPfS1_", "CMM"}, /* which are one type to refer to */
        {"_Z1kPVKiS0_PfS1_", "CCMM"},
        {"_Z1kPViS0_PVKiS2_", "MMCC"},
        {"_Z1fPK6__halfPS_", "CM"},          /* __half const *, __half * */
        {"_Z1f6structPKfS1_S1_Pf", "uCCCM"}, /* a structure by value */
        {"_Z1fv", "u"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_string_equal(read(names[i][0]), names[i][1]);
}

static void templates_and_name_spaces(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"_Z12order_kernelIjEvPT_mPKjmPjm", "MuCuMu"},
        {"_Z1fIfLi4ELb1EEvPKT_PS0_i", "CMu"},
        {"_ZN2ns1fEPfPKf", "MC"},
        {"_ZN2ns1fIfEEvPT_PKS1_", "MC"},
        {"_ZN36_GLOBAL__N__00000000_4_f_cu_5ab3c1d21kEPfS0_", "MM"},
        {"_ZN2at6native1fIfEEvPKT_St5arrayIPcLm3EE", "Cu"},
        {"_Z1fIN2ns1sEEvPT_PKS2_S5_", "MCC"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_string_equal(read(names[i][0]), names[i][1]);
}

static void what_is_not_understood_says_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"",           "kernel",   "_Z",       "_Z1",          "_Z1f",
                                        "_Z99f",      "_Z1fP",    "_Z1fS_",   "_Z1fS9_",      "_Z1fPFvvE",
                                        "_Z1fA3_f",   "_Z1fPKfS", "_Z1fI",    "_Z1fIfEvPT_Z", "_ZN2ns1fPf",
                                        "_Z1fM1sf",   "_Z1f4abc", "_Z1fSsPf", "_Z1fDnQ",      "add_kernel_0d1d2d",
                                        "_Z1fPf.cold"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_string_equal(read(names[i]), "");
}

/* Whatever it is, it comes to an end. */
static void any_text_can_be_read(void **state)
{
    (void)state;
    static const char letters[] = "_ZNIEPKSTLJDRVOt0123456789fjmi";
    unsigned seed = 1;
    char name[64];
    for (unsigned i = 0; i < 200000; i++) {
        size_t n = 2;
        memcpy(name, "_Z", 2);
        for (seed = seed * 1664525 + 1013904223; n < 3 + seed % 60; n++)
            name[n] = letters[(seed >> 8) * (n * 2654435761u) % (sizeof(letters) - 1)];
        name[n] = '\0';
        (void)read(name);
    }
    char deep[4096];
    memcpy(deep, "_Z1f", 4);
    memset(deep + 4, 'P', sizeof(deep) - 4);
    deep[sizeof(deep) - 1] = '\0';
    assert_string_equal(read(deep), "");
}

/* ---- element-wise kernels ---- */

static int tensors_of(const char *name, uint16_t first_bytes, uint16_t tensors_bytes)
{
    const struct spw_param params[] = {{0, first_bytes}, {4, 1}, {8, tensors_bytes}};
    return spw_elementwise_tensors(name, params, 3);
}

static void elementwise_kernels_are_known_by_name_and_parameters(void **state)
{
    (void)state;
    static const char
        now[] = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_10AbsFunctorIfEESt5arrayIPcLm2EELb0EEEviT0_T1_",
        before[] =
            "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_10AbsFunctorIfEENS_6detail5ArrayIPcLi2EEEEEviT0_T1_",
        unrolled[] = "_ZN2at6native27unrolled_elementwise_kernelINS0_10AbsFunctorIfEESt5arrayIPcLm2EELi4EEEviT_T0_",
        several[] = "_ZN2at6native45unrolled_elementwise_kernel_for_multi_outputsILi2ENS0_1FESt5arrayIPcLm2EEEEviT0_T1_";
    assert_int_equal(tensors_of(now, 4, 16), 2);
    assert_int_equal(tensors_of(before, 4, 16), 2);
    assert_int_equal(tensors_of(unrolled, 4, 16), 2);
    assert_true(tensors_of(several, 4, 16) < 0);
    assert_true(tensors_of(now, 4, 24) < 0); /* an array of another length */
    assert_true(tensors_of(now, 4, 20) < 0);
    assert_true(tensors_of(now, 4, 0) < 0);
    assert_true(tensors_of(now, 8, 16) < 0);
    assert_true(spw_elementwise_tensors(now, &(struct spw_param){0, 4}, 1) < 0);
    assert_true(tensors_of("vectorized_elementwise_kernel", 4, 16) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_types),
        cmocka_unit_test(templates_and_name_spaces),
        cmocka_unit_test(what_is_not_understood_says_nothing),
        cmocka_unit_test(any_text_can_be_read),
        cmocka_unit_test(elementwise_kernels_are_known_by_name_and_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
