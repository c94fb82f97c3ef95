/* test-recorder.c - what noted calls become in a trace; the driver and the trace's writer are the test's own. */
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
static struct kept *find(enum spw_record_kind kind, unsigned index)
{
    for (unsigned i = 0; i < kept_count; i++)
        if (kept[i].record.kind == kind && index-- == 0)
            return &kept[i];
    fail_msg("there is no such record");
    return NULL;
}

static unsigned count(enum spw_record_kind kind)
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

static CUresult fake_get_current(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}

static CUresult fake_push(CUcontext context)
{
    current = context;
    return CUDA_SUCCESS;
}

static CUresult fake_pop(CUcontext *context)
{
    *context = current;
    current = CONTEXT(0);
    return CUDA_SUCCESS;
}

static CUresult fake_stream_context(CUstream stream, CUcontext *context)
{
    questions++;
    *context = CONTEXT(((uintptr_t)stream - 0x2000) / 16 & 1);
    return CUDA_SUCCESS;
}

static CUresult fake_get_device(CUdevice *device)
{
    *device = current == CONTEXT(1);
    return CUDA_SUCCESS;
}

static CUresult fake_stream_flags(CUstream stream, unsigned *flags)
{
    *flags = CU_STREAM_NON_BLOCKING;
    return CUDA_SUCCESS;
}

static CUresult fake_stream_priority(CUstream stream, int *priority)
{
    *priority = -2;
    return CUDA_SUCCESS;
}

static CUresult fake_device_name(char *name, int size, CUdevice device)
{
    strncpy(name, "a device", (size_t)size);
    return CUDA_SUCCESS;
}

static CUresult fake_memory(size_t *free, size_t *total)
{
    *free = 100;
    *total = 1000;
    return CUDA_SUCCESS;
}

static CUresult fake_function_name(const char **name, CUfunction f)
{
    questions++;
    *name = f == FUNCTION(0) ? "first" : "second";
    return CUDA_SUCCESS;
}

