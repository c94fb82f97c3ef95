/* calls.cu - what the runtime asks of the driver, and what it makes of the answers; runs on the fake driver. */
#include <cuda_runtime.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <string.h>
extern "C" {
#include <cmocka.h>
}

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define LAUNCH "cuLaunchKernel@per-thread"
#else
#define LAUNCH "cuLaunchKernel"
#endif

__global__ void store(int *out, int value)
{
    *out = value;
}

__global__ void fault(int *out)
{
    __syncthreads();
    if (threadIdx.x == 2)
        *out = 1;
    __syncthreads();
}

__global__ void described(const float *in, float *out, float *both, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = both[i] += in[i];
}
SIMGPU_FOOTPRINT(described, (const float *in, float *out, float *both, int n), 2.0 * n, R(in, n), W(out, n), RW(both, n),
                 R((float *)nullptr, n))

template <int N> __global__ void described_template(float *out)
{
    *out = N;
}
SIMGPU_FOOTPRINT((described_template<3>), (float *out), 3, W(out, 1));
SIMGPU_FOOTPRINT((described_template<4>), (float *out), 3);

/* What the fake driver has noted so far. */
static std::string notes()
{
    std::string text;
    char line[256];
    FILE *file = fopen(getenv("FAKE_DRIVER_LOG"), "re");
    while (file && fgets(line, sizeof line, file))
        text += line;
    if (file)
        fclose(file);
    return text;
}

static bool was_noted(const char *line)
{
    return ("\n" + notes()).find(std::string("\n") + line + "\n") != std::string::npos;
}

static void nothing_happens_before_the_first_call(void **)
{
    assert_string_equal(notes().c_str(), "");
}

static void versions_need_no_device(void **)
{
    int version = 0;
    assert_int_equal(cudaRuntimeGetVersion(&version), cudaSuccess);
    assert_int_equal(version, CUDART_VERSION);
    assert_string_equal(notes().c_str(), "");
}

static void asking_for_devices_makes_no_context(void **)
{
    int count, device;
    assert_int_equal(cudaGetDeviceCount(&count), cudaSuccess);
    assert_int_equal(count, 2);
    assert_int_equal(cudaGetDevice(&device), cudaSuccess);
    assert_int_equal(device, 0);
    assert_string_equal(notes().c_str(), "cuInit\n");
}

static void the_first_allocation_takes_the_primary_context_of_device_0(void **)
{
    int *p;
    assert_int_equal(cudaMalloc(&p, 100), cudaSuccess);
    assert_true(was_noted("cuDevicePrimaryCtxRetain 0"));
    assert_true(was_noted("cuMemAlloc 100"));
    assert_false(was_noted("cuDevicePrimaryCtxRetain 1"));
    assert_int_equal(cudaFree(p), cudaSuccess);
}

