/* opaque_fixture.h - what the tests of opaque kernels share: a table of layouts, tensors and launches. */
#ifndef SIMGPU_TESTS_OPAQUE_FIXTURE_H
#define SIMGPU_TESTS_OPAQUE_FIXTURE_H
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../program.h"
#include "device.h"

enum { BYTES = 3 * 4096 + 100, LISTED = 4 };

static const char table[] =
    "simgpu-layouts 1 for a test\n"
    "sum bytes=28 shared=0 registers=32 params=0:8,8:8,16:8,24:4 uses=0:8:writes,8:8:reads,16:8:reads,24:4:value\n"
    "grow bytes=8 shared=0 registers=32 params=0:8 uses=0:8:writes\n"
    "some bytes=40 shared=16 registers=32 params=0:40 uses=0:32:words/1\n"
    "apart bytes=40 shared=0 registers=32 params=0:40 uses=0:32:addresses/1\n"
    "unsaid bytes=16 shared=0 registers=32 params=0:16 uses=0:16:addresses/0\n"
    "many bytes=72 shared=0 registers=32 params=0:72 uses=0:64:tensors/2/4/2/64/1\n"
    "wide bytes=72 shared=0 registers=32 params=0:72 uses=0:64:tensors/2/4/2/64/2\n"
    "along bytes=72 shared=0 registers=32 params=0:72 uses=0:64:tensors/2/4/2/x\n"
    "rows bytes=72 shared=0 registers=32 params=0:72 uses=0:64:tensors/2/4/2/y\n"
    "costly bytes=16 shared=0 registers=32 params=0:8,8:8 uses=0:8:writes,8:8:flops\n"
    "part bytes=96 shared=0 registers=32 params=0:8,8:8,16:80 uses=0:8:overwrites/16,8:8:reads/56,16:80:value\n"
    "far_part bytes=48 shared=0 registers=32 params=0:8,8:40 uses=0:8:reads/16\n"
    "tabled bytes=24 shared=0 registers=32 params=0:8,8:8,16:8 uses=0:8:table/8/1,8:8:table/16/0\n"
    "no_bytes shared=0 registers=32 params=- uses=-\n"
    "no_shared bytes=8 registers=32 params=0:8 uses=-\n"
    "outside bytes=8 shared=0 registers=32 params=4:8 uses=-\n"
    "beyond bytes=8 shared=0 registers=32 params=0:8 uses=4:8:value\n"
    "unheard bytes=8 shared=0 registers=32 params=0:8 uses=0:8:eats\n"
    "halved bytes=8 shared=0 registers=32 params=0:8 uses=0:4:reads\n"
    "endless bytes=16 shared=0 registers=32 params=0:8,8:8 uses=0:8:table/9/1\n"
    "wrong_lists bytes=72 shared=0 registers=32 params=0:72 uses=0:64:tensors/2/5/2/64/1\n"
    "wrong_blocks bytes=72 shared=0 registers=32 params=0:72 uses=0:64:tensors/2/4/2/72/1\n"
    "nothing bytes=0 shared=0 registers=32 params=- uses=-\n";

static CUmodule code;
static simgpu_tensor_made *tell_made;
static simgpu_tensor_gone *tell_gone;
static simgpu_tensor_written *tell_written;
static simgpu_launch_coming *tell_coming;

static inline void *ask(const char *name)
{
    CUdriverProcAddressQueryResult status;
    void *call = NULL;
    OK(cuGetProcAddress(name, &call, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    return call;
}

static inline void start(void)
{
    device_start();
    OK(cuModuleLoadData(&code, table));
    tell_made = (simgpu_tensor_made *)ask("simgpu_tensor_made");
    tell_gone = (simgpu_tensor_gone *)ask("simgpu_tensor_gone");
    tell_written = (simgpu_tensor_written *)ask("simgpu_tensor_written");
    tell_coming = (simgpu_launch_coming *)ask("simgpu_launch_coming");
}

static inline CUfunction function(const char *name)
{
    CUfunction f;
    OK(cuModuleGetFunction(&f, code, name));
    return f;
}

/* Allocates a written tensor that the driver knows. */
static inline CUdeviceptr tensor(size_t bytes, int byte)
{
    CUdeviceptr p;
    OK(cuMemAlloc(&p, bytes));
    OK(cuMemsetD8(p, (unsigned char)byte, bytes));
    assert_int_equal(tell_made(p, bytes), 0);
    assert_int_equal(tell_written(p, bytes, 0), 0);
    return p;
}

/* Does the same, but as far as the program knows the tensor is unwritten. */
static inline CUdeviceptr fresh(size_t bytes, int rubbish)
{
    CUdeviceptr p;
    OK(cuMemAlloc(&p, bytes));
    OK(cuMemsetD8(p, (unsigned char)rubbish, bytes));
    assert_int_equal(tell_made(p, bytes), 0);
    return p;
}

static inline void launch_on(CUfunction f, unsigned blocks, void **params, bool announced)
{
    const unsigned grid[] = {blocks, 1, 1}, block[] = {32, 1, 1};
    if (announced)
        assert_int_equal(tell_coming(f, grid, block, params), 0);
    OK(cuLaunchKernel(f, blocks, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
}

static inline void sum(CUdeviceptr to, CUdeviceptr a, CUdeviceptr b, int number)
{
    launch_on(function("sum"), 4, (void *[]){&to, &a, &b, &number}, true);
}

static inline uint64_t digest(CUdeviceptr p, size_t bytes)
{
    static unsigned char copy[1 << 16];
    uint64_t digest = 1;
    assert_true(bytes <= sizeof copy);
    OK(cuMemcpyDtoH(copy, p, bytes));
    for (size_t i = 0; i < bytes; i++)
        digest = (digest ^ copy[i]) * 0x100000001b3u;
    return digest;
}

static inline void poke(CUdeviceptr p, int byte)
{
    unsigned char value = (unsigned char)byte;
    OK(cuMemcpyHtoD(p, &value, 1));
}

struct rows {
    uint64_t row_bytes, rows, pitch, slices, slice_pitch;
};
#endif
