/* test-variables.c - each module that is loaded has variables of its own, as the image says, whoever was there before. */
#include "device.h"

static CUdeviceptr out;

static CUdeviceptr variable_of(CUmodule of)
{
    CUdeviceptr address = 0;
    size_t bytes = 0;
    OK(cuModuleGetGlobal_v2(&address, &bytes, of, "variable"));
    assert_int_equal(bytes, 4 * sizeof(float));
    return address;
}

static float value_at(CUdeviceptr address)
{
    float value;
    OK(cuMemcpyDtoH_v2(&value, address, sizeof(value)));
    return value;
}

/* What the kernel finds in its variable, which is one more from then on. */
static float counted(CUfunction f)
{
    OK(launch_count(f, out, NULL));
    return value_at(out);
}

static CUmodule load(CUfunction *ret_counting)
{
    CUmodule loaded;
    OK(cuModuleLoadData(&loaded, &module_image));
    OK(cuModuleGetFunction(ret_counting, loaded, "count"));
    return loaded;
}

static void start(void)
{
    device_start();
    OK(cuMemAlloc_v2(&out, MIB));
}

CHILD_TEST(two_modules_of_an_image_count_by_themselves)
{
    CUfunction other_counting;
    start();
    assert_true(counted(counting) == VARIABLE);
    assert_true(counted(counting) == VARIABLE + 1);
    CUmodule other = load(&other_counting);
    assert_true(variable_of(other) != variable_of(module));
    assert_true(counted(other_counting) == VARIABLE);
    assert_true(counted(counting) == VARIABLE + 2);
    assert_true(counted(other_counting) == VARIABLE + 1);
    assert_true(value_at(variable_of(module)) == VARIABLE + 3);
    assert_true(value_at(variable_of(other)) == VARIABLE + 2);
}

CHILD_TEST(what_is_copied_to_a_variable_its_kernels_find)
{
    CUfunction other_counting;
    const float one = 100, another = 200;
    start();
    CUmodule other = load(&other_counting);
    OK(cuMemcpyHtoD_v2(variable_of(module), &one, sizeof(one)));
    OK(cuMemcpyHtoD_v2(variable_of(other), &another, sizeof(another)));
    assert_true(counted(counting) == one);
    assert_true(counted(other_counting) == another);
    OK(cuMemcpyDtoD_v2(variable_of(other), variable_of(module), sizeof(one)));
    assert_true(counted(other_counting) == one + 1);
    assert_true(counted(counting) == one + 1);
}

CHILD_TEST(a_module_that_is_loaded_anew_begins_anew)
{
    CUfunction other_counting;
    start();
    assert_true(counted(counting) == VARIABLE);
    OK(cuModuleUnload(module));
    CUmodule other = load(&other_counting);
    assert_true(counted(other_counting) == VARIABLE);
    OK(cuModuleUnload(other));
    module = load(&counting);
    assert_true(counted(counting) == VARIABLE);
}

CHILD_TEST(a_kernel_that_is_under_way_finds_its_variable)
{
    CUfunction other_counting;
    CUstream stream;
    start();
    stream = new_stream();
    CUmodule other = load(&other_counting);
    OK(launch_count(other_counting, out, stream));
    OK(cuModuleUnload(other));
    OK(cuStreamSynchronize(stream));
    assert_true(value_at(out) == VARIABLE);
    assert_true(counted(counting) == VARIABLE);
}

CHILD_TEST(libraries_have_their_own_as_well)
{
    CUlibrary libraries[2];
    CUkernel kernels[2];
    CUfunction function;
    CUdeviceptr address;
    size_t bytes;
    start();
    for (int i = 0; i < 2; i++) {
        OK(cuLibraryLoadData(&libraries[i], &module_image, NULL, NULL, 0, NULL, NULL, 0));
        OK(cuLibraryGetKernel(&kernels[i], libraries[i], "count"));
    }
    OK(cuKernelGetFunction(&function, kernels[0]));
    assert_true(counted((CUfunction)kernels[0]) == VARIABLE);
    assert_true(counted(function) == VARIABLE + 1);
    assert_true(counted((CUfunction)kernels[1]) == VARIABLE);
    OK(cuLibraryGetGlobal(&address, &bytes, libraries[0], "variable"));
    assert_true(value_at(address) == VARIABLE + 2);
    assert_true(counted(counting) == VARIABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_modules_of_an_image_count_by_themselves),
        cmocka_unit_test(what_is_copied_to_a_variable_its_kernels_find),
        cmocka_unit_test(a_module_that_is_loaded_anew_begins_anew),
        cmocka_unit_test(a_kernel_that_is_under_way_finds_its_variable),
        cmocka_unit_test(libraries_have_their_own_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