static void images_are_loaded_at_the_first_use_and_once(void **)
{
    int *out, value;
    assert_true(notes().find("cuLibraryLoadData") == std::string::npos);
    assert_int_equal(cudaMalloc(&out, sizeof *out), cudaSuccess);
    store<<<1, 1>>>(out, 7);
    store<<<1, 1>>>(out, 8);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    assert_int_equal(cudaMemcpy(&value, out, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
    assert_int_equal(value, 8);
    const std::string text = notes();
    const size_t first = text.find("cuLibraryLoadData");
    assert_true(first != std::string::npos);
    assert_true(text.find("cuLibraryLoadData", first + 1) == std::string::npos);
    assert_int_equal(cudaFree(out), cudaSuccess);
}

static void launches_and_copies_take_the_path_that_the_program_was_compiled_for(void **)
{
    char line[200];
    int *out;
    assert_int_equal(cudaMalloc(&out, sizeof *out), cudaSuccess);
    store<<<1, 1, 0, (cudaStream_t)0x77>>>(out, 1);
    snprintf(line, sizeof line, LAUNCH " _Z5storePii stream 0x77");
    assert_true(was_noted(line));
    assert_int_equal(cudaFree(out), cudaSuccess);
}

static void no_bytes_are_no_call(void **)
{
    int *p = (int *)1;
    assert_int_equal(cudaMalloc(&p, 0), cudaSuccess);
    assert_null(p);
    assert_int_equal(cudaFree(NULL), cudaSuccess);
    assert_int_equal(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice), cudaSuccess);
    assert_false(was_noted("cuMemAlloc 0"));
    assert_false(was_noted("cuMemcpyHtoD 0"));
}

static void footprints_are_described_from_the_parameters(void **)
{
    float *p;
    assert_int_equal(cudaMalloc(&p, 400), cudaSuccess);
    described<<<1, 1>>>(p, p + 10, p + 20, 10);
    described_template<3><<<1, 1>>>(p);
    described<<<1, 1>>>(p, p, p, 0);
    described_template<4><<<1, 1>>>(p);
    /* 40 bytes each, those of RW twice; no range for a null pointer */
    assert_true(was_noted("footprint _Z9describedPKfPfS1_i 20 flops 160 bytes 3 ranges"));
    assert_true(was_noted("footprint _Z18described_templateILi3EEvPf 3 flops 4 bytes 1 ranges"));
    /* ranges without a byte are known as well; where none is named they are not */
    assert_true(was_noted("footprint _Z9describedPKfPfS1_i 0 flops 0 bytes 0 ranges"));
    assert_true(was_noted("footprint _Z18described_templateILi4EEvPf 3 flops 0 bytes 0 ranges unknown"));
    assert_int_equal(cudaFree(p), cudaSuccess);
}

/* --- errors --- */

static void an_error_is_the_last_one_until_it_is_asked_for(void **)
{
    void *p;
    assert_int_equal(cudaMalloc(&p, (size_t)1 << 40), cudaErrorMemoryAllocation);
    assert_int_equal(cudaFree(NULL), cudaSuccess); /* success does not cover it up */
    assert_int_equal(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
    assert_int_equal(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
    assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
}

static void *last_error_of_thread(void *ret_error)
{
    *(cudaError_t *)ret_error = cudaPeekAtLastError();
    return NULL;
}

static void the_last_error_is_the_threads_own(void **)
{
    cudaError_t other = cudaErrorUnknown;
    pthread_t thread;
    assert_int_equal(cudaSetDevice(99), cudaErrorInvalidDevice);
    assert_int_equal(pthread_create(&thread, NULL, last_error_of_thread, &other), 0);
    pthread_join(thread, NULL);
    assert_int_equal(other, cudaSuccess);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDevice);
}

static void a_query_that_is_not_ready_is_an_error_like_others(void **)
{
    assert_int_equal(cudaStreamQuery(0), cudaErrorNotReady);
    assert_int_equal(cudaGetLastError(), cudaErrorNotReady);
}

static void a_launch_that_cannot_be_is_an_invalid_configuration(void **)
{
    int *out = NULL;
    store<<<0, 1>>>(out, 1);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidConfiguration);
    store<<<1, 2048>>>(out, 1);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidConfiguration);
}

static void what_is_no_kernel_is_an_invalid_device_function(void **)
{
    static int nothing;
    assert_int_equal(cudaLaunchKernel(&nothing, dim3(1), dim3(1), NULL, 0, 0), cudaErrorInvalidDeviceFunction);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
}

static void what_the_driver_lacks_says_so(void **)
{
    assert_int_equal(cudaDeviceSetLimit(cudaLimitStackSize, 1024), cudaErrorCallRequiresNewerDriver);
    assert_int_equal(cudaGetLastError(), cudaErrorCallRequiresNewerDriver);
}