static CUresult fake_pointer(void *data, CUpointer_attribute attribute, CUdeviceptr p)
{
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_event(CUevent *event, unsigned flags)
{
    static float events[ROOM]; /* the context's: gone with it */
    assert_true(events_made < ROOM);
    *event = (CUevent)&events[events_made++];
    return CUDA_SUCCESS;
}

static CUresult fake_event_destroy(CUevent event)
{
    return CUDA_SUCCESS;
}

static CUresult fake_event_record(CUevent event, CUstream stream)
{
    *(float *)event = clock_ms;
    return CUDA_SUCCESS;
}

static CUresult fake_event_query(CUevent event)
{
    return events_happened ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult fake_elapsed(float *milliseconds, CUevent from, CUevent to)
{
    *milliseconds = *(float *)to - *(float *)from;
    return CUDA_SUCCESS;
}

static CUresult fake_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
    *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}

static CUresult fake_exchange(CUstreamCaptureMode *mode)
{
    return CUDA_SUCCESS;
}

static int begin(void **state)
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

static int end(void **state)
{
    spw_record_context_gone(CONTEXT(0));
    spw_record_context_gone(CONTEXT(1));
    spw_recorder_stop();
    spw_recorder_reset();
    return 0;
}

/* ---- calls as their wrappers make them ---- */

static void allocate(unsigned n, uint64_t bytes)
{
    spw_note_begin(NULL, __builtin_return_address(0), false);
    spw_recorder_alloc(SPW_ALLOC_PLAIN, ADDRESS(n), bytes);
    spw_note_end();
}

static void free_it(unsigned n)
{
    spw_note_begin(NULL, NULL, false);
    spw_recorder_free(ADDRESS(n), false);
    spw_note_end();
}

static void launch_doubting(CUstream stream, unsigned function, const CUdeviceptr *hits, int n,
                            const struct spw_scan_doubted *doubted)
{
    struct spw_record r = {.op = {.grid = {1, 2, 3}, .block = {4, 5, 6}, .shared_bytes = 7}};
    spw_note_begin(stream, NULL, false);
    clock_ms += 1;
    spw_record_launch(&r, FUNCTION(function), hits, n, doubted);
    clock_ms += 2;
    spw_note_end();
}

static void launch(CUstream stream, unsigned function, const CUdeviceptr *hits, int n)
{
    launch_doubting(stream, function, hits, n, NULL);
}

static void copy(CUdeviceptr to, CUdeviceptr from, uint64_t bytes)
{
    struct spw_record r = {.op = {.kind = SPW_OP_KINDS, .bytes = bytes}};
    const struct spw_reach ends[] = {{to, bytes, SPW_ACCESS_WRITE}, {from, bytes, SPW_ACCESS_READ}};
    spw_note_begin(NULL, NULL, false);
    spw_record_copied(to, from, bytes);
    spw_recorder_op(&r, ends, 2);
    spw_note_end();
}

/* ---- what is tested ---- */

/* The first record says who was traced, before anything happens. */
static void begins_with_the_process(void **state)
{
    assert_int_equal(kept_count, 1);
    assert_int_equal(kept[0].record.kind, SPW_RECORD_PROCESS);
    assert_int_equal(kept[0].record.process.pid, getpid());
}

static void assert_hint(unsigned index, uint64_t op)
{
    unsigned n = 0;
    for (unsigned i = 0; i < kept_count; i++)
        if (kept[i].record.kind == SPW_RECORD_MARK && kept[i].record.mark.kind == SPW_MARK_HINT && n++ == index) {
            assert_int_equal(kept[i].record.mark.op, op);
            return;
        }
    fail_msg("there is no hint %u", index);
}

static enum spw_record_kind last_but(unsigned n)
{
    return kept[kept_count - 1 - n].record.kind;
}

/* What the program says itself stands where it was said, before what is allocated for the operation that it speaks of. */
static void a_hint_stands_where_it_was_said(void **state)
{
    launch(STREAM(0), 0, NULL, 0);
    spw_record_hint();
    allocate(0, 4096);
    assert_int_equal(last_but(0), SPW_RECORD_ALLOC);
    assert_hint(0, 1);
    launch(STREAM(0), 0, NULL, 0);
    spw_record_hint();
    assert_hint(1, 2);
    assert_int_equal(last_but(0), SPW_RECORD_MARK);
}

/* A program may begin its first range before its first call of the driver. */
static void a_hint_before_the_start_counts_as_said_at_it(void **state)
{
    end(state);
    spw_record_hint();
    begin(state);
    assert_hint(0, 0);
    assert_int_equal(count(SPW_RECORD_MARK), 1);
    end(state);
    begin(state);
    assert_int_equal(count(SPW_RECORD_MARK), 0);
}

/* The kernel that the user named is a hint, right before each of its launches that is carried out. */
static void a_kernel_that_was_named_is_a_hint(void **state)
{
    static struct spw_settings settings;
    settings = *spw_settings_get();
    strcpy(settings.hint_kernel, "econ");
    spw_recorder_stop();
    spw_recorder_reset();
    spw_settings_use(&settings);
    kept_count = 0;
    assert_int_equal(spw_recorder_start(), 0);
    launch(STREAM(0), 0, NULL, 0);
    launch(STREAM(0), 1, NULL, 0);
    assert_int_equal(last_but(1), SPW_RECORD_MARK);
    assert_hint(0, 1);
    launch(STREAM(0), 1, NULL, 0);
    assert_hint(1, 2);
    assert_int_equal(count(SPW_RECORD_MARK), 2);
}

/* A launch names its kernel once and the allocations that its parameters point into, with offsets, in order. */
static void writes_what_a_launch_touches(void **state)
{
    allocate(0, 1 << 20);
    allocate(1, 100);
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(1) + 64, ADDRESS(0), ADDRESS(1) + 100, 5}, 4);
    launch(STREAM(0), 0, NULL, 0);
    struct kept *k = find(SPW_RECORD_OP, 0);
    assert_int_equal(k->record.op.touch_count, 2);
    assert_int_equal(k->touches[0].alloc, 2);
    assert_int_equal(k->touches[0].offset, 64);
    assert_int_equal(k->touches[1].alloc, 1);
    assert_int_equal(k->record.op.grid[2], 3);
    assert_int_equal(k->record.op.block[0], 4);
    assert_int_equal(k->record.op.shared_bytes, 7);
    assert_int_equal(count(SPW_RECORD_FUNCTION), 1);
    assert_string_equal(find(SPW_RECORD_FUNCTION, 0)->text, "first");
    assert_int_equal(find(SPW_RECORD_OP, 1)->record.op.function, k->record.op.function);
}

