/* fake-device.c - the fake device: deferred streams over host memory, with a check at every step. */
#include "fake-device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "driver.h"
#include "hash.h"
#include "settings.h"

enum { MOST = 4096, WORK = 65536 };

enum { SAMPLED_PAGE = 4096 };

enum work_kind { FILL, EXPECT, HASH, SAMPLE, OUT, IN, MIX, COPY, RECORD, WAIT };

struct work {
    enum work_kind kind;
    int stream;
    CUdeviceptr a;
    size_t bytes;
    unsigned char value;
    void *host;
    CUdeviceptr to;   /* HASH, SAMPLE: of its result */
    size_t pitch;     /* SAMPLE: of its pages, `bytes` of them in all */
    uint64_t pattern; /* that it counts */
    uint64_t sign;    /* that the sum is multiplied by */
    int event;
    unsigned long record;                  /* WAIT: the record that it waits for */
    struct fake_range ranges[FAKE_RANGES]; /* MIX: read, then written; COPY: from, to */
    uint8_t reads, writes;
    bool done;
    double slow;   /* a copy takes so many times as long as usual */
    double end_us; /* when it was done, by its stream's clock */
};

static struct {
    uint64_t granularity, memory;
    struct {
        size_t bytes;
        unsigned char *data;
        unsigned mapped; /* so often */
    } handles[MOST];
    unsigned handle_count;
    bool maps_once;
    struct {
        CUdeviceptr a;
        size_t bytes;
        unsigned handle;
        bool live, access;
    } maps[MOST];
    struct work work[WORK];
    unsigned work_count;
    unsigned long recorded[MOST]; /* per event: index + 1 of its newest record in work[] */
    double event_us[MOST];        /* per event: when its newest record that has run did so; 0: it has no time */
    bool untimed[MOST];
    double stream_us[0x1000], slow;
    unsigned event_count, stream_count, calls;
    CUdeviceptr next_address;
    struct fake_counts counts;
    struct {
        char name[40], too[40];
        unsigned n, seen;
        CUresult r;
        bool for_good;
    } fail;
} f;

static bool is_word_of(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length)
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

static CUresult called(const char *name)
{
    f.calls++;
    if (f.fail.too[0] && is_word_of(f.fail.too, name))
        return f.fail.r;
    if (strcmp(name, f.fail.name) != 0)
        return CUDA_SUCCESS;
    f.fail.seen++;
    return f.fail.seen == f.fail.n || (f.fail.for_good && f.fail.seen > f.fail.n) ? f.fail.r : CUDA_SUCCESS;
}

#define CALLED() \
    CUresult injected = called(__func__ + 3); \
    if (injected != CUDA_SUCCESS) \
        return injected;

void fake_fail(const char *name, unsigned n, CUresult r, bool for_good)
{
    memset(&f.fail, 0, sizeof(f.fail));
    snprintf(f.fail.name, sizeof(f.fail.name), "%s", name);
    f.fail.n = n;
    f.fail.r = r;
    f.fail.for_good = for_good;
}

void fake_fail_too(const char *names)
{
    snprintf(f.fail.too, sizeof(f.fail.too), "%s", names);
}

/* ---- memory ---- */

/* The mapping that an address lies in; MOST: none. */
static unsigned map_at(CUdeviceptr a)
{
    unsigned i = 0;
    while (i < MOST && !(f.maps[i].live && a - f.maps[i].a < f.maps[i].bytes))
        i++;
    return i;
}

/* True when the range is exactly one or more whole mappings, one behind the other. */
static bool is_whole_mappings(CUdeviceptr a, size_t bytes)
{
    CUdeviceptr at = a;
    while (at < a + bytes) {
        unsigned i = map_at(at);
        if (i == MOST || f.maps[i].a != at)
            return false;
        at += f.maps[i].bytes;
    }
    return bytes && at == a + bytes;
}

/* The bytes at an address, of which at most *bytes lie in one mapping. */
static unsigned char *bytes_at(CUdeviceptr a, size_t *bytes)
{
    unsigned i = map_at(a);
    if (i == MOST) {
        fail_msg("%zu bytes at 0x%llx are used and not mapped", *bytes, (unsigned long long)a);
        return NULL;
    }
    if (!f.maps[i].access)
        fail_msg("bytes at 0x%llx are used before access was set", (unsigned long long)a);
    if (*bytes > f.maps[i].a + f.maps[i].bytes - a)
        *bytes = f.maps[i].a + f.maps[i].bytes - a;
    return f.handles[f.maps[i].handle].data + (a - f.maps[i].a);
}

