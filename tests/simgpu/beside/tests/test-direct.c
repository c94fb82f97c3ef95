/* test-direct.c - what a program does that looks the driver's calls up by itself is told to the driver, by a library that is
 * preloaded for it. The test has none of its own in front, and so sees what the driver was told by what a kernel reads:
 * nothing of a tensor that nobody has written as far as it knows. */
#include <cuda.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

enum { BYTES = 3 * 4096 };

static const char table[] = "simgpu-layouts 1 for a test\n"
                            "copy bytes=16 shared=0 registers=32 params=0:8,8:8 uses=0:8:writes,8:8:reads\n";

static struct {
    CUresult (*cuInit)(unsigned);
    CUresult (*cuDevicePrimaryCtxRetain)(CUcontext *, CUdevice);
    CUresult (*cuCtxSetCurrent)(CUcontext);
    CUresult (*cuModuleLoadData)(CUmodule *, const void *);
    CUresult (*cuModuleGetFunction)(CUfunction *, CUmodule, const char *);
    CUresult (*cuMemAlloc)(CUdeviceptr *, size_t);
    CUresult (*cuMemFree)(CUdeviceptr);
    CUresult (*cuMemsetD8)(CUdeviceptr, unsigned char, size_t);
    CUresult (*cuMemcpyDtoH)(void *, CUdeviceptr, size_t);
    CUresult (*cuLaunchKernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                               void **, void **);
    CUresult (*cuGetProcAddress)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
} driver;

static CUresult (*set_untold)(CUdeviceptr, unsigned char, size_t);
static CUfunction copy;

static void start(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    const struct {
        const char *name;
        void **call;
    } wanted[] = {{"cuInit", (void **)&driver.cuInit},
                  {"cuDevicePrimaryCtxRetain", (void **)&driver.cuDevicePrimaryCtxRetain},
                  {"cuCtxSetCurrent", (void **)&driver.cuCtxSetCurrent},
                  {"cuModuleLoadData", (void **)&driver.cuModuleLoadData},
                  {"cuModuleGetFunction", (void **)&driver.cuModuleGetFunction},
                  {"cuMemAlloc_v2", (void **)&driver.cuMemAlloc},
                  {"cuMemFree_v2", (void **)&driver.cuMemFree},
                  {"cuMemsetD8_v2", (void **)&driver.cuMemsetD8},
                  {"cuMemcpyDtoH_v2", (void **)&driver.cuMemcpyDtoH},
                  {"cuLaunchKernel", (void **)&driver.cuLaunchKernel},
                  {"cuGetProcAddress_v2", (void **)&driver.cuGetProcAddress}};
    CUdriverProcAddressQueryResult status;
    CUcontext context;
    CUmodule module;
    assert_non_null(library);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_non_null(*wanted[i].call = dlsym(library, wanted[i].name));
    OK(driver.cuInit(0));
    OK(driver.cuDevicePrimaryCtxRetain(&context, 0));
    OK(driver.cuCtxSetCurrent(context));
    OK(driver.cuModuleLoadData(&module, table));
    OK(driver.cuModuleGetFunction(&copy, module, "copy"));
    OK(driver.cuGetProcAddress("cuMemsetD8", (void **)&set_untold, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &status));
}

/* What a kernel makes of a tensor that was set so. */
static uint64_t made_of(CUresult (*set)(CUdeviceptr, unsigned char, size_t), unsigned char byte)
{
    CUdeviceptr from, to;
    uint64_t first;
    OK(driver.cuMemAlloc(&from, BYTES));
    OK(driver.cuMemAlloc(&to, BYTES));
    OK(set(from, byte, BYTES));
    OK(driver.cuLaunchKernel(copy, 1, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&to, &from}, NULL));
    OK(driver.cuMemcpyDtoH(&first, to, sizeof first));
    OK(driver.cuMemFree(from));
    OK(driver.cuMemFree(to));
    return first;
}

static void the_driver_is_told_what_is_written(void **state)
{
    (void)state;
    assert_int_equal(made_of(set_untold, 1), made_of(set_untold, 2));
    assert_int_not_equal(made_of(driver.cuMemsetD8, 1), made_of(driver.cuMemsetD8, 2));
    assert_int_equal(made_of(driver.cuMemsetD8, 1), made_of(driver.cuMemsetD8, 1));
}

static CUresult set_half(CUdeviceptr p, unsigned char byte, size_t bytes)
{
    return driver.cuMemsetD8(p, byte, bytes / 2);
}

/* The rest of it is what was there before, and that is not the program's. */
static void what_is_written_in_part_does_not_count(void **state)
{
    (void)state;
    assert_int_equal(made_of(set_half, 1), made_of(set_half, 2));
}

static void what_ends_is_forgotten(void **state)
{
    (void)state;
    uint64_t before = made_of(set_untold, 1);
    (void)made_of(driver.cuMemsetD8, 1); /* in the same memory */
    assert_int_equal(made_of(set_untold, 1), before);
}

static void other_questions_are_the_loaders(void **state)
{
    (void)state;
    void *program = dlopen(NULL, RTLD_NOW);
    assert_null(dlsym(program, "cuMemAlloc_v2"));
    assert_non_null(dlsym(program, "malloc"));
    assert_ptr_equal(dlsym(RTLD_DEFAULT, "malloc"), dlsym(program, "malloc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_driver_is_told_what_is_written), cmocka_unit_test(what_is_written_in_part_does_not_count),
        cmocka_unit_test(what_ends_is_forgotten), cmocka_unit_test(other_questions_are_the_loaders)};
    start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
