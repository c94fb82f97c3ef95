/* fake-streams.c - deferred streams over host memory, with a check at every step. */
#include "fake-device-parts.h"

static bool run_until(int stream, unsigned limit);

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
    unsigned char *p = fake_bytes_at(w->a + done, &n), *host = (unsigned char *)w->host + done;
    if (w->kind == FILL)
        memset(p, w->value, n);
    else if (w->kind == OUT)
        memcpy(host, p, n);
    else if (w->kind == IN)
        memcpy(p, host, n);
    const bool differs = w->kind == EXPECT && n && (p[0] != w->value || memcmp(p, p + 1, n - 1) != 0);
    for (size_t i = 0; differs && i < n; i++)
        if (p[i] != w->value)
            fail_msg("byte %zu at 0x%llx is 0x%02x and should be 0x%02x", done + i, (unsigned long long)w->a, p[i],
                     w->value);
    return n;
}

static unsigned char value_of(const struct fake_range *range)
{
    size_t n = range->bytes;
    struct work all = {.kind = EXPECT, .a = range->a, .bytes = range->bytes, .value = *fake_bytes_at(range->a, &n)};
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
    unsigned char *result = fake_bytes_at(w->to, &n), *bytes = malloc(w->bytes + 1);
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
    struct spw_hash *result = (void *)fake_bytes_at(w->to, &n), hash;
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

static void run_copy(const struct work *w)
{
    const struct fake_range *from = &w->ranges[0], *to = &w->ranges[1];
    char *bytes = malloc(from->bytes + 1);
    assert_non_null(bytes);
    const struct work parts[] = {{.kind = OUT, .a = from->a, .bytes = from->bytes, .host = bytes},
                                 {.kind = IN, .a = to->a, .bytes = to->bytes, .host = bytes}};
    for (unsigned i = 0; i < 2; i++)
        for (size_t done = 0; done < parts[i].bytes;)
            done += run_part(&parts[i], done);
    free(bytes);
}

/* As seek.ptx puts it: an answer has 64 bytes for parts, and a sum of a range that is not too large. */
enum { ANSWER_PARTS = 64, SUMMED_BYTES = 16 << 10 };

static uint64_t term(uint64_t index, uint64_t word)
{
    const uint64_t mixed = (word ^ index * UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (mixed ^ mixed >> 32) * UINT64_C(0x94D049BB133111EB);
}

/* How many words are among the numbers; `part`: for each part of 2^shift bytes, whether some of it are; *ret_sum: what these
 * come to. */
static uint64_t count_words(const struct work *w, unsigned shift, unsigned char *part, uint64_t *ret_sum)
{
    uint64_t *words = malloc(w->bytes + 8), count = 0;
    *ret_sum = 0;
    assert_non_null(words);
    const struct work copy = {.kind = OUT, .a = w->a, .bytes = w->bytes, .host = words};
    for (size_t done = 0; done < copy.bytes;)
        done += run_part(&copy, done);
    for (size_t i = 0; i < w->bytes / 8; i++)
        for (unsigned k = 0; k < 2; k++)
            if (words[i] - w->ranges[k].a < w->ranges[k].bytes) {
                count++;
                part[i * 8 >> shift] = 1;
                *ret_sum += term(i, words[i]);
            }
    free(words);
    return count;
}

static void run_find(const struct work *w)
{
    size_t n = sizeof(uint64_t);
    unsigned char any;
    uint64_t sum, *result = (void *)fake_bytes_at(w->to, &n);
    *result += count_words(w, 63, &any, &sum);
}

static void run_seek(const struct work *w)
{
    unsigned char *answer = w->host;
    uint64_t sum;
    (void)count_words(w, (unsigned)w->pattern, answer, &sum);
    if (w->bytes < SUMMED_BYTES)
        memcpy(answer + ANSWER_PARTS, &sum, sizeof sum);
}

/* False: it is a gate, or waits for what lies behind one. */
static bool run_one(struct work *w)
{
    double *now_us = &fake_state.stream_us[w->stream];
    if (w->kind == GATE && fake_state.gated)
        return false;
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
        run_copy(w);
        break;
    case HASH:
        run_hash(w);
        break;
    case SAMPLE:
        run_sample(w);
        break;
    case FIND:
        run_find(w);
        break;
    case SEEK:
        run_seek(w);
        break;
    case WAIT:
        if (w->record) {
            w->done = run_until(fake_state.work[w->record - 1].stream, (unsigned)w->record);
            if (!w->done)
                return false;
            if (*now_us < fake_state.work[w->record - 1].end_us)
                *now_us = fake_state.work[w->record - 1].end_us;
        }
        break;
    case RECORD:
        fake_state.event_us[w->event] = *now_us;
        break;
    case GATE:
        break;
    }
    w->end_us = *now_us += lasts_us(w);
    return true;
}

/* Runs a stream's work up to work[limit - 1]. False: it does not come so far. */
static bool run_until(int stream, unsigned limit)
{
    struct stream_work *all = &fake_state.stream_work[stream];
    for (; all->first < limit && all->left > 0; all->first++) {
        struct work *w = &fake_state.work[all->first];
        if (w->stream != stream || w->done)
            continue;
        if (!run_one(w))
            return false;
        all->left--;
    }
    return true;
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
            (void)run_until(stream, fake_state.work_count);
}

void fake_gate(CUstream s)
{
    fake_state.gated = true;
    fake_submit(s, (struct work){.kind = GATE});
}

void fake_open_gates(void)
{
    fake_state.gated = false;
}

void fake_run_all(void)
{
    fake_open_gates();
    run_others(-1);
    fake_state.work_count = 0;
    memset(fake_state.stream_work, 0, sizeof(fake_state.stream_work));
    memset(fake_state.recorded, 0, sizeof(fake_state.recorded));
}

static int stream_index(CUstream s)
{
    return (int)((uintptr_t)s & 0xfff);
}

void fake_map_once(void)
{
    fake_state.maps_once = true;
}

CUstream fake_stream(void)
{
    return (CUstream)(uintptr_t)(0x5000 + ++fake_state.stream_count + 8);
}

struct work *fake_submit(CUstream s, struct work w)
{
    assert_true(fake_state.work_count < WORK);
    w.stream = stream_index(s);
    w.slow = fake_state.slow;
    fake_state.stream_work[w.stream].left++;
    fake_state.work[fake_state.work_count++] = w;
    return &fake_state.work[fake_state.work_count - 1];
}

void fake_slow_copies(double times)
{
    fake_state.slow = times;
}

unsigned fake_left(CUstream s)
{
    return fake_state.stream_work[stream_index(s)].left;
}

CUresult fake_fill(CUstream s, CUdeviceptr a, size_t bytes, unsigned char value)
{
    fake_submit(s, (struct work){.kind = FILL, .a = a, .bytes = bytes, .value = value});
    return CUDA_SUCCESS;
}

CUresult fake_expect(CUstream s, CUdeviceptr a, size_t bytes, unsigned char value)
{
    fake_submit(s, (struct work){.kind = EXPECT, .a = a, .bytes = bytes, .value = value});
    return CUDA_SUCCESS;
}

CUresult fake_mix(CUstream s, const struct fake_range *ranges, unsigned reads, unsigned writes, unsigned char salt)
{
    struct work w = {.kind = MIX, .value = salt, .reads = (uint8_t)reads, .writes = (uint8_t)writes};
    memcpy(w.ranges, ranges, (reads + writes) * sizeof(*ranges));
    fake_submit(s, w);
    fake_state.counts.mixes++;
    return CUDA_SUCCESS;
}

static CUresult on_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream s)
{
    CALLED();
    fake_submit(s, (struct work){.kind = COPY, .reads = 1, .writes = 1, .ranges = {{src, n}, {dst, n}}});
    fake_state.counts.copies_within++;
    return CUDA_SUCCESS;
}