static CUresult on_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                                       unsigned long long flags)
{
    CALLED();
    *ptr = f.next_address;
    f.next_address += size + alignment;
    return CUDA_SUCCESS;
}

static CUresult on_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                               unsigned long long flags)
{
    CALLED();
    assert_int_equal(size % f.granularity, 0);
    if (f.counts.made_bytes + size > f.memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    assert_true(f.handle_count < MOST);
    f.handles[f.handle_count].bytes = size;
    f.handles[f.handle_count].data = malloc(size);
    if (!f.handles[f.handle_count].data)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(f.handles[f.handle_count].data, 0xcb, size);
    f.counts.made_bytes += size;
    if (f.counts.made_bytes_peak < f.counts.made_bytes)
        f.counts.made_bytes_peak = f.counts.made_bytes;
    f.counts.creates++;
    *handle = ++f.handle_count; /* index + 1 */
    return CUDA_SUCCESS;
}

static CUresult on_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CALLED();
    assert_true(handle && handle <= f.handle_count && f.handles[handle - 1].data);
    assert_false(f.handles[handle - 1].mapped);
    free(f.handles[handle - 1].data);
    f.handles[handle - 1].data = NULL;
    f.counts.made_bytes -= f.handles[handle - 1].bytes;
    f.counts.releases++;
    return CUDA_SUCCESS;
}

static CUresult on_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                            unsigned long long flags)
{
    CALLED();
    assert_int_equal(offset, 0);
    assert_int_equal(f.handles[handle - 1].bytes, size);
    if (f.handles[handle - 1].mapped && f.maps_once)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < MOST; i++)
        assert_false(f.maps[i].live && ptr < f.maps[i].a + f.maps[i].bytes && f.maps[i].a < ptr + size);
    for (unsigned i = 0; i < MOST; i++) {
        if (f.maps[i].live)
            continue;
        f.maps[i].live = true;
        f.maps[i].access = false;
        f.maps[i].a = ptr;
        f.maps[i].bytes = size;
        f.maps[i].handle = (unsigned)handle - 1;
        f.counts.maps++;
        f.counts.mapped_bytes += f.handles[handle - 1].mapped++ ? 0 : size;
        if (f.counts.mapped_bytes_peak < f.counts.mapped_bytes)
            f.counts.mapped_bytes_peak = f.counts.mapped_bytes;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_UNKNOWN;
}

static CUresult on_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    CALLED();
    if (!is_whole_mappings(ptr, size))
        return CUDA_ERROR_INVALID_VALUE;
    for (CUdeviceptr at = ptr; at < ptr + size; at += f.maps[map_at(at)].bytes)
        f.maps[map_at(at)].access = true;
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
    for (unsigned i = 0; i < f.work_count; i++)
        if (touches(&f.work[i], ptr, size))
            fail_msg("0x%llx is unmapped while work %u (kind %d) on it has not run", (unsigned long long)ptr, i,
                     f.work[i].kind);
    if (!is_whole_mappings(ptr, size))
        return CUDA_ERROR_INVALID_VALUE;
    for (CUdeviceptr at = ptr; at < ptr + size;) {
        unsigned i = map_at(at);
        at += f.maps[i].bytes;
        f.maps[i].live = false;
        f.counts.mapped_bytes -= --f.handles[f.maps[i].handle].mapped ? 0 : f.handles[f.maps[i].handle].bytes;
        f.counts.unmaps++;
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
    *ptr = f.next_address;
    f.next_address += size;
    r = on_cuMemMap(*ptr, size, 0, handle, 0);
    return r == CUDA_SUCCESS ? on_cuMemSetAccess(*ptr, size, &all, 1) : r;
}

static CUresult on_cuMemFree_v2(CUdeviceptr ptr)
{
    CALLED();
    const unsigned i = map_at(ptr);
    return i == MOST ? CUDA_ERROR_INVALID_VALUE : on_cuMemUnmap(ptr, f.maps[i].bytes);
}

static CUresult on_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                                 CUmemAllocationGranularity_flags option)
{
    *granularity = f.granularity;
    return CUDA_SUCCESS;
}

static CUresult on_cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int flags)
{
    CALLED();
    f.counts.registered++;
    return CUDA_SUCCESS;
}

