/* fake-device.c - the memory of the fake device, and what is asked of the device as such. */
#include "fake-device-parts.h"

struct fake_state fake_state;

static bool is_word_of(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length)
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

CUresult fake_called(const char *name)
{
    fake_state.calls++;
    if (fake_state.fail.too[0] && is_word_of(fake_state.fail.too, name))
        return fake_state.fail.r;
    if (strcmp(name, fake_state.fail.name) != 0)
        return CUDA_SUCCESS;
    fake_state.fail.seen++;
    return fake_state.fail.seen == fake_state.fail.n ||
                   (fake_state.fail.for_good && fake_state.fail.seen > fake_state.fail.n)
               ? fake_state.fail.r
               : CUDA_SUCCESS;
}

void fake_fail(const char *name, unsigned n, CUresult r, bool for_good)
{
    memset(&fake_state.fail, 0, sizeof(fake_state.fail));
    snprintf(fake_state.fail.name, sizeof(fake_state.fail.name), "%s", name);
    fake_state.fail.n = n;
    fake_state.fail.r = r;
    fake_state.fail.for_good = for_good;
}

void fake_fail_too(const char *names)
{
    snprintf(fake_state.fail.too, sizeof(fake_state.fail.too), "%s", names);
}

/* ---- memory ---- */

/* The mapping that an address lies in; MOST: none. */
static unsigned map_at(CUdeviceptr a)
{
    for (unsigned i = 0; i < fake_state.map_end; i++)
        if (fake_state.maps[i].live && a - fake_state.maps[i].a < fake_state.maps[i].bytes)
            return i;
    return MOST;
}

/* True when the range is exactly one or more whole mappings, one behind the other. */
static bool is_whole_mappings(CUdeviceptr a, size_t bytes)
{
    CUdeviceptr at = a;
    while (at < a + bytes) {
        unsigned i = map_at(at);
        if (i == MOST || fake_state.maps[i].a != at)
            return false;
        at += fake_state.maps[i].bytes;
    }
    return bytes && at == a + bytes;
}

/* The bytes at an address, of which at most *bytes lie in one mapping. */
unsigned char *fake_bytes_at(CUdeviceptr a, size_t *bytes)
{
    unsigned i = map_at(a);
    if (i == MOST) {
        fail_msg("%zu bytes at 0x%llx are used and not mapped", *bytes, (unsigned long long)a);
        return NULL;
    }
    if (!fake_state.maps[i].access)
        fail_msg("bytes at 0x%llx are used before access was set", (unsigned long long)a);
    if (*bytes > fake_state.maps[i].a + fake_state.maps[i].bytes - a)
        *bytes = fake_state.maps[i].a + fake_state.maps[i].bytes - a;
    return fake_state.handles[fake_state.maps[i].handle].data + (a - fake_state.maps[i].a);
}

static CUresult on_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                                       unsigned long long flags)
{
    CALLED();
    *ptr = fake_state.next_address;
    fake_state.next_address += size + alignment;
    return CUDA_SUCCESS;
}

static CUresult on_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                               unsigned long long flags)
{
    CALLED();
    assert_int_equal(size % fake_state.granularity, 0);
    if (fake_state.counts.made_bytes + size > fake_state.memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    assert_true(fake_state.handle_count < MOST);
    fake_state.handles[fake_state.handle_count].bytes = size;
    fake_state.handles[fake_state.handle_count].data = malloc(size);
    if (!fake_state.handles[fake_state.handle_count].data)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(fake_state.handles[fake_state.handle_count].data, 0xcb, size);
    fake_state.counts.made_bytes += size;
    if (fake_state.counts.made_bytes_peak < fake_state.counts.made_bytes)
        fake_state.counts.made_bytes_peak = fake_state.counts.made_bytes;
    fake_state.counts.creates++;
    *handle = ++fake_state.handle_count; /* index + 1 */
    return CUDA_SUCCESS;
}

static CUresult on_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CALLED();
    assert_true(handle && handle <= fake_state.handle_count && fake_state.handles[handle - 1].data);
    assert_false(fake_state.handles[handle - 1].mapped);
    free(fake_state.handles[handle - 1].data);
    fake_state.handles[handle - 1].data = NULL;
    fake_state.counts.made_bytes -= fake_state.handles[handle - 1].bytes;
    fake_state.counts.releases++;
    return CUDA_SUCCESS;
}

