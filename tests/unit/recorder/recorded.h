/* recorded.h - what the tests of the recorder share: a writer that keeps what it is given, and a driver with two contexts.
 */
#ifndef SPILLWAY_TESTS_RECORDED_H
#define SPILLWAY_TESTS_RECORDED_H
#include "recorder.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "writer.h"
#include "definitions.h"
#include "driver.h"
#include "capture.h"
#include "log.h"
#include "scan.h"
#include "settings.h"
#include "timing.h"

/* ---- a writer that keeps what it is given ---- */

enum { ROOM = 256 };

struct kept {
    struct spw_record record;
    struct spw_touch touches[8];
    char text[64];
} kept[ROOM];
static unsigned kept_count, flushes;
static int put_result;

int spw_trace_writer_create(const char *path, struct spw_trace_writer **ret_writer)
{
    *ret_writer = (struct spw_trace_writer *)kept;
    return 0;
}

int spw_trace_put(struct spw_trace_writer *writer, const struct spw_record *record)
{
    if (put_result < 0)
        return put_result;
    assert_true(kept_count < ROOM);
    struct kept *k = &kept[kept_count++];
    k->record = *record;
    if (record->kind == SPW_RECORD_OP)
        for (unsigned i = 0; i < record->op.touch_count && i < 8; i++)
            k->touches[i] = record->op.touches[i];
    if (record->kind == SPW_RECORD_FUNCTION)
        strncpy(k->text, record->function.name, sizeof(k->text) - 1);
    return 0;
}

int spw_trace_flush(struct spw_trace_writer *writer)
{
    flushes++;
    return 0;
}

int spw_trace_writer_destroy(struct spw_trace_writer *writer)
{
    return 0;
}

void spw_trace_writer_abandon(struct spw_trace_writer *writer)
{
}

/* The `index`-th record of a kind, counted from 0. */
static inline struct kept *find(enum spw_record_kind kind, unsigned index)
{
    for (unsigned i = 0; i < kept_count; i++)
        if (kept[i].record.kind == kind && index-- == 0)
            return &kept[i];
    fail_msg("there is no such record");
    return NULL;
}

static inline unsigned count(enum spw_record_kind kind)
{
    unsigned n = 0;
    for (unsigned i = 0; i < kept_count; i++)
        n += kept[i].record.kind == kind;
    return n;
}

/* ---- a driver with two contexts on two devices, whose events happen when the test says so ---- */

#define CONTEXT(n)  ((CUcontext)(uintptr_t)(0x1000 + (n)))
#define STREAM(n)   ((CUstream)(uintptr_t)(0x2000 + 16 * (n))) /* of context n & 1 */
#define FUNCTION(n) ((CUfunction)(uintptr_t)(0x3000 + 16 * (n)))
#define ADDRESS(n)  (UINT64_C(0x700000000000) + (n)*UINT64_C(0x400000))

static CUcontext current;
static unsigned questions, events_made;
static float clock_ms;
static bool events_happened;

static inline CUresult fake_get_current(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}

static inline CUresult fake_push(CUcontext context)
{
    current = context;
    return CUDA_SUCCESS;
}

static inline CUresult fake_pop(CUcontext *context)
{
    *context = current;
    current = CONTEXT(0);
    return CUDA_SUCCESS;
}

static inline CUresult fake_stream_context(CUstream stream, CUcontext *context)
{
    questions++;
    *context = CONTEXT(((uintptr_t)stream - 0x2000) / 16 & 1);
    return CUDA_SUCCESS;
}

static inline CUresult fake_get_device(CUdevice *device)
{
    *device = current == CONTEXT(1);
    return CUDA_SUCCESS;
}

static inline CUresult fake_stream_flags(CUstream stream, unsigned *flags)
{
    *flags = CU_STREAM_NON_BLOCKING;
    return CUDA_SUCCESS;
}

static inline CUresult fake_stream_priority(CUstream stream, int *priority)
{
    *priority = -2;
    return CUDA_SUCCESS;
}

static inline CUresult fake_device_name(char *name, int size, CUdevice device)
{
    strncpy(name, "a device", (size_t)size);
    return CUDA_SUCCESS;
}

static inline CUresult fake_memory(size_t *free, size_t *total)
{
    *free = 100;
    *total = 1000;
    return CUDA_SUCCESS;
}

static inline CUresult fake_function_name(const char **name, CUfunction f)
{
    questions++;
    *name = f == FUNCTION(0) ? "first" : "second";
    return CUDA_SUCCESS;
}

