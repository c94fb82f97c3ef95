/* inside.c - looks up every covered driver call in each way that programs use, and says which are ours. */
#include "calls.h"
#include "doctor.h"
#include "exports.h"
#include "shown.h"
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

/* The driver's functions that are called here, as a program would find them. */
struct driver {
    void *handle;
    const void *base; /* where the library that answered is loaded */
    CUresult (*init)(unsigned int);
    CUresult (*version)(int *);
    CUresult (*count)(int *);
    CUresult (*name)(char *, int, CUdevice);
    CUresult (*total)(size_t *, CUdevice);
    CUresult (*uuid)(CUuuid *, CUdevice);
    CUresult (*look_up)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
    CUresult (*error_name)(CUresult, const char **);
};

static const void *base_of(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

static bool open_driver(struct facts *facts, struct driver *driver)
{
    driver->handle = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver->handle) {
        facts_problem(facts, "driver", "programs find no libcuda.so.1, not even the library: %s", dlerror());
        return false;
    }
    driver->init = dlsym(driver->handle, "cuInit");
    driver->version = dlsym(driver->handle, "cuDriverGetVersion");
    driver->count = dlsym(driver->handle, "cuDeviceGetCount");
    driver->name = dlsym(driver->handle, "cuDeviceGetName");
    driver->total = dlsym(driver->handle, "cuDeviceTotalMem_v2");
    driver->uuid = dlsym(driver->handle, "cuDeviceGetUuid_v2");
    driver->look_up = dlsym(driver->handle, "cuGetProcAddress_v2");
    driver->error_name = dlsym(driver->handle, "cuGetErrorName");
    driver->base = base_of((void *)driver->init);

    Dl_info info;
    bool ours = dladdr((void *)driver->init, &info) && strstr(info.dli_fname, "libspillway");
    if (!ours)
        facts_problem(facts, "driver", "programs get %s for libcuda.so.1, not the library",
                      driver->base ? info.dli_fname : "nothing");
    return ours;
}

/* Finds the real driver, which is the other object of that name in the process. */
static int find_path(struct dl_phdr_info *info, size_t size, void *data)
{
    const char **ret_path = data;
    const char *name = strrchr(info->dlpi_name, '/');
    if (!name || strncmp(name, "/libcuda.so", strlen("/libcuda.so")))
        return 0;
    *ret_path = info->dlpi_name;
    return 1;
}

/* Adds the names that the driver exports and the library does not: a program linked against them would not start. The
 * debugger's interface does not matter, since the debugger finds it in the driver's file. */
static void add_news(struct facts *facts, const struct driver *driver, const char *path)
{
    struct exports exports;
    void *handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    json_t *names = json_array();
    char text[1024] = "";
    if (!handle || !exports_read(handle, &exports)) {
        json_decref(names);
        return;
    }
    for (const char *name = exports_next(&exports); name; name = exports_next(&exports)) {
        size_t length = strlen(text);
        if (strncmp(name, "cu", 2) || !strncmp(name, "cudbg", strlen("cudbg")) ||
            base_of(dlsym(driver->handle, name)) == driver->base)
            continue;
        (void)json_array_append_new(names, json_string(name));
        if (length + strlen(name) + 2 < sizeof(text))
            snprintf(text + length, sizeof(text) - length, "%s%s", length ? " " : "", name);
    }
    facts_add(facts, "driver", "not_exported", names, "not exported by us", "%s", *text ? text : "none");
}

struct device {
    char name[128], uuid[48];
    size_t total_bytes;
    bool is_slice; /* of a GPU in MIG mode, which only the driver's name for it tells */
};

static void look_at_device(const struct driver *driver, int index, struct device *ret_device)
{
    CUuuid uuid = {{0}};
    *ret_device = (struct device){.name = "?"};
    driver->name(ret_device->name, sizeof(ret_device->name), index);
    driver->total(&ret_device->total_bytes, index);
    ret_device->is_slice = strstr(ret_device->name, " MIG ") != NULL;
    if (driver->uuid(&uuid, index) != CUDA_SUCCESS)
        return;
    int length = snprintf(ret_device->uuid, sizeof(ret_device->uuid), ret_device->is_slice ? "MIG" : "GPU");
    for (int i = 0; i < (int)sizeof(uuid.bytes); i++)
        length += snprintf(ret_device->uuid + length, sizeof(ret_device->uuid) - (size_t)length, "%s%02x",
                           i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (unsigned char)uuid.bytes[i]);
}

#define OF_SLICES \
    "; a MIG slice: budgets and shares such as 60% count in its memory; the link to the host is shared with the GPU's " \
    "other " \
    "slices, whose copies slow ours down; slices have no peer access and share no memory; spillway has not been run on " \
    "one yet"

/* Returns the number of devices. */
static int add_devices(struct facts *facts, const struct driver *driver)
{
    enum { MOST = 64 };
    json_t *list = json_array();
    struct device devices[MOST];
    int count = 0;
    driver->count(&count);
    for (int i = 0; i < count && i < MOST; i++) {
        look_at_device(driver, i, &devices[i]);
        (void)json_array_append_new(list, json_pack("{s:o, s:I, s:s, s:b}", "name", shown_string(devices[i].name),
                                                    "total_bytes", (json_int_t)devices[i].total_bytes, "uuid",
                                                    devices[i].uuid, "is_slice", devices[i].is_slice));
    }
    facts_add(facts, "driver", "devices", list, "devices", "%d", count);
    for (int i = 0; i < count && i < MOST; i++) {
        char label[16];
        const struct device *d = &devices[i];
        snprintf(label, sizeof(label), "%d", i);
        facts_add(facts, "driver", NULL, NULL, label, "%s, %s%s%s%s", d->name, facts_bytes(d->total_bytes),
                  d->is_slice ? ", " : "", d->is_slice ? d->uuid : "", d->is_slice ? OF_SLICES : "");
    }
    return count;
}