static CUresult on_cuMemHostUnregister(void *p)
{
    f.counts.registered--;
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

/* ---- streams: nothing runs before somebody waits ---- */

static void run_until(int stream, unsigned limit);

/* Each stream has a clock of its own, which waiting for another one's event sets forward. */
static double lasts_us(const struct work *w)
{
    return w->kind == OUT     ? (double)w->bytes / FAKE_OUT_BYTES_PER_US * w->slow
           : w->kind == IN    ? (double)w->bytes / FAKE_IN_BYTES_PER_US * w->slow
           : w->kind < RECORD ? FAKE_KERNEL_US
                              : 0;
}

/* FILL, EXPECT, OUT or IN of the part of its bytes that lies in one mapping, from `done` on. Answers how many. */
static size_t run_part(const struct work *w, size_t done)
{
    size_t n = w->bytes - done;
    unsigned char *p = bytes_at(w->a + done, &n), *host = (unsigned char *)w->host + done;
    if (w->kind == FILL)
        memset(p, w->value, n);
    else if (w->kind == OUT)
        memcpy(host, p, n);
    else if (w->kind == IN)
        memcpy(p, host, n);
    for (size_t i = 0; w->kind == EXPECT && i < n; i++)
        if (p[i] != w->value)
            fail_msg("byte %zu at 0x%llx is 0x%02x and should be 0x%02x", done + i, (unsigned long long)w->a, p[i],
                     w->value);
    return n;
}

static unsigned char value_of(const struct fake_range *range)
{
    size_t n = range->bytes;
    struct work all = {.kind = EXPECT, .a = range->a, .bytes = range->bytes, .value = *bytes_at(range->a, &n)};
    for (size_t done = 0; done < all.bytes;)
        done += run_part(&all, done);
    return all.value;
}

static void fill_range(const struct fake_range *range, unsigned char value)
{
    struct work all = {.kind = FILL, .a = range->a, .bytes = range->bytes, .value = value};
    for (size_t done = 0; done < all.bytes;)
        done += run_part(&all, done);
}

unsigned char fake_mixed(const unsigned char *values, unsigned count, unsigned char salt)
{
    unsigned mixed = salt;
    for (unsigned i = 0; i < count; i++)
        mixed = mixed * 31 + values[i] + 7;
    return (unsigned char)(mixed ^ mixed >> 8);
}

static void run_mix(const struct work *w)
{
    unsigned char values[FAKE_RANGES];
    for (unsigned i = 0; i < w->reads; i++)
        values[i] = value_of(&w->ranges[i]);
    for (unsigned i = 0; i < w->writes; i++)
        fill_range(&w->ranges[w->reads + i], (unsigned char)(fake_mixed(values, w->reads, w->value) + i));
}

static void run_hash(const struct work *w)
{
    struct spw_hash hash;
    size_t n = sizeof(hash);
    unsigned char *result = bytes_at(w->to, &n), *bytes = malloc(w->bytes + 1);
    assert_non_null(bytes);
    const struct work copy = {.kind = OUT, .a = w->a, .bytes = w->bytes, .host = bytes};
    for (size_t done = 0; done < w->bytes;)
        done += run_part(&copy, done);
    spw_hash_host(bytes, w->bytes, &hash);
    memcpy(result, &hash, n);
    free(bytes);
}

/* As hash_kernel.h says, but for a term that depends on the number of pages alone. */
static void run_sample(const struct work *w)
{
    size_t n = sizeof(struct spw_hash);
    struct spw_hash *result = (void *)bytes_at(w->to, &n), hash;
    uint64_t *words = malloc(w->bytes + 8);
    assert_non_null(words);
    for (size_t page = 0; page < w->bytes / SAMPLED_PAGE; page++) {
        const struct work copy = {
            .kind = OUT, .a = w->a + page * w->pitch, .bytes = SAMPLED_PAGE, .host = words + page * SAMPLED_PAGE / 8};
        for (size_t done = 0; done < copy.bytes;)
            done += run_part(&copy, done);
    }
    spw_hash_host(words, w->bytes, &hash);
    result->word[0] += hash.word[0] * w->sign;
    for (size_t i = 0; i < w->bytes / 8; i++)
        result->word[1] += words[i] == w->pattern;
    free(words);
}

static void run_one(struct work *w)
{
    double *now_us = &f.stream_us[w->stream];
    w->done = true;
    switch (w->kind) {
    case FILL:
    case EXPECT:
    case OUT:
    case IN:
        for (size_t done = 0; done < w->bytes;)
            done += run_part(w, done);
        break;
    case MIX:
        run_mix(w);
        break;
    case COPY:
        fill_range(&w->ranges[1], value_of(&w->ranges[0]));
        break;
    case HASH:
        run_hash(w);
        break;
    case SAMPLE:
        run_sample(w);
        break;
    case WAIT:
        if (w->record) {
            run_until(f.work[w->record - 1].stream, (unsigned)w->record);
            if (*now_us < f.work[w->record - 1].end_us)
                *now_us = f.work[w->record - 1].end_us;
        }
        break;
    case RECORD:
        f.event_us[w->event] = *now_us;
        break;
    }
    w->end_us = *now_us += lasts_us(w);
}

/* Runs a stream's work up to work[limit - 1]. */
static void run_until(int stream, unsigned limit)
{
    for (unsigned i = 0; i < limit; i++)
        if (f.work[i].stream == stream && !f.work[i].done)
            run_one(&f.work[i]);
}

static bool eager; /* see fake_eager() */

void fake_eager(bool on)
{
    eager = on;
}

/* The newest streams first: the shim's copy streams get ahead of the program's wherever nothing holds them. */
static void run_others(int but)
{
    for (int stream = 0xfff; stream >= 0; stream--)
        if (stream != but)
            run_until(stream, f.work_count);
}

void fake_run_all(void)
{
    run_others(-1);
    f.work_count = 0;
    memset(f.recorded, 0, sizeof(f.recorded));
}

static int stream_index(CUstream s)
{
    return (int)((uintptr_t)s & 0xfff);
}

void fake_map_once(void)
{
    f.maps_once = true;
}

CUstream fake_stream(void)
{
    return (CUstream)(uintptr_t)(0x5000 + ++f.stream_count + 8);
}

static struct work *submit(CUstream s, struct work w)
{
    assert_true(f.work_count < WORK);
    w.stream = stream_index(s);
    w.slow = f.slow;
    f.work[f.work_count++] = w;
    return &f.work[f.work_count - 1];
}

void fake_slow_copies(double times)
{
    f.slow = times;
}

unsigned fake_left(CUstream s)
{
    unsigned left = 0;
    for (unsigned i = 0; i < f.work_count; i++)
        left += f.work[i].stream == stream_index(s) && !f.work[i].done;
    return left;
}

CUresult fake_fill(CUstream s, CUdeviceptr a, size_t bytes, unsigned char value)
{
    submit(s, (struct work){.kind = FILL, .a = a, .bytes = bytes, .value = value});
    return CUDA_SUCCESS;
}

CUresult fake_expect(CUstream s, CUdeviceptr a, size_t bytes, unsigned char value)
{
    submit(s, (struct work){.kind = EXPECT, .a = a, .bytes = bytes, .value = value});
    return CUDA_SUCCESS;
}

CUresult fake_mix(CUstream s, const struct fake_range *ranges, unsigned reads, unsigned writes, unsigned char salt)
{
    struct work w = {.kind = MIX, .value = salt, .reads = (uint8_t)reads, .writes = (uint8_t)writes};
    memcpy(w.ranges, ranges, (reads + writes) * sizeof(*ranges));
    submit(s, w);
    f.counts.mixes++;
    return CUDA_SUCCESS;
}

/* What is copied is full of one value. */
static CUresult on_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream s)
{
    CALLED();
    submit(s, (struct work){.kind = COPY, .reads = 1, .writes = 1, .ranges = {{src, n}, {dst, n}}});
    f.counts.copies_within++;
    return CUDA_SUCCESS;
}

