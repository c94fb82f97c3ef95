/* believed.h - what the tests of the clean check share: kernels that are believed to read only. */
#ifndef SPILLWAY_TESTS_BELIEVED_H
#define SPILLWAY_TESTS_BELIEVED_H
#include "carried.h"
#include "capture.h"
#include "layout.h"
#include "idle-follower.h"
#include "clean_check.h"
#include "fast_path.h"
#include "call_args.h"
#include "versions.h"
#include "launch_class.h"

#define RING   ((uint64_t)SPW_DIGEST_SLOTS * sizeof(struct spw_hash))
#define BUDGET (4 * BYTES + RING)

/* A kernel that is given two tensors, and has been seen to write the first of them and never the second. */
static const CUfunction function = (CUfunction)(uintptr_t)0xf0;
static const uint16_t words[] = {0, 1};
static const struct spw_param params[] = {{0, 8}, {8, 8}};
static const struct spw_layout layout = {
    .known = true, .param_count = 2, .word_count = 2, .image_bytes = 16, .words = words, .params = params};
static CUdeviceptr output; /* what all launches write */
static bool is_eager;

static inline CUresult no_name(const char **name, CUfunction f)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static inline struct spw_call_args submission_of(CUdeviceptr *hits, void **values)
{
    values[0] = &hits[0];
    values[1] = &hits[1];
    struct spw_call_args submission = {.kind = SPW_SUBMIT_LAUNCH};
    submission.launch.function = function;
    submission.launch.layout = &layout;
    submission.launch.params = values;
    return submission;
}

static inline void learn(CUdeviceptr a)
{
    CUdeviceptr hits[] = {output, a};
    void *values[2];
    const struct spw_call_args submission = submission_of(hits, values);
    spw_lock();
    struct spw_launch_class *set = spw_launch_class_of_locked(function, spw_call_args_places(&submission), 2);
    for (int i = 0; i < SPW_CLASS_SURE; i++)
        (void)spw_launch_class_observed_locked(set, 1, 3);
    spw_unlock();
}

/* Launches it: it is begun, and what it does to `a` is up to the caller, before the end. */
static inline struct spw_op begin_scaling(CUstream stream, CUdeviceptr *hits, void **values,
                                          struct spw_call_args *submission)
{
    *submission = submission_of(hits, values);
    struct spw_op op = {.handle = stream,
                        .hits = hits,
                        .count = 2,
                        .room = 2,
                        .function = function,
                        .name = "scale",
                        .submission = submission};
    assert_int_equal(spw_op_begin(&op), 0);
    return op;
}

/* By 1: `a` is what it was, `value`. */
static inline void scale_by_one(CUdeviceptr a, unsigned char value)
{
    CUdeviceptr hits[] = {output, a};
    void *values[2];
    struct spw_call_args submission;
    struct spw_op op = begin_scaling(s, hits, values, &submission);
    fake_expect(s, a, BYTES, value);
    spw_op_end(&op);
}

/* `a` is something else from now on. */
static inline void scale_on(CUstream stream, CUdeviceptr a, unsigned char value)
{
    CUdeviceptr hits[] = {output, a};
    void *values[2];
    struct spw_call_args submission;
    struct spw_op op = begin_scaling(stream, hits, values, &submission);
    fake_fill(stream, a, BYTES, value);
    spw_op_end(&op);
}

static inline void begin_believing(uint64_t budget)
{
    begin(budget, 16 << 20);
    spw_driver.cuFuncGetName = no_name;
    spw_launch_classes_reset();
    spw_lock();
    spw_versions_keep_locked(false);
    spw_versions_keep_locked(true);
    spw_follower = &idle_follower;
    spw_plan_follower_any = true; /* as it is where versions are kept */
    spw_unlock();
    open_digests();
    output = allocate(BYTES);
    fill(output, 0);
    learn(output);
}

static inline void gone(CUdeviceptr a)
{
    leave(a);
    let_run();
    pump();
    let_run();
    pump();
    assert_int_equal(attention(a), SPW_EVICTED);
}

/* One that was written, went, and is back. */
static inline CUdeviceptr tensor_with_copy(unsigned char value)
{
    CUdeviceptr a = allocate(BYTES);
    fill(a, value);
    gone(a);
    restore(a);
    return a;
}

static inline void expect_counts(unsigned proven, unsigned refuted, unsigned unproven)
{
    assert_int_equal(spw_clean_check_counts.proven_count, proven);
    assert_int_equal(spw_launch_classes_refuted_count, refuted);
    assert_int_equal(spw_clean_check_counts.unproven_count, unproven);
}

static inline void expect_no_tickets(void)
{
    spw_lock();
    assert_int_equal(spw_digests_held_locked(device), 0);
    spw_unlock();
    check_blocks();
}

/* ---- what is not ---- */

static inline bool copy_is_done(CUdeviceptr a)
{
    spw_lock();
    const bool is_done = spw_copies_done_locked(device, block_at(a));
    spw_unlock();
    return is_done;
}

/* ---- where digests go ---- */

static inline bool is_done(uint32_t stream, uint64_t number)
{
    struct spw_uses uses = {0};
    spw_lock();
    spw_uses_add_locked(&uses, spw_stream_by_id_locked(stream), number);
    const bool done = spw_uses_done_locked(&uses);
    spw_unlock();
    return done;
}
#endif
