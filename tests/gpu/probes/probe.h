/* probe.h - what the probes share: a context on device 0, the clock, figures, and the one line of answer.
 *
 * A probe is a program that answers one question about the driver and the device under it. It prints one line of
 * JSON, {"probe", "question", "answered", "answer", "figures"}, and exits 0, also when the question can't be answered
 * here: then "answered" is false and "answer" says why. Read by tests/gpu/harness; included once by each probe, from C
 * and from CUDA C++. */
#ifndef SPILLWAY_TESTS_GPU_PROBE_H
#define SPILLWAY_TESTS_GPU_PROBE_H
#include <cuda.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KIB          (1024ul)
#define MIB          (1024ul * KIB)
#define GIB          (1024ul * MIB)
#define ADDRESS(p)   ((CUdeviceptr)(uintptr_t)(p))
#define PROBE_UNUSED __attribute__((unused))

static struct {
    const char *name;
    int question; /* its number in docs/driver-facts.md, section 8 */
    CUdevice device;
    size_t granularity_bytes; /* of device memory made by cuMemCreate() */
    char figures[1 << 16];    /* members of the JSON object so far */
    size_t used;
} probe;

/* ---- the line of answer ---- */

PROBE_UNUSED __attribute__((format(printf, 1, 2))) static void probe_append(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    size_t space = sizeof(probe.figures) - probe.used;
    int length = vsnprintf(probe.figures + probe.used, space, format, list);
    va_end(list);
    if (length > 0 && (size_t)length < space)
        probe.used += (size_t)length;
    else
        probe.figures[probe.used] = 0; /* no room: the figure is left out whole */
}

static void probe_print_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text < ' ')
            putchar(' ');
        else
            putchar(*text);
    }
    putchar('"');
}

/* The name of a figure ends with its unit; a "/" in it groups figures: "2MiB/map_us". */
PROBE_UNUSED static void probe_figure(const char *name, double value)
{
    probe_append("%s\"%s\": %.6g", probe.used ? ", " : "", name, value);
}

PROBE_UNUSED __attribute__((format(printf, 2, 3))) static void probe_figure_at(double value, const char *format, ...)
{
    char name[160];
    va_list list;
    va_start(list, format);
    vsnprintf(name, sizeof(name), format, list);
    va_end(list);
    probe_figure(name, value);
}

/* A figure in words; `text` holds no quotes and no backslashes. */
PROBE_UNUSED static void probe_figure_text(const char *name, const char *text)
{
    probe_append("%s\"%s\": \"%s\"", probe.used ? ", " : "", name, text);
}

static void probe_finish(int answered, const char *answer)
{
    printf("{\"probe\": \"%s\", \"question\": %d, \"answered\": %s, \"answer\": ", probe.name, probe.question,
           answered ? "true" : "false");
    probe_print_text(answer);
    printf(", \"figures\": {%s}}\n", probe.figures);
    fflush(stdout);
    _exit(0); /* a lost context can hang in destructors */
}

PROBE_UNUSED __attribute__((format(printf, 1, 2))) static void probe_answer(const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    probe_finish(1, text);
}

PROBE_UNUSED __attribute__((format(printf, 1, 2))) static void probe_give_up(const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    probe_finish(0, text);
}

/* ---- the driver ---- */

static const char *probe_error_name(CUresult result)
{
    static char number[32];
    const char *name = NULL;
    if (cuGetErrorName(result, &name) == CUDA_SUCCESS && name)
        return name;
    snprintf(number, sizeof(number), "error %d", (int)result);
    return number;
}

static void probe_check(CUresult result, const char *call)
{
    if (result != CUDA_SUCCESS)
        probe_give_up("%s gave %s", call, probe_error_name(result));
}

/* A call without which the question can't be answered. */
#define CHECK(call) probe_check((call), #call)

PROBE_UNUSED static CUmemAllocationProp probe_device_memory(void)
{
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof(prop));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = probe.device;
    return prop;
}

PROBE_UNUSED static CUmemAccessDesc probe_device_access(void)
{
    CUmemAccessDesc access;
    memset(&access, 0, sizeof(access));
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = probe.device;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return access;
}

/* Starts the driver, with the primary context of device 0 current. */
PROBE_UNUSED static void probe_start(const char *name, int question)
{
    probe.name = name;
    probe.question = question;
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&probe.device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, probe.device));
    CHECK(cuCtxSetCurrent(context));
    CUmemAllocationProp prop = probe_device_memory();
    CHECK(cuMemGetAllocationGranularity(&probe.granularity_bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    if (!probe.granularity_bytes)
        probe_give_up("the driver tells no granularity");
}

PROBE_UNUSED static size_t probe_round_up(size_t bytes)
{
    return (bytes + probe.granularity_bytes - 1) / probe.granularity_bytes * probe.granularity_bytes;
}

/* A piece of device memory of its own handle, mapped at an address of its own; bytes rounded up to the granularity. */
struct probe_block {
    CUdeviceptr address;
    CUmemGenericAllocationHandle handle;
    size_t bytes;
};

PROBE_UNUSED static struct probe_block probe_block_create(size_t bytes)
{
    struct probe_block block;
    CUmemAllocationProp prop = probe_device_memory();
    CUmemAccessDesc access = probe_device_access();
    block.bytes = probe_round_up(bytes);
    CHECK(cuMemAddressReserve(&block.address, block.bytes, 0, 0, 0));
    CHECK(cuMemCreate(&block.handle, block.bytes, &prop, 0));
    CHECK(cuMemMap(block.address, block.bytes, 0, block.handle, 0));
    CHECK(cuMemSetAccess(block.address, block.bytes, &access, 1));
    return block;
}

/* ---- time ---- */

PROBE_UNUSED static double probe_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int probe_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the samples; `part` is 0.5 for the median, 0.99 for the 99th percentile. 0 samples: 0. */
PROBE_UNUSED static double probe_percentile(double *samples, size_t count, double part)
{
    if (!count)
        return 0;
    qsort(samples, count, sizeof(*samples), probe_compare);
    size_t index = (size_t)(part * (double)(count - 1) + 0.5);
    return samples[index < count ? index : count - 1];
}

/* "2MiB", "1GiB": good until the next call but three. */
PROBE_UNUSED static const char *probe_size(size_t bytes)
{
    static char text[4][32];
    static unsigned turn;
    char *ret = text[turn++ % 4];
    if (bytes >= GIB && bytes % GIB == 0)
        snprintf(ret, 32, "%zuGiB", bytes / GIB);
    else if (bytes >= MIB && bytes % MIB == 0)
        snprintf(ret, 32, "%zuMiB", bytes / MIB);
    else
        snprintf(ret, 32, "%zuKiB", bytes / KIB);
    return ret;
}

/* Runs this program again with one argument, so that what it does to its context or to itself stays its own.
 * Its first line of output is put into `line`; returns its wait status, or -1 when it could not be started. */
PROBE_UNUSED static int probe_again(const char *argument, char *line, size_t size)
{
    char command[160], path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    line[0] = 0;
    if (length < 0 || setenv("PROBE_SELF", (path[length] = 0, path), 1) != 0)
        return -1;
    snprintf(command, sizeof(command), "exec \"$PROBE_SELF\" %s", argument);
    fflush(stdout);
    FILE *out = popen(command, "r");
    if (!out)
        return -1;
    if (!fgets(line, (int)size, out))
        line[0] = 0;
    line[strcspn(line, "\n")] = 0;
    for (char *c = line; *c; c++) /* a child that gives up prints JSON; quotes don't fit into ours */
        if (*c == '"' || *c == '\\')
            *c = '\'';
    return pclose(out);
}
#endif