static CUresult on_cuStreamCreate(CUstream *s, unsigned int flags)
{
    CALLED();
    assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
    *s = fake_stream();
    f.counts.streams++;
    return CUDA_SUCCESS;
}

static CUresult on_cuStreamDestroy_v2(CUstream s)
{
    f.counts.streams--;
    return CUDA_SUCCESS;
}

static CUresult on_cuStreamGetCtx(CUstream s, CUcontext *context)
{
    *context = (CUcontext)(uintptr_t)0xc0;
    return CUDA_SUCCESS;
}

static CUresult on_cuStreamSynchronize(CUstream s)
{
    CALLED();
    run_until(stream_index(s), f.work_count);
    return CUDA_SUCCESS;
}

static CUresult on_cuCtxSynchronize(void)
{
    CALLED();
    for (unsigned i = 0; i < f.work_count; i++)
        if (!f.work[i].done)
            run_until(f.work[i].stream, i + 1);
    return CUDA_SUCCESS;
}

static CUresult on_cuStreamWaitEvent(CUstream s, CUevent e, unsigned int flags)
{
    CALLED();
    submit(s, (struct work){.kind = WAIT, .record = f.recorded[(uintptr_t)e]});
    return CUDA_SUCCESS;
}

static CUresult on_cuEventCreate(CUevent *e, unsigned int flags)
{
    CALLED();
    assert_true(f.event_count + 1 < MOST);
    *e = (CUevent)(uintptr_t)++f.event_count;
    f.untimed[f.event_count] = flags & CU_EVENT_DISABLE_TIMING;
    f.counts.events++;
    return CUDA_SUCCESS;
}