static CUresult on_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                            unsigned long long flags)
{
    CALLED();
    assert_int_equal(offset, 0);
    assert_int_equal(fake_state.handles[handle - 1].bytes, size);
    if (fake_state.handles[handle - 1].mapped && fake_state.maps_once)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < fake_state.map_end; i++)
        if (fake_state.maps[i].live && ptr < fake_state.maps[i].a + fake_state.maps[i].bytes &&
            fake_state.maps[i].a < ptr + size)
            fail_msg("0x%llx is mapped already", (unsigned long long)ptr);
    for (unsigned i = 0; i < MOST; i++) {
        if (fake_state.maps[i].live)
            continue;
        if (fake_state.map_end <= i)
            fake_state.map_end = i + 1;
        fake_state.maps[i].live = true;
        fake_state.maps[i].access = false;
        fake_state.maps[i].a = ptr;
        fake_state.maps[i].bytes = size;
        fake_state.maps[i].handle = (unsigned)handle - 1;
        fake_state.counts.maps++;
        fake_state.counts.mapped_bytes += fake_state.handles[handle - 1].mapped++ ? 0 : size;
        if (fake_state.counts.mapped_bytes_peak < fake_state.counts.mapped_bytes)
            fake_state.counts.mapped_bytes_peak = fake_state.counts.mapped_bytes;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_UNKNOWN;
}

static CUresult on_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    CALLED();
    if (!is_whole_mappings(ptr, size))
        return CUDA_ERROR_INVALID_VALUE;
    for (CUdeviceptr at = ptr; at < ptr + size; at += fake_state.maps[map_at(at)].bytes)
        fake_state.maps[map_at(at)].access = true;
    return CUDA_SUCCESS;
}

static bool touches(const struct work *w, CUdeviceptr a, size_t bytes)
{
    for (unsigned i = 0; !w->done && i < w->reads + w->writes; i++)
        if (w->ranges[i].a < a + bytes && a < w->ranges[i].a + w->ranges[i].bytes)
            return true;
    return !w->done && w->kind <= IN && w->a < a + bytes && a < w->a + w->bytes;
}

static CUresult on_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    CALLED();
    for (unsigned i = 0; i < fake_state.work_count; i++)
        if (touches(&fake_state.work[i], ptr, size))
            fail_msg("0x%llx is unmapped while work %u (kind %d) on it has not run", (unsigned long long)ptr, i,
                     fake_state.work[i].kind);
    if (!is_whole_mappings(ptr, size))
        return CUDA_ERROR_INVALID_VALUE;
    for (CUdeviceptr at = ptr; at < ptr + size;) {
        unsigned i = map_at(at);
        at += fake_state.maps[i].bytes;
        fake_state.maps[i].live = false;
        fake_state.counts.mapped_bytes -=
            --fake_state.handles[fake_state.maps[i].handle].mapped ? 0 : fake_state.handles[fake_state.maps[i].handle].bytes;
        fake_state.counts.unmaps++;
    }
    return CUDA_SUCCESS;
}

/* Memory of the driver's own is mapped for good. */
static CUresult on_cuMemAlloc_v2(CUdeviceptr *ptr, size_t size)
{
    CALLED();
    const CUmemAccessDesc all = {0};
    CUmemGenericAllocationHandle handle;
    CUresult r = on_cuMemCreate(&handle, size, NULL, 0);
    if (r != CUDA_SUCCESS)
        return r;
    *ptr = fake_state.next_address;
    fake_state.next_address += size;
    r = on_cuMemMap(*ptr, size, 0, handle, 0);
    return r == CUDA_SUCCESS ? on_cuMemSetAccess(*ptr, size, &all, 1) : r;
}

static CUresult on_cuMemFree_v2(CUdeviceptr ptr)
{
    CALLED();
    const unsigned i = map_at(ptr);
    return i == MOST ? CUDA_ERROR_INVALID_VALUE : on_cuMemUnmap(ptr, fake_state.maps[i].bytes);
}

static CUresult on_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                                 CUmemAllocationGranularity_flags option)
{
    *granularity = fake_state.granularity;
    return CUDA_SUCCESS;
}

static CUresult on_cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int flags)
{
    CALLED();
    fake_state.counts.registered++;
    return CUDA_SUCCESS;
}