static CUresult on_cuStreamCreate(CUstream *s, unsigned int flags)
{
    CALLED();
    assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
    *s = fake_stream();
    fake_state.counts.streams++;
    return CUDA_SUCCESS;
}

static CUresult on_cuStreamDestroy_v2(CUstream s)
{
    fake_state.counts.streams--;
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
    if (!run_until(stream_index(s), fake_state.work_count))
        fail_msg("a stream is waited for that only the program lets go on");
    return CUDA_SUCCESS;
}

static CUresult on_cuCtxSynchronize(void)
{
    CALLED();
    for (unsigned i = 0; i < fake_state.work_count; i++)
        if (!fake_state.work[i].done && !run_until(fake_state.work[i].stream, i + 1))
            fail_msg("a context is waited for that only the program lets go on");
    return CUDA_SUCCESS;
}

static CUresult on_cuStreamWaitEvent(CUstream s, CUevent e, unsigned int flags)
{
    CALLED();
    fake_submit(s, (struct work){.kind = WAIT, .record = fake_state.recorded[(uintptr_t)e]});
    return CUDA_SUCCESS;
}

static CUresult on_cuEventCreate(CUevent *e, unsigned int flags)
{
    CALLED();
    assert_true(fake_state.event_count + 1 < MOST);
    *e = (CUevent)(uintptr_t)++fake_state.event_count;
    fake_state.untimed[fake_state.event_count] = flags & CU_EVENT_DISABLE_TIMING;
    fake_state.counts.events++;
    return CUDA_SUCCESS;
}