static CUresult on_cuEventDestroy_v2(CUevent e)
{
    f.counts.events--;
    return CUDA_SUCCESS;
}

static CUresult on_cuEventRecord(CUevent e, CUstream s)
{
    CALLED();
    submit(s, (struct work){.kind = RECORD, .event = (int)(uintptr_t)e});
    f.recorded[(uintptr_t)e] = f.work_count;
    return CUDA_SUCCESS;
}

static void (*meanwhile)(void);

void fake_meanwhile(void (*act)(void))
{
    meanwhile = act;
}

static CUresult on_cuEventSynchronize(CUevent e)
{
    CALLED();
    void (*act)(void) = meanwhile;
    meanwhile = NULL;
    if (act)
        act();
    unsigned long record = f.recorded[(uintptr_t)e];
    if (record && eager)
        run_others(f.work[record - 1].stream);
    if (record)
        run_until(f.work[record - 1].stream, (unsigned)record);
    return CUDA_SUCCESS;
}

static CUresult on_cuEventQuery(CUevent e)
{
    unsigned long record = f.recorded[(uintptr_t)e];
    return !record || f.work[record - 1].done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult on_cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    CALLED();
    const CUevent ends[] = {from, to};
    for (int i = 0; i < 2; i++) {
        if (f.untimed[(uintptr_t)ends[i]] || f.event_us[(uintptr_t)ends[i]] == 0)
            return CUDA_ERROR_INVALID_HANDLE;
        if (on_cuEventQuery(ends[i]) != CUDA_SUCCESS)
            return CUDA_ERROR_NOT_READY;
    }
    *ms = (float)((f.event_us[(uintptr_t)to] - f.event_us[(uintptr_t)from]) / 1000);
    return CUDA_SUCCESS;
}

static CUresult on_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t n, CUstream s)
{
    CALLED();
    submit(s, (struct work){.kind = OUT, .a = src, .bytes = n, .host = dst});
    f.counts.copies_out++;
    f.counts.out_bytes += n;
    return CUDA_SUCCESS;
}

static CUresult on_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t n, CUstream s)
{
    CALLED();
    submit(s, (struct work){.kind = IN, .a = dst, .bytes = n, .host = (void *)(uintptr_t)src});
    f.counts.copies_in++;
    f.counts.in_bytes += n;
    return CUDA_SUCCESS;
}

/* ---- the kernels of ours ---- */

#define HASH_FUNCTION   ((CUfunction)(uintptr_t)0x48)
#define TELL_FUNCTION   ((CUfunction)(uintptr_t)0x50)
#define SAMPLE_FUNCTION ((CUfunction)(uintptr_t)0x58)
#define FILL_FUNCTION   ((CUfunction)(uintptr_t)0x60)

static CUresult on_cuModuleLoadData(CUmodule *module, const void *image)
{
    CALLED();
    *module = (CUmodule)(uintptr_t)0x40;
    return CUDA_SUCCESS;
}

static CUresult on_cuModuleUnload(CUmodule module)
{
    CALLED();
    return CUDA_SUCCESS;
}

static CUresult on_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    CALLED();
    static const struct {
        const char *name;
        CUfunction function;
    } known[] = {{"spillway_hash", HASH_FUNCTION},
                 {"spillway_tell", TELL_FUNCTION},
                 {"spillway_sample", SAMPLE_FUNCTION},
                 {"spillway_fill", FILL_FUNCTION}};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) {
            *function = known[i].function;
            return CUDA_SUCCESS;
        }
    fail_msg("no kernel is called %s", name);
    return CUDA_ERROR_NOT_FOUND;
}