/* What lies in a structure where nobody fills it in is not what its kernel touches; what leads nowhere marks such a place.
 */
static void leaves_out_what_the_stack_had(void **state)
{
    _Atomic uint8_t notes[11] = {0};
    const struct spw_layout layout = {.known = true, .places = notes};
    struct spw_scan_doubted doubted;
    spw_scan_doubted_init(&doubted);
    doubted.layout = &layout;
    doubted.first = 1;
    doubted.end = 4;
    doubted.places[1] = 8, doubted.places[2] = 9, doubted.places[3] = 10;
    doubted.bits[0] = 1 << 2;
    allocate(0, 4096);
    allocate(1, 4096);
    allocate(2, 4096);
    launch_doubting(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(9), ADDRESS(1) + 64, ADDRESS(0), ADDRESS(2) + 4096}, 4, &doubted);
    struct kept *k = find(SPW_RECORD_OP, 0);
    assert_int_equal(k->record.op.touch_count, 1);
    assert_int_equal(k->touches[0].alloc, 2);
    assert_int_equal(k->touches[0].offset, 64);
    assert_false(k->record.op.everything);
    assert_int_equal(notes[10], SPW_PLACE_DOUBTED); /* the first is no structure's */
    assert_int_equal(notes[8] | notes[9], 0);

    free_it(1);
    doubted.bits[0] = 0;
    launch_doubting(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(2), ADDRESS(1), ADDRESS(0)}, 3, &doubted);
    k = find(SPW_RECORD_OP, 1);
    assert_int_equal(k->record.op.touch_count, 2);
    assert_int_equal(k->touches[0].alloc, 3);
    assert_int_equal(k->touches[1].alloc, 1);
    assert_int_equal(notes[8], SPW_PLACE_DOUBTED);
    assert_int_equal(notes[9], 0);
}

/* It is touched, but operations are not recognised by it. */
static void tells_what_comes_and_goes_from_the_rest(void **state)
{
    _Atomic uint8_t notes[11] = {[9] = SPW_PLACE_EMPTY};
    const struct spw_layout layout = {.known = true, .places = notes};
    struct spw_scan_doubted doubted;
    spw_scan_doubted_init(&doubted);
    doubted.layout = &layout;
    doubted.first = 0;
    doubted.end = 3;
    doubted.places[0] = 8, doubted.places[1] = 9, doubted.places[2] = 10;
    for (unsigned i = 0; i < 3; i++)
        allocate(i, 4096);
    launch_doubting(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(0), ADDRESS(1), ADDRESS(2)}, 3, &doubted);
    struct kept *k = find(SPW_RECORD_OP, 0);
    assert_int_equal(k->record.op.touch_count, 3);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(k->touches[i].access, SPW_ACCESS_BOTH | (i == 1 ? SPW_ACCESS_LOOSE : 0));
}

static void writes_all_that_a_launch_without_structures_touches(void **state)
{
    struct spw_scan_doubted doubted;
    spw_scan_doubted_init(&doubted);
    allocate(0, 4096);
    allocate(1, 4096);
    launch_doubting(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(1), ADDRESS(9), ADDRESS(0) + 8}, 3, &doubted);
    launch_doubting(STREAM(0), 0, NULL, -5, &doubted);
    struct kept *k = find(SPW_RECORD_OP, 0);
    assert_int_equal(k->record.op.touch_count, 2);
    assert_int_equal(k->touches[0].alloc, 2);
    assert_int_equal(k->touches[1].offset, 8);
    assert_true(find(SPW_RECORD_OP, 1)->record.op.everything);
}

/* What could not be read may touch anything, and says so. */
static void says_that_a_launch_may_touch_everything(void **state)
{
    launch(STREAM(0), 0, NULL, -5);
    assert_true(find(SPW_RECORD_OP, 0)->record.op.everything);
    assert_int_equal(find(SPW_RECORD_OP, 0)->record.op.touch_count, 0);
}

/* Freed memory is touched no more; what the driver then puts there is another allocation. */
static void tells_successive_allocations_apart(void **state)
{
    allocate(0, 4096);
    free_it(0);
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(0)}, 1);
    allocate(0, 8192);
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(0)}, 1);
    assert_int_equal(find(SPW_RECORD_FREE, 0)->record.free.id, 1);
    assert_int_equal(find(SPW_RECORD_OP, 0)->record.op.touch_count, 0);
    assert_int_equal(find(SPW_RECORD_OP, 1)->touches[0].alloc, 2);
}

