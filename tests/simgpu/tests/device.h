/* device.h - what the tests of the simulated driver share: a small device program, and a new process for each test. */
#ifndef SIMGPU_TESTS_DEVICE_H
#define SIMGPU_TESTS_DEVICE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <cuda.h>

#include "../image.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

enum { MIB = 1 << 20, GRANULE = 2 * MIB };

extern CUcontext context;
extern CUmodule module;
extern CUfunction add;     /* add(float *to, int count, float value), with a declared footprint */
extern CUfunction guessed; /* the same without a footprint */
extern CUfunction empty;
extern CUfunction counting;              /* count(float *to): *to = variable[0]++ */
extern struct simgpu_image module_image; /* contains all these, and `variable`, four floats of which the first is VARIABLE */
#define VARIABLE 8.0f

/* Initialises the driver under the settings in the environment, and loads the device program. */
void device_start(void);
CUresult launch_add(CUfunction f, CUdeviceptr to, int many, float value, CUstream stream);
CUresult launch_count(CUfunction f, CUdeviceptr to, CUstream stream);
CUstream new_stream(void); /* non-blocking */
CUevent new_event(void);
void *new_pinned(size_t bytes, int byte);
/* Maps a range of one granule with access for the device; *ret_handle may be NULL. */
CUdeviceptr new_mapping(size_t bytes, CUmemGenericAllocationHandle *ret_handle);
CUdeviceptr new_alias(CUmemGenericAllocationHandle handle); /* maps a granule of that memory at another address */

/* Runs `body` in a child with NAME=VALUE pairs set (NULL ends); returns true if it ended without a failed assertion.
 * child_stderr() returns what the child wrote to stderr. */
int in_child(void (*body)(void), ...);
const char *child_stderr(void);
/* The JSON that the latest child's driver wrote at exit, and the first number in it with that key. */
const char *child_stats(void);
long long child_stat(const char *key);

#define CHILD_TEST(name, ...) \
    static void name##_body(void); \
    static void name(void **state) \
    { \
        (void)state; \
        assert_true(in_child(name##_body, ##__VA_ARGS__, NULL)); \
    } \
    static void name##_body(void)
#endif