static CUresult on_cuEventDestroy_v2(CUevent e)
{
    fake_state.counts.events--;
    return CUDA_SUCCESS;
}

static CUresult on_cuEventRecord(CUevent e, CUstream s)
{
    CALLED();
    fake_submit(s, (struct work){.kind = RECORD, .event = (int)(uintptr_t)e});
    fake_state.recorded[(uintptr_t)e] = fake_state.work_count;
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
    unsigned long record = fake_state.recorded[(uintptr_t)e];
    if (record && eager)
        run_others(fake_state.work[record - 1].stream);
    if (record && !run_until(fake_state.work[record - 1].stream, (unsigned)record))
        fail_msg("an event is waited for that only the program lets come");
    return CUDA_SUCCESS;
}

void fake_goes_on(bool on)
{
    fake_state.goes_on = on;
}

static CUresult on_cuEventQuery(CUevent e)
{
    enum { IN_VAIN = 100 };
    unsigned long record = fake_state.recorded[(uintptr_t)e];
    const bool is_done = !record || fake_state.work[record - 1].done;
    fake_state.asked = is_done ? 0 : fake_state.asked + 1;
    if (fake_state.goes_on && fake_state.asked > IN_VAIN && !fake_state.gated)
        return on_cuEventSynchronize(e);
    if (fake_state.goes_on && fake_state.asked > IN_VAIN && run_until(fake_state.work[record - 1].stream, (unsigned)record))
        return CUDA_SUCCESS;
    return is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult on_cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    CALLED();
    const CUevent ends[] = {from, to};
    for (int i = 0; i < 2; i++) {
        if (fake_state.untimed[(uintptr_t)ends[i]] || fake_state.event_us[(uintptr_t)ends[i]] == 0)
            return CUDA_ERROR_INVALID_HANDLE;
        if (on_cuEventQuery(ends[i]) != CUDA_SUCCESS)
            return CUDA_ERROR_NOT_READY;
    }
    *ms = (float)((fake_state.event_us[(uintptr_t)to] - fake_state.event_us[(uintptr_t)from]) / 1000);
    return CUDA_SUCCESS;
}

static CUresult on_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t n, CUstream s)
{
    CALLED();
    fake_submit(s, (struct work){.kind = OUT, .a = src, .bytes = n, .host = dst});
    fake_state.counts.copies_out++;
    fake_state.counts.out_bytes += n;
    return CUDA_SUCCESS;
}

static CUresult on_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t n, CUstream s)
{
    CALLED();
    fake_submit(s, (struct work){.kind = IN, .a = dst, .bytes = n, .host = (void *)(uintptr_t)src});
    fake_state.counts.copies_in++;
    fake_state.counts.in_bytes += n;
    return CUDA_SUCCESS;
}

void fake_use_streams(void)
{
#define USE(name) spw_driver.name = on_##name
    USE(cuStreamCreate);
    USE(cuStreamDestroy_v2);
    USE(cuStreamGetCtx);
    USE(cuStreamSynchronize);
    USE(cuCtxSynchronize);
    USE(cuStreamWaitEvent);
    USE(cuEventCreate);
    USE(cuEventDestroy_v2);
    USE(cuEventRecord);
    USE(cuEventSynchronize);
    USE(cuEventQuery);
    USE(cuEventElapsedTime);
    USE(cuMemcpyDtoHAsync_v2);
    USE(cuMemcpyHtoDAsync_v2);
    USE(cuMemcpyDtoDAsync_v2);
#undef USE
}
