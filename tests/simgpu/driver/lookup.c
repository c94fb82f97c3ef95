/* lookup.c - cuGetProcAddress(), from the one table of calls. */
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "entries.h"
#include "lookup.h"
#include "missing.h"

enum { CALL, UNSAFE };

#define SIMGPU_THREAD_NONE(symbol) NULL
#define SIMGPU_THREAD_PTDS(symbol) (void *)symbol##_ptds
#define SIMGPU_THREAD_PTSZ(symbol) (void *)symbol##_ptsz

static const struct entry {
    const char *name;
    void *symbol;
    void *per_thread; /* NULL: the same */
    int version;
    bool unsafe; /* during captures */
} entries[] = {
#define X(kind, symbol, asked, version, thread) \
    {asked, (void *)symbol, SIMGPU_THREAD_##thread(symbol), version, kind == UNSAFE},
    SIMGPU_ENTRIES(X)
#undef X
};

static uint64_t bound[sizeof entries / sizeof entries[0]]; /* at the first entry of each name */

int missing_call(const char *name, int *told)
{
    if (!__atomic_exchange_n(told, 1, __ATOMIC_RELAXED))
        fprintf(stderr, "simgpu: %s: the simulated device doesn't have this\n", name);
    return CUDA_ERROR_NOT_SUPPORTED;
}

bool call_is_unsafe(const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (strcmp(entries[i].name, name) == 0)
            return entries[i].unsafe;
    return false;
}

void call_count_bound(const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (strcmp(entries[i].name, name) == 0) {
            bound[i]++;
            return;
        }
}

const char *call_bound(size_t i, uint64_t *ret_count)
{
    if (i >= sizeof entries / sizeof entries[0])
        return NULL;
    *ret_count = bound[i];
    return entries[i].name;
}

/* The newest variant that isn't newer than what is asked for. */
static void *find(const char *name, int version, bool per_thread, CUdriverProcAddressQueryResult *ret_status)
{
    void *found = NULL;
    int newest = -1;
    if (version > driver_age) /* of what came later it does not know */
        version = driver_age;
    *ret_status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        const struct entry *e = &entries[i];
        if (strcmp(e->name, name) != 0)
            continue;
        if (!found)
            *ret_status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        if (e->version <= version && e->version > newest) {
            found = per_thread && e->per_thread ? e->per_thread : e->symbol;
            newest = e->version;
        }
    }
    for (const struct missing *m = missing; m->name; m++) {
        if (strcmp(m->name, name) != 0)
            continue;
        if (!found)
            *ret_status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        if (m->version <= version && m->version > newest) {
            found = m->symbol;
            newest = m->version;
        }
    }
    if (!found)
        found = program_call(name);
    if (found)
        *ret_status = CU_GET_PROC_ADDRESS_SUCCESS;
    return found;
}

static CUresult look_up(const char *symbol, int version, cuuint64_t flags, void **ret_function,
                        CUdriverProcAddressQueryResult *ret_status)
{
    const cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (flags & ~known)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_function = find(symbol, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0, ret_status);
    return CUDA_SUCCESS;
}

/* As NVIDIA's driver does, this form succeeds where it finds nothing, and the status tells why; the older form fails. */
SIMGPU_EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
                                           CUdriverProcAddressQueryResult *symbol_status)
{
    CUdriverProcAddressQueryResult status;
    CUresult result = symbol && pfn ? look_up(symbol, version, flags, pfn, &status) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && symbol_status)
        *symbol_status = status;
    return result;
}

SIMGPU_EXPORT CUresult cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    void *function = NULL;
    CUresult result = symbol && pfn ? look_up(symbol, version, flags, &function, &status) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    if (!function)
        return CUDA_ERROR_NOT_FOUND;
    *pfn = function;
    return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
    return CUDA_ERROR_NOT_FOUND; /* undocumented tables are a matter of NVIDIA's driver */
}