/* A second free of the same address, or of one inside, frees nothing. */
static void ignores_what_is_not_the_start_of_an_allocation(void **state)
{
    allocate(0, 4096);
    spw_note_begin(NULL, NULL, false);
    spw_recorder_free(ADDRESS(0) + 8, false);
    spw_note_end();
    assert_int_equal(count(SPW_RECORD_FREE), 0);
    free_it(0);
    free_it(0);
    assert_int_equal(count(SPW_RECORD_FREE), 1);
}

/* The direction of a copy that does not say it is in its ends: pinned host memory is the host's. */
static void tells_the_direction_of_a_copy_by_its_ends(void **state)
{
    static char host[64];
    allocate(0, 4096);
    allocate(1, 4096);
    spw_note_begin(NULL, NULL, false);
    spw_recorder_alloc(SPW_ALLOC_HOST, ADDRESS(2), 4096);
    spw_note_end();
    copy(ADDRESS(0), ADDRESS(1), 10);
    copy(ADDRESS(0), (CUdeviceptr)(uintptr_t)host, 10);
    copy((CUdeviceptr)(uintptr_t)host, ADDRESS(0), 10);
    copy(ADDRESS(2), ADDRESS(0), 10);
    copy(ADDRESS(2), (CUdeviceptr)(uintptr_t)host, 0);
    const enum spw_op_kind kinds[] = {SPW_OP_COPY_D2D, SPW_OP_COPY_H2D, SPW_OP_COPY_D2H, SPW_OP_COPY_D2H, SPW_OP_COPY_H2H};
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(find(SPW_RECORD_OP, i)->record.op.kind, kinds[i]);
    assert_int_equal(find(SPW_RECORD_OP, 3)->record.op.touch_count, 2); /* pinned memory is an allocation too */
}

/* A table of addresses that was copied in leads a launch to what it points to, until it is overwritten. */
static void follows_pointers_that_were_copied_in(void **state)
{
    CUdeviceptr table[3] = {7, ADDRESS(1) + 16, ADDRESS(2)};
    for (unsigned i = 0; i < 3; i++)
        allocate(i, 4096);
    copy(ADDRESS(0) + 8, (CUdeviceptr)(uintptr_t)table, sizeof(table));
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(0)}, 1);
    struct kept *k = find(SPW_RECORD_OP, 1);
    assert_int_equal(k->record.op.touch_count, 3);
    assert_int_equal(k->touches[1].alloc, 2);
    assert_int_equal(k->touches[1].offset, 16);
    assert_int_equal(k->touches[2].alloc, 3);
    spw_note_begin(NULL, NULL, false);
    spw_record_overwritten(ADDRESS(0) + 16, 8);
    spw_note_end();
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(0)}, 1);
    assert_int_equal(find(SPW_RECORD_OP, 2)->record.op.touch_count, 2);
}

/* Such a table goes along when it is copied on the device, and a circle of them ends. */
static void follows_pointers_that_were_copied_over(void **state)
{
    CUdeviceptr first = ADDRESS(1), second = ADDRESS(0);
    for (unsigned i = 0; i < 3; i++)
        allocate(i, 4096);
    copy(ADDRESS(0), (CUdeviceptr)(uintptr_t)&first, sizeof(first));
    copy(ADDRESS(1) + 8, (CUdeviceptr)(uintptr_t)&second, sizeof(second));
    copy(ADDRESS(2), ADDRESS(0), 4096);
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(2)}, 1);
    struct kept *k = find(SPW_RECORD_OP, 3);
    assert_int_equal(k->record.op.touch_count, 4); /* 2 -> 1 -> 0 -> 1 again, which is not followed again */
    assert_int_equal(k->touches[1].alloc, 2);
    assert_int_equal(k->touches[2].alloc, 1);
}