static inline CUresult fake_pointer(void *data, CUpointer_attribute attribute, CUdeviceptr p)
{
    return CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult fake_event(CUevent *event, unsigned flags)
{
    static float events[ROOM]; /* the context's: gone with it */
    assert_true(events_made < ROOM);
    *event = (CUevent)&events[events_made++];
    return CUDA_SUCCESS;
}

static inline CUresult fake_event_destroy(CUevent event)
{
    return CUDA_SUCCESS;
}

static inline CUresult fake_event_record(CUevent event, CUstream stream)
{
    *(float *)event = clock_ms;
    return CUDA_SUCCESS;
}

static inline CUresult fake_event_query(CUevent event)
{
    return events_happened ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static inline CUresult fake_elapsed(float *milliseconds, CUevent from, CUevent to)
{
    *milliseconds = *(float *)to - *(float *)from;
    return CUDA_SUCCESS;
}

static inline CUresult fake_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
    *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}

static inline CUresult fake_exchange(CUstreamCaptureMode *mode)
{
    return CUDA_SUCCESS;
}

static inline int begin(void **state)
{
    spw_driver = (struct spw_driver){.cuCtxGetCurrent = fake_get_current,
                                     .cuCtxPushCurrent_v2 = fake_push,
                                     .cuCtxPopCurrent_v2 = fake_pop,
                                     .cuCtxGetDevice = fake_get_device,
                                     .cuStreamGetCtx = fake_stream_context,
                                     .cuStreamGetFlags = fake_stream_flags,
                                     .cuStreamGetPriority = fake_stream_priority,
                                     .cuDeviceGetName = fake_device_name,
                                     .cuMemGetInfo_v2 = fake_memory,
                                     .cuFuncGetName = fake_function_name,
                                     .cuPointerGetAttribute = fake_pointer,
                                     .cuEventCreate = fake_event,
                                     .cuEventDestroy_v2 = fake_event_destroy,
                                     .cuEventRecord = fake_event_record,
                                     .cuEventQuery = fake_event_query,
                                     .cuEventElapsedTime = fake_elapsed,
                                     .cuStreamIsCapturing = fake_capturing,
                                     .cuThreadExchangeStreamCaptureMode = fake_exchange};
    static struct spw_settings settings;
    spw_settings_default(&settings);
    settings.mode = SPW_MODE_TRACE;
    settings.log_level = SPW_LOG_QUIET;
    spw_settings_use(&settings);
    spw_log_setup(SPW_LOG_QUIET, NULL);
    current = CONTEXT(0);
    kept_count = flushes = events_made = questions = 0;
    clock_ms = 0;
    events_happened = true;
    put_result = 0;
    return spw_recorder_start();
}

static inline int end(void **state)
{
    spw_record_context_gone(CONTEXT(0));
    spw_record_context_gone(CONTEXT(1));
    spw_recorder_stop();
    spw_recorder_reset();
    return 0;
}

/* ---- calls as their wrappers make them ---- */

static inline void allocate(unsigned n, uint64_t bytes)
{
    spw_note_begin(NULL, __builtin_return_address(0), false);
    spw_recorder_alloc(SPW_ALLOC_PLAIN, ADDRESS(n), bytes);
    spw_note_end();
}

static inline void launch_doubting(CUstream stream, unsigned function, const CUdeviceptr *hits, int n,
                                   const struct spw_scan_doubted *doubted)
{
    struct spw_record r = {.op = {.grid = {1, 2, 3}, .block = {4, 5, 6}, .shared_bytes = 7}};
    spw_note_begin(stream, NULL, false);
    clock_ms += 1;
    spw_record_launch(&r, FUNCTION(function), &(struct spw_launch_hits){.list = hits, .count = n, .doubted = doubted});
    clock_ms += 2;
    spw_note_end();
}

static inline void launch(CUstream stream, unsigned function, const CUdeviceptr *hits, int n)
{
    launch_doubting(stream, function, hits, n, NULL);
}

static inline void copy(CUdeviceptr to, CUdeviceptr from, uint64_t bytes)
{
    struct spw_record r = {.op = {.kind = SPW_OP_KINDS, .bytes = bytes}};
    const struct spw_reach ends[] = {{to, bytes, SPW_ACCESS_WRITE}, {from, bytes, SPW_ACCESS_READ}};
    spw_note_begin(NULL, NULL, false);
    spw_record_copied(to, from, bytes);
    spw_recorder_op(&r, ends, 2);
    spw_note_end();
}

/* ---- what is tested ---- */

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#endif
