/* fake-runtime.h - a CUDA runtime that stores the last launch and does nothing else, for the tests of the stand-ins.
 *
 * It knows the kernels only from the text of their image, so a test sees of a launch what the simulated device would
 * see. */
#ifndef SIMGPU_CUBLAS_FAKE_RUNTIME_H
#define SIMGPU_CUBLAS_FAKE_RUNTIME_H
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#include "types.h"

#define FAKE_MOST_USES 64

struct fake_kernel {
    char name[64];
    size_t bytes, param_count, use_count;
    struct {
        size_t offset, bytes;
    } params[FAKE_MOST_USES];
    struct {
        size_t offset, bytes;
        char how[16];
        size_t part; /* offset in the image of which bytes are meant; 0: the whole tensor */
    } uses[FAKE_MOST_USES];
};

struct fake_launch {
    const struct fake_kernel *kernel;
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
    _Alignas(16) unsigned char image[1024]; /* bytes outside of parameters are 0xee */
};

struct fake_runtime {
    const char *layouts; /* the text of the registered image */
    size_t kernel_count; /* number of registered functions */
    int launches;
    struct fake_launch last;
    const char *failing; /* the call that fails, or NULL */
    int allocations, frees;
    unsigned char allocated[64]; /* the memory of every allocation */
    int copies, sets, waits;
    cudaStream_t stream;             /* of the last copy, set or wait */
    unsigned char device_result[64]; /* what a copy to the host returns */
};

extern struct fake_runtime fake;

/* Resets launches and counts; the image stays registered. */
int fake_reset(void **state);

/* Returns the kernel of that name; the test fails if there is none. */
const struct fake_kernel *fake_kernel(const char *name);

/* Returns how the last launch uses the 8 bytes of its image at `offset`; the test fails if it does not say. */
const char *fake_use(size_t offset);

/* Assert that the last launch reads (writes, overwrites) this address, which is a parameter of its own. */
#define assert_reads(index, address)      fake_check_address("reads", 8 * (index), address, __FILE__, __LINE__)
#define assert_writes(index, address)     fake_check_address("writes", 8 * (index), address, __FILE__, __LINE__)
#define assert_overwrites(index, address) fake_check_address("overwrites", 8 * (index), address, __FILE__, __LINE__)
void fake_check_address(const char *how, size_t offset, const void *address, const char *file, int line);

/* Asserts which bytes at that address are meant: the members of struct blas_part in order. */
#define assert_part(index, ...) fake_check_part(8 * (index), &(const struct blas_part){__VA_ARGS__}, __FILE__, __LINE__)
void fake_check_part(size_t offset, const struct blas_part *expected, const char *file, int line);

/* Returns the parameters of the last launch as one of the structures of kernels.h; the test fails unless it is of that
 * kernel. */
const void *fake_last(const char *name, size_t bytes);
#endif