static CUresult on_cuMemsetD8Async(CUdeviceptr a, unsigned char value, size_t n, CUstream s)
{
    CALLED();
    return fake_fill(s, a, n, value);
}

static CUresult on_cuMemsetD32Async(CUdeviceptr a, unsigned int value, size_t n, CUstream s)
{
    CALLED();
    assert_int_equal(value, 0);
    return fake_fill(s, a, n * sizeof(value), 0);
}

static CUresult on_cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                  unsigned bz, unsigned shared, CUstream s, void **params, void **extra)
{
    CALLED();
    if (function == TELL_FUNCTION) {
        const uint64_t bytes = 8 * *(uint64_t *)params[2];
        submit(s, (struct work){.kind = OUT, .a = *(CUdeviceptr *)params[0], .bytes = bytes, .host = *(void **)params[1]});
        return fake_fill(s, *(CUdeviceptr *)params[0], bytes, 0);
    }
    if (function == FILL_FUNCTION) {
        for (uint64_t page = 0; page < *(uint64_t *)params[1]; page++)
            (void)fake_fill(s, *(CUdeviceptr *)params[0] + page * *(uint64_t *)params[2], SAMPLED_PAGE,
                            *(unsigned char *)params[3]);
        return CUDA_SUCCESS;
    }
    if (function == SAMPLE_FUNCTION) {
        submit(s, (struct work){.kind = SAMPLE,
                                .a = *(CUdeviceptr *)params[0],
                                .bytes = *(uint64_t *)params[1] * SAMPLED_PAGE,
                                .pitch = *(uint64_t *)params[2],
                                .pattern = *(uint64_t *)params[3],
                                .sign = *(uint64_t *)params[4],
                                .to = *(CUdeviceptr *)params[5]});
        f.counts.samples++;
        return CUDA_SUCCESS;
    }
    assert_ptr_equal(function, HASH_FUNCTION);
    submit(s, (struct work){.kind = HASH,
                            .a = *(CUdeviceptr *)params[0],
                            .bytes = *(uint64_t *)params[1],
                            .to = *(CUdeviceptr *)params[2]});
    f.counts.hashes++;
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
    *bytes = f.memory;
    return CUDA_SUCCESS;
}

static CUresult on_cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    *free_bytes = f.memory - f.counts.made_bytes;
    *total = f.memory;
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
    memset(&f, 0, sizeof(f));
    f.granularity = granularity;
    f.memory = memory;
    f.next_address = UINT64_C(0x700000000000);
    for (unsigned i = 0; i < sizeof(f.stream_us) / sizeof(f.stream_us[0]); i++)
        f.stream_us[i] = 1;
    f.slow = 1;
#define USE(name) spw_driver.name = on_##name
    USE(cuMemAddressReserve), USE(cuMemCreate), USE(cuMemRelease), USE(cuMemMap), USE(cuMemSetAccess), USE(cuMemUnmap);
    USE(cuMemGetAllocationGranularity), USE(cuMemHostRegister_v2), USE(cuMemHostUnregister), USE(cuMemHostAlloc);
    USE(cuMemFreeHost), USE(cuStreamCreate), USE(cuStreamDestroy_v2), USE(cuStreamGetCtx), USE(cuStreamSynchronize);
    USE(cuCtxSynchronize), USE(cuStreamWaitEvent), USE(cuEventCreate), USE(cuEventDestroy_v2), USE(cuEventRecord);
    USE(cuEventSynchronize), USE(cuEventQuery), USE(cuEventElapsedTime), USE(cuMemcpyDtoHAsync_v2),
        USE(cuMemcpyHtoDAsync_v2), USE(cuMemcpyDtoDAsync_v2);
    USE(cuCtxPushCurrent_v2), USE(cuCtxPopCurrent_v2);
    USE(cuCtxGetCurrent), USE(cuCtxGetDevice), USE(cuDeviceTotalMem_v2), USE(cuMemGetInfo_v2), USE(cuDeviceGetAttribute);
    USE(cuThreadExchangeStreamCaptureMode), USE(cuDevicePrimaryCtxRetain), USE(cuDevicePrimaryCtxRelease_v2);
    USE(cuMemAlloc_v2), USE(cuMemFree_v2), USE(cuModuleLoadData), USE(cuModuleUnload), USE(cuModuleGetFunction);
    USE(cuMemsetD8Async), USE(cuMemsetD32Async), USE(cuLaunchKernel);
#undef USE
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
    return &f.counts;
}

unsigned fake_calls(void)
{
    return f.calls;
}