/* So it does inside of an allocation, onto a part of itself. */
static void follows_pointers_that_were_copied_within_an_allocation(void **state)
{
    CUdeviceptr table[2] = {ADDRESS(1), ADDRESS(2)};
    for (unsigned i = 0; i < 3; i++)
        allocate(i, 4096);
    copy(ADDRESS(0), (CUdeviceptr)(uintptr_t)table, sizeof(table));
    copy(ADDRESS(0) + 8, ADDRESS(0), sizeof(table));
    spw_note_begin(NULL, NULL, false);
    spw_record_overwritten(ADDRESS(0), 8);
    spw_note_end();
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(0)}, 1);
    struct kept *k = find(SPW_RECORD_OP, 2);
    assert_int_equal(k->record.op.touch_count, 3);
    assert_int_equal(k->touches[1].alloc, 2);
    assert_int_equal(k->touches[2].alloc, 3);
}

/* Addresses lie at whole words of the device, wherever in a word the copy begins. */
static void follows_pointers_in_a_copy_that_begins_inside_a_word(void **state)
{
    struct {
        uint32_t padding, changed;
        CUdeviceptr address;
    } source = {.address = ADDRESS(1)};
    allocate(0, 4096);
    allocate(1, 4096);
    copy(ADDRESS(0) + 12, (CUdeviceptr)(uintptr_t)&source.changed, sizeof(source) - 4);
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(0)}, 1);
    assert_int_equal(find(SPW_RECORD_OP, 1)->touches[1].alloc, 2);
}

static void make_variable(unsigned n)
{
    spw_note_begin(NULL, NULL, false);
    spw_record_alloc_once(SPW_ALLOC_GLOBAL, ADDRESS(n), 64);
    spw_note_end();
}

/* What a module's variable points to is touched by each launch, told of the variable or not, until it points there no more.
 */
static void follows_pointers_in_variables(void **state)
{
    CUdeviceptr address = ADDRESS(0), no_address = 0;
    allocate(0, 4096);
    make_variable(1);
    allocate(2, 4096);
    launch(STREAM(0), 0, NULL, 0);
    copy(ADDRESS(2), (CUdeviceptr)(uintptr_t)&address, sizeof(address)); /* not a variable: no launch knows of it */
    copy(ADDRESS(1) + 16, (CUdeviceptr)(uintptr_t)&address, sizeof(address));
    launch(STREAM(0), 0, NULL, 0);
    copy(ADDRESS(1) + 16, (CUdeviceptr)(uintptr_t)&no_address, sizeof(no_address));
    launch(STREAM(0), 0, NULL, 0);
    struct kept *k = find(SPW_RECORD_OP, 3);
    assert_int_equal(find(SPW_RECORD_OP, 0)->record.op.touch_count, 0);
    assert_int_equal(k->record.op.touch_count, 2);
    assert_int_equal(k->touches[0].alloc, 2);
    assert_int_equal(k->touches[1].alloc, 1);
    assert_int_equal(find(SPW_RECORD_OP, 5)->record.op.touch_count, 0);
}

/* Where such variables are too many to be remembered, launches may touch everything. */
static void says_that_variables_are_too_many(void **state)
{
    CUdeviceptr address = ADDRESS(0);
    allocate(0, 4096);
    for (unsigned n = 1; n <= 65; n++) {
        make_variable(n);
        copy(ADDRESS(n), (CUdeviceptr)(uintptr_t)&address, sizeof(address));
        if (n >= 64)
            launch(STREAM(0), 0, NULL, 0);
    }
    assert_false(find(SPW_RECORD_OP, 64)->record.op.everything);
    assert_true(find(SPW_RECORD_OP, 66)->record.op.everything);
}

/* A stream is asked about once; a default stream is another one in another context. */
static void tells_streams_apart(void **state)
{
    launch(STREAM(2), 0, NULL, 0);
    launch(STREAM(2), 0, NULL, 0);
    assert_int_equal(questions, 2); /* one about the stream, one about the function */
    launch(STREAM(1), 0, NULL, 0);
    launch(NULL, 0, NULL, 0);
    current = CONTEXT(1);
    spw_record_context_changed();
    launch(NULL, 0, NULL, 0);
    launch(CU_STREAM_LEGACY, 0, NULL, 0);
    assert_int_equal(count(SPW_RECORD_STREAM), 4);
    assert_int_equal(find(SPW_RECORD_STREAM, 0)->record.stream.priority, -2);
    assert_int_equal(find(SPW_RECORD_STREAM, 1)->record.stream.device, 1);
    assert_true(find(SPW_RECORD_STREAM, 2)->record.stream.legacy);
    assert_int_equal(find(SPW_RECORD_OP, 4)->record.op.stream, find(SPW_RECORD_OP, 5)->record.op.stream);
    assert_int_not_equal(find(SPW_RECORD_OP, 3)->record.op.stream, find(SPW_RECORD_OP, 4)->record.op.stream);
    assert_int_equal(count(SPW_RECORD_DEVICE), 2);
}

