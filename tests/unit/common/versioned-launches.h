/* versioned-launches.h - what the tests of versions share: launches of up to three addresses, and who has things made again.
 */
#ifndef SPILLWAY_TESTS_VERSIONED_LAUNCHES_H
#define SPILLWAY_TESTS_VERSIONED_LAUNCHES_H
#include "idle-follower.h"
#include "rematerialiser.h"
#include "versions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "alloc.h"
#include "devices.h"
#include "driver.h"
#include "engine.h"
#include "failing-memory.h"
#include "fake-device.h"
#include "layout.h"
#include "lock.h"
#include "mover.h"
#include "pin.h"
#include "recorded_op.h"
#include "reclaim.h"
#include "slab.h"
#include "pinning.h"
#include "pointer_tables.h"
#include "unlocked.h"

#define GRANULE  4096u
#define KIB      1024u
#define FUNCTION ((CUfunction)0x100)
#define OUTSIDE  UINT64_C(0x123400000000) /* device memory that is not ours */
#define HOST     UINT64_C(0x123500000000) /* host memory that the driver knows */

static CUcontext context;
static struct spw_device *device;
static CUstream stream;
static CUdeviceptr a, b, c, small; /* three blocks and a slot */

static inline CUresult on_cuPointerGetAttribute(void *type, CUpointer_attribute attribute, CUdeviceptr address)
{
    *(CUmemorytype *)type = address == HOST ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    return address == OUTSIDE || address == HOST ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static inline CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr address = 0;
    spw_lock();
    struct spw_stream *s = spw_stream_of_locked(stream);
    spw_unlock();
    assert_int_equal(spw_allocate(device, bytes, s, context, spw_mempool_stats_of_locked(NULL), &address), 0);
    return address;
}

static inline void keep_versions(bool keep)
{
    spw_lock();
    spw_versions_keep_locked(keep);
    spw_unlock();
}

/* ---- who has things made again ---- */

static struct spw_versioned *needed; /* until it is asked for */
static unsigned rescues, rescues_of_all, keeps;
static int rescue_answer, kept_answer;
static bool pins; /* what is needed is asked for to be pinned, and on no stream */

static inline int on_rescue(struct spw_device *d, const struct spw_versioned *what, bool is_known, struct spw_stream *s)
{
    assert_ptr_equal(d, device);
    rescues_of_all += !what;
    rescues += what != NULL;
    if (what) {
        assert_ptr_equal(what, needed);
        assert_true(pins == !s);
    }
    if (rescue_answer == 0 && what)
        needed->needed = 0;
    if (rescue_answer == 0)
        d->dropping = 0;
    return rescue_answer;
}

static inline int on_kept(struct spw_op *op, struct spw_recorded_op *recorded_op)
{
    assert_ptr_equal(op->recorded_op, recorded_op);
    keeps++;
    return kept_answer;
}

static const struct spw_rematerialiser rematerialiser = {.kept = on_kept, .rescue_unlocking = on_rescue};

static inline int begin(void **state)
{
    spw_follower = &idle_follower;
    spw_plan_follower_any = false;
    spw_versions_reset();
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_pointer_tables_reset();
    spw_launch_classes_reset();
    spw_recorded_ops_reset();
    spw_reclaim_pressed = spw_pinning_everything = false;
    fake_start(GRANULE, 128 << 20, 4 << 20, 16 << 20);
    spw_driver.cuPointerGetAttribute = on_cuPointerGetAttribute;
    device = spw_device_current(&context);
    assert_non_null(device);
    stream = fake_stream();
    a = allocate(64 * KIB);
    b = allocate(64 * KIB);
    c = allocate(64 * KIB);
    small = allocate(256);
    spw_rematerialiser = &rematerialiser;
    needed = NULL;
    rescues = rescues_of_all = keeps = 0;
    device->dropping = 0;
    pins = false;
    rescue_answer = kept_answer = 0;
    keep_versions(true);
    return 0;
}

/* Nothing that was kept is left. */
static inline int end(void **state)
{
    keep_versions(false);
    fake_run_all();
    spw_rematerialiser = NULL;
    return spw_recorded_op_counts.alive || spw_recorded_op_counts.bytes;
}

static inline uint64_t version(CUdeviceptr address)
{
    return spw_versioned_at_locked(address, NULL)->version;
}

/* ---- launches of up to three addresses ---- */

static const struct spw_param params[] = {{0, 8}, {8, 8}, {16, 8}};
static const uint16_t words[] = {0, 1, 2};
static const struct spw_layout layouts[] = {
    {.known = true, .param_count = 1, .word_count = 1, .image_bytes = 8, .words = words, .params = params},
    {.known = true, .param_count = 2, .word_count = 2, .image_bytes = 16, .words = words, .params = params},
    {.known = true, .param_count = 3, .word_count = 3, .image_bytes = 24, .words = words, .params = params}};

struct launch {
    struct spw_op op;
    struct spw_call_args submission;
    CUdeviceptr hits[16];
    void *list[3];
};

static inline void describe(struct launch *l, unsigned count, CUdeviceptr x, CUdeviceptr y, CUdeviceptr z)
{
    *l = (struct launch){.hits = {x, y, z}};
    for (unsigned i = 0; i < count; i++)
        l->list[i] = &l->hits[i];
    l->submission = (struct spw_call_args){
        .kind = SPW_SUBMIT_LAUNCH,
        .launch = {FUNCTION, {1, 1, 1, 32, 1, 1, 0, NULL, NULL, 0}, &layouts[count - 1], l->list, NULL}};
    l->op = (struct spw_op){.handle = stream,
                            .hits = l->hits,
                            .count = count,
                            .room = 16,
                            .function = FUNCTION,
                            .name = "a kernel",
                            .submission = &l->submission};
}

static inline int launch(unsigned count, CUdeviceptr x, CUdeviceptr y, CUdeviceptr z)
{
    struct launch l;
    describe(&l, count, x, y, z);
    int r = spw_op_begin(&l.op);
    if (r == 0)
        spw_op_answered(&l.op, true);
    return r;
}

/* a and b are read only from now on. */
static inline struct spw_launch_class *learn_that_the_last_of_three_is_written(void)
{
    struct launch l;
    describe(&l, 3, a, b, c);
    struct spw_launch_class *set = spw_launch_class_of_locked(FUNCTION, spw_call_args_places(&l.submission), 3);
    for (int i = 0; i < SPW_CLASS_SURE; i++)
        (void)spw_launch_class_observed_locked(set, 4, UINT64_MAX);
    return set;
}

/* The type of the kernel says that it only reads the first. */
static inline void declare_the_first_constant(struct spw_launch_class *set)
{
    set->is_declared = true;
    set->declared.constant = 1;
}

/* ---- what is needed ---- */

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#endif