/* Returns the driver's answer to a request for a little pinned memory, in a context of the first device that is released
 * again. */
static CUresult try_to_pin(const struct driver *driver)
{
    enum { BYTES = 1 << 20 };
    CUcontext context;
    void *memory = NULL;
    CUresult (*retain)(CUcontext *, CUdevice) = dlsym(driver->handle, "cuDevicePrimaryCtxRetain");
    CUresult (*set_current)(CUcontext) = dlsym(driver->handle, "cuCtxSetCurrent");
    CUresult (*pin)(void **, size_t, unsigned int) = dlsym(driver->handle, "cuMemHostAlloc");
    CUresult (*release)(CUdevice) = dlsym(driver->handle, "cuDevicePrimaryCtxRelease_v2");
    CUresult (*unpin)(void *) = dlsym(driver->handle, "cuMemFreeHost");
    CUresult result = retain(&context, 0);
    if (result != CUDA_SUCCESS)
        return result;
    result = set_current(context);
    if (result == CUDA_SUCCESS)
        result = pin(&memory, BYTES, 0);
    if (result == CUDA_SUCCESS)
        result = unpin(memory);
    set_current(NULL);
    release(0);
    return result;
}

static void add_pinned(struct facts *facts, const struct driver *driver)
{
    const char *name = NULL;
    const CUresult result = try_to_pin(driver);
    if (result != CUDA_SUCCESS)
        driver->error_name(result, &name);
    facts_add(facts, "driver", "pins_host_memory", json_boolean(result == CUDA_SUCCESS), "host memory can be pinned", "%s",
              result == CUDA_SUCCESS ? "yes"
              : name                 ? name
                                     : "no");
    if (result != CUDA_SUCCESS)
        facts_advise(facts, "ulimit -l unlimited   # a container: docker run --ulimit memlock=-1 ...",
                     "the driver pins no host memory here (%s): what leaves the device would go to pageable memory, which "
                     "takes several times as long",
                     name ? name : "an unknown error");
}

/* Asks cuGetProcAddress for a covered call. Returns true, and reports it, if the answer goes past the library. */
static bool escapes(struct facts *facts, const struct driver *driver, const struct call *call, int version, cuuint64_t flags)
{
    void *function = NULL;
    CUdriverProcAddressQueryResult status;
    if (driver->look_up(call->asked, &function, version, flags, &status) != CUDA_SUCCESS || !function)
        return false;
    if (base_of(function) == driver->base)
        return false;
    facts_problem(facts, "driver", "%s (version %d, flags %d) is answered with a function of %p that is not seen",
                  call->asked, version, (int)flags, function);
    return true;
}

/* Looks up each covered call by dlsym(), and by cuGetProcAddress() for the driver's version with both kinds of default
 * stream. */
static unsigned count_escapes(struct facts *facts, const struct driver *driver, int version)
{
    unsigned count = 0;
    for (size_t i = 0; i < CALL_COUNT; i++) {
        if (base_of(dlsym(driver->handle, calls[i].symbol)) != driver->base) {
            facts_problem(facts, "driver", "dlsym finds %s elsewhere", calls[i].symbol);
            count++;
        }
        count += escapes(facts, driver, &calls[i], version, CU_GET_PROC_ADDRESS_DEFAULT);
        count += escapes(facts, driver, &calls[i], version, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    }
    return count;
}

static void add_coverage(struct facts *facts)
{
    size_t hooked = 0;
    int forwarded = SPILLWAY_DRIVER_NAMES - (int)CALL_COUNT;
    for (size_t i = 0; i < CALL_COUNT; i++)
        hooked += calls[i].hooked;
    json_t *counts = json_pack("{s:I, s:I, s:i}", "hooked", (json_int_t)hooked, "counted", (json_int_t)(CALL_COUNT - hooked),
                               "forwarded", forwarded);
    facts_add(facts, "driver", "calls", counts, "calls", "%zu hooked, %zu passed on and counted, %d forwarded", hooked,
              CALL_COUNT - hooked, forwarded);
}

int doctor_inside(struct facts *facts)
{
    struct driver driver = {0};
    int version = 0;
    if (!open_driver(facts, &driver))
        return EXIT_SUCCESS; /* the problem has been reported */
    add_coverage(facts);

    CUresult result = driver.init(0);
    const char *path = NULL;
    if (!dl_iterate_phdr(find_path, &path)) {
        facts_add(facts, "driver", "path", NULL, "path", "none on this machine: programs run as if spillway were not there");
        return EXIT_SUCCESS;
    }
    driver.version(&version);
    facts_add(facts, "driver", "path", shown_string(path), "path", "%s", path);
    add_news(facts, &driver, path);
    facts_add(facts, "driver", "version", json_integer(version), "version", "%d.%d%s", version / 1000, version % 1000 / 10,
              version < 12040 ? " (below 12.4: no parameter layouts, everything stays on the device)" : "");
    if (result == CUDA_SUCCESS) {
        if (add_devices(facts, &driver) > 0)
            add_pinned(facts, &driver);
    } else {
        const char *name = NULL;
        driver.error_name(result, &name);
        name = name ? name : "an unknown error";
        facts_add(facts, "driver", "error", json_string(name), "devices", "cuInit answers %s", name);
    }
    unsigned escaped = count_escapes(facts, &driver, version);
    facts_add(facts, "driver", "escaped", json_integer(escaped), "escaped look-ups", "%u", escaped);
    return EXIT_SUCCESS;
}