/* A handle that the driver gives out again is a new stream. */
static void forgets_streams_that_are_gone(void **state)
{
    launch(STREAM(2), 0, NULL, 0);
    spw_record_stream_gone(STREAM(2));
    launch(STREAM(2), 0, NULL, 0);
    assert_int_not_equal(find(SPW_RECORD_OP, 0)->record.op.stream, find(SPW_RECORD_OP, 1)->record.op.stream);
}

/* A context takes its allocations along, not those of others. */
static void ends_what_goes_with_a_context(void **state)
{
    allocate(0, 4096);
    current = CONTEXT(1);
    spw_record_context_changed();
    allocate(1, 4096);
    spw_note_begin(NULL, NULL, false);
    spw_record_context_gone(CONTEXT(1));
    spw_note_end();
    assert_int_equal(count(SPW_RECORD_FREE), 1);
    assert_int_equal(find(SPW_RECORD_FREE, 0)->record.free.id, 2);
}

/* Where an allocation is seen on top of another, the end of the other was missed. */
static void ends_allocations_whose_end_was_missed(void **state)
{
    allocate(0, 4096);
    allocate(0, 4096);
    assert_int_equal(find(SPW_RECORD_FREE, 0)->record.free.id, 1);
    assert_int_equal(count(SPW_RECORD_ALLOC), 2);
}

/* With timing on each operation gets the time between its two events; off, no event is made. */
static void times_operations_when_asked(void **state)
{
    launch(STREAM(0), 0, NULL, 0);
    assert_int_equal(events_made, 0);
    spw_timing_set(true);
    launch(STREAM(0), 0, NULL, 0);
    launch(STREAM(0), 0, NULL, 0);
    spw_timing_set(false);
    spw_note_begin(STREAM(0), NULL, true);
    spw_recorder_wait(SPW_WAIT_STREAM, NULL);
    spw_note_end();
    assert_int_equal(count(SPW_RECORD_DURATION), 2);
    assert_int_equal(find(SPW_RECORD_DURATION, 0)->record.duration.op, 1);
    assert_int_equal(find(SPW_RECORD_DURATION, 0)->record.duration.duration_ns, 3000000);
    assert_int_equal(find(SPW_RECORD_DURATION, 1)->record.duration.start_ns, 3000000);
}

/* Events are used again: as many as operations under way at once, and one that start times count from. */
static void reuses_events(void **state)
{
    spw_timing_set(true);
    for (unsigned i = 0; i < 50; i++)
        launch(STREAM(0), 0, NULL, 0);
    spw_timing_set(false);
    assert_in_range(events_made, 3, 7);
}

/* Until the device has done it, an operation has no duration. */
static void waits_for_durations(void **state)
{
    events_happened = false;
    spw_timing_set(true);
    launch(STREAM(0), 0, NULL, 0);
    launch(STREAM(0), 0, NULL, 0);
    assert_int_equal(count(SPW_RECORD_DURATION), 0);
    events_happened = true;
    launch(STREAM(0), 0, NULL, 0);
    spw_timing_set(false);
    assert_int_equal(count(SPW_RECORD_DURATION), 2);
}

/* Captured operations are marked and not timed; launching what became of them touches what they touch. */
static void knows_what_a_captured_graph_touches(void **state)
{
    CUgraph graph = (CUgraph)(uintptr_t)0x5000;
    CUgraphExec exec = (CUgraphExec)(uintptr_t)0x6000, other = (CUgraphExec)(uintptr_t)0x6100;
    allocate(0, 4096);
    allocate(1, 4096);
    spw_timing_set(true);
    spw_captures_active = 1;
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(1) + 8}, 1);
    spw_captures_active = 0;
    assert_int_equal(events_made, 0);
    spw_timing_set(false);
    assert_true(find(SPW_RECORD_OP, 0)->record.op.captured);
    spw_record_captured(graph);
    spw_record_instantiated(graph, exec);
    spw_record_graph_gone(graph);
    spw_note_begin(STREAM(0), NULL, false);
    spw_record_graph_launch(exec);
    spw_record_graph_launch(other);
    spw_record_graph_gone(exec);
    spw_note_end();
    struct kept *k = find(SPW_RECORD_OP, 1);
    assert_int_equal(k->record.op.kind, SPW_OP_GRAPH);
    assert_false(k->record.op.everything);
    assert_int_equal(k->touches[0].alloc, 2);
    assert_int_equal(k->touches[0].offset, 8);
    assert_true(find(SPW_RECORD_OP, 2)->record.op.everything);
}

