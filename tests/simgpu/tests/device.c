/* device.c - the device program of the tests, and a fresh process for each of them. */
#include "device.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

CUcontext context;
CUmodule module;
CUfunction add, guessed, empty, counting;

struct add_params {
    float *to;
    int count;
    float value;
};

static void run_add(const struct simgpu_launch *launch, const void *image)
{
    const struct add_params *p = image;
    (void)launch;
    for (int i = 0; i < p->count; i++)
        p->to[i] += p->value;
}

static void describe_add(const struct simgpu_launch *launch, const void *image, struct simgpu_footprint *ret)
{
    const struct add_params *p = image;
    (void)launch;
    ret->flops = p->count;
    ret->bytes = 8.0 * p->count;
    ret->range_count = p->count > 0;
    ret->ranges[0] = (struct simgpu_range){(uint64_t)(uintptr_t)p->to, 4u * (unsigned)p->count, SIMGPU_WRITES};
}

static void run_empty(const struct simgpu_launch *launch, const void *image)
{
    (void)launch;
    (void)image;
}

static float variable[4] = {VARIABLE};

static void run_count(const struct simgpu_launch *launch, const void *parameters)
{
    float *const *to = parameters;
    (void)launch;
    **to = variable[0]++;
}

static const struct simgpu_param add_layout[] = {{0, 8, SIMGPU_PARAM_POINTER}, {8, 4, 0}, {12, 4, 0}};
static const struct simgpu_kernel add_kernel = {"add", 3, 16, add_layout, run_add, describe_add, 0};
static const struct simgpu_kernel guessed_kernel = {"guessed", 3, 16, add_layout, run_add, NULL, 0};
static const struct simgpu_kernel empty_kernel = {"empty", 0, 0, NULL, run_empty, NULL, 0};
static const struct simgpu_param count_layout[] = {{0, 8, SIMGPU_PARAM_POINTER}};
static const struct simgpu_kernel count_kernel = {"count", 1, 8, count_layout, run_count, NULL, 0};
static const struct simgpu_kernel *const kernels[] = {&add_kernel, &guessed_kernel, &empty_kernel, &count_kernel};
static const struct simgpu_global global = {"variable", variable, sizeof variable, 0};
static const struct simgpu_global *const globals[] = {&global};
struct simgpu_image module_image = {SIMGPU_IMAGE_HEADER, 4, 1, kernels, globals};

void device_start(void)
{
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    assert_int_equal(simgpu_image_list(&module_image), 0);
    OK(cuModuleLoadData(&module, &module_image));
    OK(cuModuleGetFunction(&add, module, "add"));
    OK(cuModuleGetFunction(&guessed, module, "guessed"));
    OK(cuModuleGetFunction(&empty, module, "empty"));
    OK(cuModuleGetFunction(&counting, module, "count"));
}

CUresult launch_add(CUfunction f, CUdeviceptr to, int many, float value, CUstream stream)
{
    void *params[] = {&to, &many, &value};
    return cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL);
}

CUresult launch_count(CUfunction f, CUdeviceptr to, CUstream stream)
{
    void *params[] = {&to};
    return cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL);
}

CUstream new_stream(void)
{
    CUstream s;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    return s;
}

CUevent new_event(void)
{
    CUevent e;
    OK(cuEventCreate(&e, CU_EVENT_DEFAULT));
    return e;
}

void *new_pinned(size_t bytes, int byte)
{
    void *p;
    OK(cuMemHostAlloc(&p, bytes, 0));
    memset(p, byte, bytes);
    return p;
}

CUdeviceptr new_mapping(size_t bytes, CUmemGenericAllocationHandle *ret_handle)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr p;
    OK(cuMemAddressReserve(&p, bytes, 0, 0, 0));
    OK(cuMemCreate(&handle, bytes, &prop, 0));
    OK(cuMemMap(p, bytes, 0, handle, 0));
    OK(cuMemSetAccess(p, bytes, &access, 1));
    if (ret_handle)
        *ret_handle = handle;
    return p;
}

CUdeviceptr new_alias(CUmemGenericAllocationHandle handle)
{
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr alias;
    OK(cuMemAddressReserve(&alias, GRANULE, 0, 0, 0));
    OK(cuMemMap(alias, GRANULE, 0, handle, 0));
    OK(cuMemSetAccess(alias, GRANULE, &access, 1));
    return alias;
}

static char stderr_text[65536], stats_text[16384];

static void slurp(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;
    text[n > 0 ? n : 0] = 0;
    if (fd >= 0)
        close(fd);
    unlink(path);
}

/* The child's part: a test of its own, since an assertion has to land somewhere. */
static void (*child_body)(void);

static void child_test(void **state)
{
    (void)state;
    child_body();
}

static void run_child(void (*body)(void), va_list settings, const char *stderr_path, const char *stats_path)
{
    int fd = open(stderr_path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    for (const char *name; (name = va_arg(settings, const char *));)
        setenv(name, va_arg(settings, const char *), 1);
    setenv("SIMGPU_STATS", stats_path, 1);
    dup2(fd, STDERR_FILENO);
    dup2(fd, STDOUT_FILENO);
    child_body = body;
    const struct CMUnitTest tests[] = {cmocka_unit_test(child_test)};
    exit(cmocka_run_group_tests(tests, NULL, NULL) != 0);
}

int in_child(void (*body)(void), ...)
{
    char stderr_path[64], stats_path[64];
    int status = 1;
    va_list settings;
    snprintf(stderr_path, sizeof stderr_path, "/tmp/simgpu-test-%d.err", (int)getpid());
    snprintf(stats_path, sizeof stats_path, "/tmp/simgpu-test-%d.json", (int)getpid());
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        va_start(settings, body);
        run_child(body, settings, stderr_path, stats_path);
    }
    waitpid(child, &status, 0);
    slurp(stderr_path, stderr_text, sizeof stderr_text);
    slurp(stats_path, stats_text, sizeof stats_text);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        print_message("# child status %d:\n", status);
        for (char *line = strtok(stderr_text, "\n"); line; line = strtok(NULL, "\n"))
            print_message("# %s\n", line);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

const char *child_stderr(void)
{
    return stderr_text;
}

const char *child_stats(void)
{
    return stats_text;
}

long long child_stat(const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(stats_text, quoted);
    assert_non_null(at);
    return strtoll(at + strlen(quoted), NULL, 10);
}