static void a_wrong_direction_is_refused(void **)
{
    char a[4], b[4] = "";
    assert_int_equal(cudaMemcpy(a, b, 4, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
}

static void a_fault_stays_until_the_device_is_reset(void **)
{
    int *out;
    fault<<<1, 4>>>((int *)0x100);
    assert_int_equal(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    assert_int_equal(cudaGetLastError(), cudaErrorIllegalAddress);
    assert_int_equal(cudaGetLastError(), cudaErrorIllegalAddress);
    assert_int_equal(cudaMalloc(&out, sizeof *out), cudaErrorIllegalAddress);
    assert_int_equal(cudaDeviceReset(), cudaSuccess);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    assert_int_equal(cudaMalloc(&out, sizeof *out), cudaSuccess);
    int value = 0;
    store<<<1, 1>>>(out, 5); /* the kernel that was left in the middle has left nothing behind */
    assert_int_equal(cudaMemcpy(&value, out, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
    assert_int_equal(value, 5);
    assert_int_equal(cudaFree(out), cudaSuccess);
}

static void errors_have_names_and_words(void **)
{
    assert_string_equal(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
    assert_string_equal(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
    assert_string_equal(cudaGetErrorString(cudaSuccess), "no error");
    assert_string_equal(cudaGetErrorName((cudaError_t)12345), "unrecognized error code");
}

/* --- devices and entry points --- */

static void *device_of_thread(void *ret_device)
{
    void *p;
    (void)cudaMalloc(&p, 3);
    (void)cudaFree(p);
    (void)cudaGetDevice((int *)ret_device);
    return NULL;
}

static void each_thread_has_its_device(void **)
{
    int device = -1, other = -1;
    pthread_t thread;
    assert_int_equal(cudaSetDevice(1), cudaSuccess);
    assert_true(was_noted("cuDevicePrimaryCtxRetain 1"));
    assert_int_equal(pthread_create(&thread, NULL, device_of_thread, &other), 0);
    pthread_join(thread, NULL);
    assert_int_equal(other, 0);
    assert_int_equal(cudaGetDevice(&device), cudaSuccess);
    assert_int_equal(device, 1);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
}

static void entry_points_are_the_drivers_own(void **)
{
    cudaDriverEntryPointQueryResult status;
    void *launch, *legacy, *per_thread;
    assert_int_equal(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &launch, 13000, cudaEnableDefault, &status),
                     cudaSuccess);
    assert_int_equal(status, cudaDriverEntryPointSuccess);
    assert_int_equal(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &legacy, 13000, cudaEnableLegacyStream, NULL),
                     cudaSuccess);
    assert_int_equal(
        cudaGetDriverEntryPointByVersion("cuLaunchKernel", &per_thread, 13000, cudaEnablePerThreadDefaultStream, NULL),
        cudaSuccess);
    assert_ptr_not_equal(legacy, per_thread);
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    assert_ptr_equal(launch, per_thread);
#else
    assert_ptr_equal(launch, legacy);
#endif
    assert_int_equal(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &launch, 13000, cudaEnableDefault, &status),
                     cudaSuccess);
    assert_int_equal(status, cudaDriverEntryPointSymbolNotFound);
    assert_null(launch);
}

/* With an error as the program's argument: the driver fails to start (FAKE_DRIVER_INIT), or there is none. */
static int start_fails_with(cudaError_t expected)
{
    void *p = NULL;
    int count = 7;
    const cudaError_t malloc_error = cudaMalloc(&p, 1), count_error = cudaGetDeviceCount(&count);
    const bool right = malloc_error == expected && count_error == expected && count == 0;
    printf("1..1\n%s 1 - a driver that does not start is every call's error\n", right ? "ok" : "not ok");
    if (!right)
        printf("# %s, %s, %d devices\n", cudaGetErrorName(malloc_error), cudaGetErrorName(count_error), count);
    return !right;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_happens_before_the_first_call),
        cmocka_unit_test(versions_need_no_device),
        cmocka_unit_test(asking_for_devices_makes_no_context),
        cmocka_unit_test(the_first_allocation_takes_the_primary_context_of_device_0),
        cmocka_unit_test(images_are_loaded_at_the_first_use_and_once),
        cmocka_unit_test(launches_and_copies_take_the_path_that_the_program_was_compiled_for),
        cmocka_unit_test(no_bytes_are_no_call),
        cmocka_unit_test(footprints_are_described_from_the_parameters),
        cmocka_unit_test(an_error_is_the_last_one_until_it_is_asked_for),
        cmocka_unit_test(the_last_error_is_the_threads_own),
        cmocka_unit_test(a_query_that_is_not_ready_is_an_error_like_others),
        cmocka_unit_test(a_launch_that_cannot_be_is_an_invalid_configuration),
        cmocka_unit_test(what_is_no_kernel_is_an_invalid_device_function),
        cmocka_unit_test(what_the_driver_lacks_says_so),
        cmocka_unit_test(a_wrong_direction_is_refused),
        cmocka_unit_test(a_fault_stays_until_the_device_is_reset),
        cmocka_unit_test(errors_have_names_and_words),
        cmocka_unit_test(each_thread_has_its_device),
        cmocka_unit_test(entry_points_are_the_drivers_own),
    };
    if (argc > 1)
        return start_fails_with((cudaError_t)atoi(argv[1]));
    (void)remove(getenv("FAKE_DRIVER_LOG"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
