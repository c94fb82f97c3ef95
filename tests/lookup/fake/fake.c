/* fake.c - a driver that does nothing but say who called it: every call succeeds, and FAKE_LOG gets a line for it.
 *
 *     call cuMemAlloc_v2 libspillway.so        a function was called, from code in this object
 *     ask cuMemAlloc 12000 0 cuMemAlloc_v2     cuGetProcAddress was asked for (name, version, flags), and what it chose
 *
 * Settings: FAKE_VERSION (13000), FAKE_INIT (cuInit's answer), FAKE_ODD=NAME (cuGetProcAddress answers NAME with a function
 * that dlsym does not find), FAKE_CALLBACK=1 (cuInit calls back into the exported cuInit and cuDeviceGetCount, as some
 * drivers do). */
#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

static int number(const char *variable, int otherwise)
{
    const char *value = getenv(variable);
    return value ? atoi(value) : otherwise;
}

static void note(const char *line, int length)
{
    const char *path = getenv("FAKE_LOG");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (fd < 0)
        return;
    ssize_t written = write(fd, line, (size_t)length);
    (void)written;
    close(fd);
}

int fake_called(const char *name, void *caller)
{
    char line[512];
    Dl_info info;
    const char *object = dladdr(caller, &info) && info.dli_fname ? info.dli_fname : "?";
    const char *slash = strrchr(object, '/');
    note(line, snprintf(line, sizeof(line), "call %s %s\n", name, slash ? slash + 1 : object));
    return 0;
}
#define CALLED() fake_called(__func__, __builtin_return_address(0))

/* ---- look-ups ---- */

static void *find(const char *name)
{
    static void *self;
    Dl_info info;
    if (!self)
        self = dladdr((void *)&fake_called, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    return self ? dlsym(self, name) : NULL;
}

static bool has_per_thread_form(const char *name)
{
    for (const struct fake_variant *v = fake_variants; v->asked; v++)
        if (v->per_thread && !strcmp(v->asked, name) && find(v->symbol))
            return true;
    return false;
}

/* The newest form that this driver has and that is not newer than what is asked for; NULL if there is none. Versions are
 * compared without a sign. */
static const struct fake_variant *choose(const char *name, unsigned version, cuuint64_t flags,
                                         CUdriverProcAddressQueryResult *ret_status)
{
    bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) && has_per_thread_form(name);
    *ret_status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    for (const struct fake_variant *v = fake_variants; v->asked; v++) {
        if (strcmp(v->asked, name) || v->per_thread != per_thread || !find(v->symbol))
            continue;
        *ret_status =
            version < (unsigned)v->since ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SUCCESS;
        if (*ret_status == CU_GET_PROC_ADDRESS_SUCCESS)
            return v;
    }
    return NULL;
}

static CUresult odd_function(void)
{
    return (CUresult)CALLED();
}

static void *answer(const char *symbol, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *ret_status)
{
    char line[512];
    const struct fake_variant *chosen = choose(symbol, (unsigned)version, flags, ret_status);
    const char *odd = getenv("FAKE_ODD");
    note(line,
         snprintf(line, sizeof(line), "ask %s %d %d %s\n", symbol, version, (int)flags, chosen ? chosen->symbol : "-"));
    if (odd && !strcmp(odd, symbol))
        return (void *)odd_function;
    return chosen ? find(chosen->symbol) : NULL;
}

static bool flags_are_known(cuuint64_t flags)
{
    const cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    return !(flags & ~known);
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    CALLED();
    if (!flags_are_known(flags))
        return CUDA_ERROR_INVALID_VALUE;
    void *found = answer(symbol, cudaVersion, flags, &status);
    if (!found)
        return CUDA_ERROR_NOT_FOUND;
    *pfn = found;
    return CUDA_SUCCESS;
}

/* Succeeds where it finds nothing, too: the status tells. */
CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus)
{
    CUdriverProcAddressQueryResult status;
    CALLED();
    if (!flags_are_known(flags))
        return CUDA_ERROR_INVALID_VALUE;
    *pfn = answer(symbol, cudaVersion, flags, &status);
    if (symbolStatus)
        *symbolStatus = status;
    return CUDA_SUCCESS;
}

/* ---- the few calls whose answers programs need ---- */

CUresult cuInit(unsigned int Flags)
{
    CALLED();
    if (number("FAKE_CALLBACK", 0)) {
        void *driver = dlopen("libcuda.so.1", RTLD_LAZY); /* as others find it */
        CUresult (*init)(unsigned int) = dlsym(driver, "cuInit");
        CUresult (*count)(int *) = dlsym(driver, "cuDeviceGetCount");
        int n;
        unsetenv("FAKE_CALLBACK");
        if (!init || !count || init(0) != CUDA_SUCCESS || count(&n) != CUDA_SUCCESS)
            return CUDA_ERROR_UNKNOWN;
    }
    return (CUresult)number("FAKE_INIT", 0);
}

/* A driver whose libraries look for it while they are loaded. */
__attribute__((constructor)) static void call_back_while_loaded(void)
{
    void *driver = number("FAKE_CONSTRUCTOR", 0) ? dlopen("libcuda.so.1", RTLD_LAZY) : NULL;
    CUresult (*version)(int *) = driver ? dlsym(driver, "cuDriverGetVersion") : NULL;
    int number = 0;
    if (version)
        printf("version %d\n", (int)version(&number));
}

CUresult cuDriverGetVersion(int *driverVersion)
{
    CALLED();
    *driverVersion = number("FAKE_VERSION", 13000);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    CALLED();
    *count = 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    CALLED();
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
    CALLED();
    snprintf(name, (size_t)len, "fake");
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    CALLED();
    *pi = attrib == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR      ? 9
          : attrib == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR    ? 0
          : attrib == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT        ? 132
          : attrib == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK       ? 1024
          : attrib == CU_DEVICE_ATTRIBUTE_WARP_SIZE                   ? 32
          : attrib == CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING          ? 1
          : attrib == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK ? 49152
                                                                      : 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    CALLED();
    *bytes = (size_t)16 << 30;
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    CALLED();
    *free_bytes = *total_bytes = (size_t)16 << 30;
    return CUDA_SUCCESS;
}

static CUcontext current;

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    CALLED();
    *pctx = (CUcontext)&current;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
    CALLED();
    current = ctx;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *pctx)
{
    CALLED();
    *pctx = current;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    CALLED();
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CALLED();
    *dptr = 0x700000000000;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **pStr)
{
    CALLED();
    *pStr = "FAKE_ERROR";
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **pStr)
{
    CALLED();
    *pStr = "a fake error";
    return CUDA_SUCCESS;
}

CUresult cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
    CALLED();
    return CUDA_ERROR_NOT_FOUND;
}

/* Seven arguments, the last on the stack: shows that a forwarder keeps them all. */
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize, CUfunction func,
                                                   CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize,
                                                   int blockSizeLimit, unsigned int flags)
{
    CALLED();
    *minGridSize = (int)dynamicSMemSize;
    *blockSize = blockSizeLimit * 1000 + (int)flags;
    return CUDA_SUCCESS;
}

/* A floating-point argument. */
CUresult cuTexRefSetMipmapLevelBias(CUtexref hTexRef, float bias)
{
    CALLED();
    return bias == 0.5f ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