/* A table that is filled after the capture leads to what it holds at the launch. */
static void follows_a_graphs_pointers_when_it_is_launched(void **state)
{
    CUgraph graph = (CUgraph)(uintptr_t)0x5000;
    CUgraphExec exec = (CUgraphExec)(uintptr_t)0x6000;
    CUdeviceptr address = ADDRESS(1);
    allocate(0, 4096);
    allocate(1, 4096);
    spw_captures_active = 1;
    launch(STREAM(0), 0, (CUdeviceptr[]){ADDRESS(0)}, 1);
    spw_captures_active = 0;
    spw_record_captured(graph);
    spw_record_instantiated(graph, exec);
    copy(ADDRESS(0), (CUdeviceptr)(uintptr_t)&address, sizeof(address));
    spw_note_begin(STREAM(0), NULL, false);
    spw_record_graph_launch(exec);
    spw_note_end();
    spw_record_graph_gone(exec);
    spw_record_graph_gone(graph);
    struct kept *k = find(SPW_RECORD_OP, 2);
    assert_int_equal(k->record.op.touch_count, 2);
    assert_int_equal(k->touches[1].alloc, 2);
}

/* A disk that is full ends the trace, not the program. */
static void stops_when_nothing_can_be_written(void **state)
{
    put_result = -28; /* ENOSPC */
    launch(STREAM(0), 0, NULL, 0);
    assert_int_equal(spw_recording, 0);
    put_result = 0;
    launch(STREAM(0), 0, NULL, 0);
    assert_int_equal(kept_count, 1);
}

/* A record that the trace cannot hold is missing, and that is said. */
static void says_what_is_lost(void **state)
{
    put_result = -22; /* EINVAL */
    launch(STREAM(0), 0, NULL, 0);
    assert_int_equal(spw_recording, 0); /* not even the note of the loss could be written */
}

/* Before the program waits, what happened until then is in the file. */
static void flushes_before_waiting(void **state)
{
    unsigned before = flushes;
    launch(STREAM(0), 0, NULL, 0);
    usleep(60000);
    spw_note_begin(STREAM(0), NULL, true);
    assert_int_equal(flushes, before + 1);
    spw_note_end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(begins_with_the_process),
        TEST(a_hint_stands_where_it_was_said),
        TEST(a_hint_before_the_start_counts_as_said_at_it),
        TEST(a_kernel_that_was_named_is_a_hint),
        TEST(writes_what_a_launch_touches),
        TEST(leaves_out_what_the_stack_had),
        TEST(tells_what_comes_and_goes_from_the_rest),
        TEST(writes_all_that_a_launch_without_structures_touches),
        TEST(says_that_a_launch_may_touch_everything),
        TEST(tells_successive_allocations_apart),
        TEST(ignores_what_is_not_the_start_of_an_allocation),
        TEST(tells_the_direction_of_a_copy_by_its_ends),
        TEST(follows_pointers_that_were_copied_in),
        TEST(follows_pointers_that_were_copied_over),
        TEST(follows_pointers_that_were_copied_within_an_allocation),
        TEST(follows_pointers_in_a_copy_that_begins_inside_a_word),
        TEST(follows_pointers_in_variables),
        TEST(says_that_variables_are_too_many),
        TEST(tells_streams_apart),
        TEST(forgets_streams_that_are_gone),
        TEST(ends_what_goes_with_a_context),
        TEST(ends_allocations_whose_end_was_missed),
        TEST(times_operations_when_asked),
        TEST(reuses_events),
        TEST(waits_for_durations),
        TEST(knows_what_a_captured_graph_touches),
        TEST(follows_a_graphs_pointers_when_it_is_launched),
        TEST(stops_when_nothing_can_be_written),
        TEST(says_what_is_lost),
        TEST(flushes_before_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