static CUresult on_cuMemHostUnregister(void *p)
{
    fake_state.counts.registered--;
    return CUDA_SUCCESS;
}

static CUresult on_cuMemHostAlloc(void **pp, size_t bytesize, unsigned int flags)
{
    CALLED();
    *pp = aligned_alloc(4096, (bytesize + 4095) & ~(size_t)4095);
    return *pp ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult on_cuMemFreeHost(void *p)
{
    free(p);
    return CUDA_SUCCESS;
}

/* ---- the rest of what the shim asks ---- */

static CUcontext pushed; /* the test's own context lies below */

static CUresult on_cuCtxGetCurrent(CUcontext *context)
{
    *context = pushed ? pushed : (CUcontext)(uintptr_t)0xc0;
    return CUDA_SUCCESS;
}

static CUresult on_cuCtxPushCurrent_v2(CUcontext context)
{
    assert_null(pushed);
    pushed = context;
    return CUDA_SUCCESS;
}

static CUresult on_cuCtxPopCurrent_v2(CUcontext *context)
{
    assert_non_null(pushed);
    *context = pushed;
    pushed = NULL;
    return CUDA_SUCCESS;
}

static CUresult on_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    return CUDA_SUCCESS;
}

/* The one context there is, is the primary one. */
static CUresult on_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    return on_cuCtxGetCurrent(context);
}

static CUresult on_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    return CUDA_SUCCESS;
}

static CUresult on_cuCtxGetDevice(CUdevice *device)
{
    *device = 0;
    return CUDA_SUCCESS;
}

static CUresult on_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    *bytes = fake_state.memory;
    return CUDA_SUCCESS;
}

static CUresult on_cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    *free_bytes = fake_state.memory - fake_state.counts.made_bytes;
    *total = fake_state.memory;
    return CUDA_SUCCESS;
}

static CUresult on_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice dev)
{
    *value = 1;
    return CUDA_SUCCESS;
}

void fake_start(uint64_t granularity, uint64_t memory, uint64_t budget, uint64_t host_budget)
{
    static struct spw_settings settings;
    memset(&fake_state, 0, offsetof(struct fake_state, work));
    fake_state.granularity = granularity;
    fake_state.memory = memory;
    fake_state.next_address = UINT64_C(0x700000000000);
    for (unsigned i = 0; i < sizeof(fake_state.stream_us) / sizeof(fake_state.stream_us[0]); i++)
        fake_state.stream_us[i] = 1;
    fake_state.slow = 1;
#define USE(name) spw_driver.name = on_##name
    USE(cuMemAddressReserve);
    USE(cuMemCreate);
    USE(cuMemRelease);
    USE(cuMemMap);
    USE(cuMemSetAccess);
    USE(cuMemUnmap);
    USE(cuMemGetAllocationGranularity);
    USE(cuMemHostRegister_v2);
    USE(cuMemHostUnregister);
    USE(cuMemHostAlloc);
    USE(cuMemFreeHost);
    USE(cuCtxPushCurrent_v2);
    USE(cuCtxPopCurrent_v2);
    USE(cuCtxGetCurrent);
    USE(cuCtxGetDevice);
    USE(cuDeviceTotalMem_v2);
    USE(cuMemGetInfo_v2);
    USE(cuDeviceGetAttribute);
    USE(cuThreadExchangeStreamCaptureMode);
    USE(cuDevicePrimaryCtxRetain);
    USE(cuDevicePrimaryCtxRelease_v2);
    USE(cuMemAlloc_v2);
    USE(cuMemFree_v2);
#undef USE
    fake_use_streams();
    fake_use_kernels();
    spw_settings_default(&settings);
    settings.log_level = SPW_LOG_QUIET;
    settings.recompute = false;
    settings.budget.every = (struct spw_amount){.kind = SPW_AMOUNT_BYTES, .bytes = budget};
    settings.host_budget = (struct spw_amount){.kind = SPW_AMOUNT_BYTES, .bytes = host_budget};
    spw_settings_use(&settings);
    spw_log_setup(SPW_LOG_QUIET, NULL);
}

const struct fake_counts *fake_counts(void)
{
    return &fake_state.counts;
}

unsigned fake_calls(void)
{
    return fake_state.calls;
}
