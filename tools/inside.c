/* inside.c - looks up every covered driver call in each way that programs use, and says which are ours. */
#include "calls.h"
#include "doctor.h"
#include "exports.h"
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct call {
    const char *symbol, *asked;
    bool hooked;
} calls[] = {
#define IS_HOOK                              true
#define IS_PASS                              false
#define IS_EDGE                              true
#define IS_HOOK_THEN_NOTE                    true
#define IS_NOTE_THEN_HOOK                    true
#define IS_PASS_THEN_NOTE                    false
#define IS_NOTE_THEN_PASS                    false
#define X(kind, symbol, asked, params, args) {#symbol, asked, IS_##kind},
    SPW_DRIVER_CALLS(X)
#undef X
};
#define CALL_COUNT (sizeof(calls) / sizeof(calls[0]))

/* What is read of the driver: the calls that are made here, as a program would find them. */
struct driver {
    void *handle;
    const void *base; /* where the library that answered is loaded */
    CUresult (*init)(unsigned int);
    CUresult (*version)(int *);
    CUresult (*count)(int *);
    CUresult (*name)(char *, int, CUdevice);
    CUresult (*total)(size_t *, CUdevice);
    CUresult (*look_up)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
    CUresult (*error_name)(CUresult, const char **);
};

static const void *base_of(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

static bool open_driver(struct driver *driver)
{
    driver->handle = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver->handle)
        return false;
    driver->init = dlsym(driver->handle, "cuInit");
    driver->version = dlsym(driver->handle, "cuDriverGetVersion");
    driver->count = dlsym(driver->handle, "cuDeviceGetCount");
    driver->name = dlsym(driver->handle, "cuDeviceGetName");
    driver->total = dlsym(driver->handle, "cuDeviceTotalMem_v2");
    driver->look_up = dlsym(driver->handle, "cuGetProcAddress_v2");
    driver->error_name = dlsym(driver->handle, "cuGetErrorName");
    driver->base = base_of((void *)driver->init);

    Dl_info info;
    bool ours = dladdr((void *)driver->init, &info) && strstr(info.dli_fname, "libspillway");
    if (!ours)
        printf("  PROBLEM: programs get %s for libcuda.so.1, not the library\n", driver->base ? info.dli_fname : "nothing");
    return ours;
}

/* The real driver is the other object of that name in the process. */
static int find_path(struct dl_phdr_info *info, size_t size, void *data)
{
    const char **ret_path = data;
    const char *name = strrchr(info->dlpi_name, '/');
    if (!name || strncmp(name, "/libcuda.so", strlen("/libcuda.so")))
        return 0;
    *ret_path = info->dlpi_name;
    return 1;
}

/* Names that the driver exports and the library does not: a program linked against them would not start. */
static void print_news(const struct driver *driver, const char *path)
{
    struct exports exports;
    void *handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    unsigned count = 0;
    if (!handle || !exports_read(handle, &exports))
        return;
    for (const char *name = exports_next(&exports); name; name = exports_next(&exports)) {
        if (strncmp(name, "cu", 2) || base_of(dlsym(driver->handle, name)) == driver->base)
            continue;
        if (!count++)
            printf("  not exported by us     ");
        printf("%s ", name);
    }
    printf("%s", count ? "\n" : "");
}

static void print_devices(const struct driver *driver)
{
    int count = 0;
    driver->count(&count);
    printf("  %-22s %d\n", "devices", count);
    for (int i = 0; i < count; i++) {
        char name[128] = "?";
        size_t total = 0;
        driver->name(name, sizeof(name), i);
        driver->total(&total, i);
        printf("  %-22d %s, %.1f GiB\n", i, name, (double)total / (1 << 30));
    }
}

/* Asks cuGetProcAddress for a covered call; returns whether the answer goes past the library, and says so. */
static bool escapes(const struct driver *driver, const struct call *call, int version, cuuint64_t flags)
{
    void *function = NULL;
    CUdriverProcAddressQueryResult status;
    if (driver->look_up(call->asked, &function, version, flags, &status) != CUDA_SUCCESS || !function)
        return false;
    if (base_of(function) == driver->base)
        return false;
    printf("  PROBLEM: %s (version %d, flags %d) is answered with a function of %p that is not seen\n", call->asked, version,
           (int)flags, function);
    return true;
}

/* Each covered call by dlsym(), and by cuGetProcAddress() for the driver's version with both kinds of default stream. */
static unsigned count_escapes(const struct driver *driver, int version)
{
    unsigned count = 0;
    for (size_t i = 0; i < CALL_COUNT; i++) {
        if (base_of(dlsym(driver->handle, calls[i].symbol)) != driver->base) {
            printf("  PROBLEM: dlsym finds %s elsewhere\n", calls[i].symbol);
            count++;
        }
        count += escapes(driver, &calls[i], version, CU_GET_PROC_ADDRESS_DEFAULT);
        count += escapes(driver, &calls[i], version, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    }
    return count;
}

static void print_coverage(void)
{
    size_t hooked = 0;
    for (size_t i = 0; i < CALL_COUNT; i++)
        hooked += calls[i].hooked;
    printf("  %-22s %zu hooked, %zu passed on and counted, %d forwarded\n", "calls", hooked, CALL_COUNT - hooked,
           SPILLWAY_DRIVER_NAMES - (int)CALL_COUNT);
}

int doctor_inside(void)
{
    struct driver driver = {0};
    int version = 0;
    printf("driver\n");
    if (!open_driver(&driver))
        return EXIT_FAILURE;
    print_coverage();

    CUresult result = driver.init(0);
    const char *path = NULL;
    if (!dl_iterate_phdr(find_path, &path)) {
        printf("  %-22s none on this machine: programs run as if spillway were not there\n", "path");
        return EXIT_SUCCESS;
    }
    driver.version(&version);
    printf("  %-22s %s\n", "path", path);
    print_news(&driver, path);
    printf("  %-22s %d.%d%s\n", "version", version / 1000, version % 1000 / 10,
           version < 12040 ? " (below 12.4: no parameter layouts, everything stays on the device)" : "");
    if (result == CUDA_SUCCESS) {
        print_devices(&driver);
    } else {
        const char *name = NULL;
        driver.error_name(result, &name);
        printf("  %-22s cuInit answers %s\n", "devices", name ? name : "an unknown error");
    }
    unsigned escaped = count_escapes(&driver, version);
    printf("  %-22s %u\n", "escaped look-ups", escaped);
    return escaped ? EXIT_FAILURE : EXIT_SUCCESS;
}
