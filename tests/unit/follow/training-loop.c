/* training-loop.c - what a training loop does to the engine, operation by operation. */
#include "plan_follower.h"
#include "training-loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "alloc.h"
#include "arrivals.h"
#include "bandwidth.h"
#include "transfers.h"
#include "devices.h"
#include "engine.h"
#include "fake-device.h"
#include "lock.h"
#include "mover.h"
#include "plan_stats.h"
#include "plan_tuning.h"
#include "mempool_stats.h"
#include "reclaim.h"
#include "scan.h"
#include "steptime.h"
#include "unlocked.h"

enum { FORWARD = 100, BACKWARD = LOOP_BACKWARD, LOAD = 300, INITIALISE = 400, EVALUATE = 500, CHECK = 600 };

static struct spw_op op; /* the one that has begun */

static void forget_everything(void)
{
    atomic_store(&spw_engine_lock, 0); /* a test that failed may have left with it */
    spw_plan_follower_reset();
    spw_plan_follower_open();
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_transfer_reset();
    spw_durations_reset();
    spw_steptime_reset();
    spw_bandwidth_reset();
    spw_arrivals_reset();
    spw_plan_stats_reset();
    spw_reclaim_pressed = false;
    spw_reclaim_stalls = (struct spw_reclaim_stalls){0};
}

/* ---- one operation ---- */

bool loop_launch(struct training_loop *loop, uint64_t function, CUdeviceptr *hits, unsigned count, unsigned read_only)
{
    op = (struct spw_op){.handle = loop->stream,
                         .hits = hits,
                         .count = count,
                         .room = count,
                         .read_only = read_only,
                         .doubted = loop->doubted,
                         .name = "a kernel",
                         .function = function == loop->named ? (CUfunction)(uintptr_t)function : NULL,
                         .signature = {SPW_ITERATION_LAUNCH, function, loop->geometry}};
    if (spw_op_begin(&op) < 0 && (!loop->is_patient || spw_op_begin(&op) < 0)) {
        loop->refused++;
        return false;
    }
    spw_duration_before(op.timed);
    return true;
}

void loop_end_launch(struct training_loop *loop)
{
    const struct spw_place *place = op.stream->place;
    const uint32_t next = place ? place->cursor.op : 0, count = place ? place->cursor.op_count : 0;
    const bool is_due = place && (place->due[next] || (next == count && place->due[0]));
    const unsigned copies = fake_counts()->copies_out;
    spw_duration_after(op.timed, true);
    spw_op_end(&op);
    assert_true(!loop->is_strict || is_due || fake_counts()->copies_out == copies);
    if (!loop->device_lags)
        fake_run_all();
    assert_true(fake_counts()->made_bytes <= loop->device->handles.budget_bytes);
    if (loop->after)
        loop->after(loop);
}

static struct spw_stream *stream_of(const struct training_loop *loop)
{
    spw_lock();
    struct spw_stream *s = spw_stream_of_locked(loop->stream);
    if (!s && loop->is_patient)
        s = spw_stream_of_locked(loop->stream);
    spw_unlock();
    assert_non_null(s);
    return s;
}

CUdeviceptr loop_allocate(struct training_loop *loop, size_t bytes)
{
    CUdeviceptr a = 0;
    struct spw_stream *s = stream_of(loop);
    struct spw_mempool_stats *pool = spw_mempool_stats_of_locked(NULL);
    int r = spw_allocate(loop->device, bytes, s, loop->context, pool, &a);
    if (r < 0 && loop->is_patient)
        r = spw_allocate(loop->device, bytes, s, loop->context, pool, &a);
    assert_int_equal(r, 0);
    return a;
}

void loop_free(struct training_loop *loop, CUdeviceptr address)
{
    assert_int_equal(spw_free(address, stream_of(loop)), 0);
}

static void write_all(struct training_loop *loop, uint64_t function, CUdeviceptr a, size_t bytes, uint8_t value)
{
    if (!loop_launch(loop, function, &a, 1, 0))
        return;
    fake_fill(loop->stream, a, bytes, value);
    loop_end_launch(loop);
}

/* ---- a step ---- */

static uint8_t value_of(const struct training_loop *loop, unsigned layer)
{
    return (uint8_t)(loop->step * 31 + layer * 7 + 1);
}

static void load_batch(struct training_loop *loop)
{
    if (!loop->next_batch) {
        loop->next_batch = loop_allocate(loop, LOOP_BYTES);
        loop->next_batch_value = (uint8_t)(loop->step + 3);
        write_all(loop, LOAD, loop->next_batch, LOOP_BYTES, loop->next_batch_value);
    }
    loop->batch = loop->next_batch;
    loop->batch_value = loop->next_batch_value;
    loop->next_batch = 0;
}

/* What the stack had, behind `count` hits; returns how many there are then. */
static unsigned add_stale(struct training_loop *loop, unsigned layer, CUdeviceptr *hits, unsigned count)
{
    static struct spw_scan_doubted doubted;
    spw_scan_doubted_init(&doubted);
    loop->doubted = &doubted;
    for (unsigned i = 0; i < loop->stale; i++) {
        doubted.bits[0] |= UINT64_C(1) << count;
        hits[count++] = loop->weights[spw_signature_mix(loop->step + 1, layer * LOOP_STALE + i) % LOOP_LAYERS];
    }
    return count;
}

static void forward(struct training_loop *loop, unsigned layer, uint64_t function)
{
    loop->activations[layer] = loop_allocate(loop, loop->bytes);
    const CUdeviceptr from = layer ? loop->activations[layer - 1] : loop->batch;
    const bool skips = loop->skips && layer >= loop->skips;
    CUdeviceptr hits[4 + LOOP_STALE] = {loop->activations[layer], loop->weights[layer], from};
    if (skips)
        hits[3] = loop->activations[layer - loop->skips];
    const unsigned count = add_stale(loop, layer, hits, skips ? 4 : 3);
    const bool begun = loop_launch(loop, function + layer, hits, count, count - 1);
    loop->doubted = NULL;
    if (!begun)
        return;
    if (skips)
        fake_expect(loop->stream, hits[3], loop->bytes, value_of(loop, layer - loop->skips));
    fake_expect(loop->stream, loop->weights[layer], LOOP_BYTES, loop->weight_values[layer]);
    fake_expect(loop->stream, from, layer ? loop->bytes : LOOP_BYTES, layer ? value_of(loop, layer - 1) : loop->batch_value);
    fake_fill(loop->stream, loop->activations[layer], loop->bytes, value_of(loop, layer));
    loop_end_launch(loop);
}

static bool update(struct training_loop *loop, unsigned layer)
{
    CUdeviceptr hits[] = {loop->weights[layer], loop->activations[layer]};
    if (!loop_launch(loop, BACKWARD + layer, hits, 2, 1))
        return false;
    fake_expect(loop->stream, loop->activations[layer], loop->bytes, value_of(loop, layer));
    fake_expect(loop->stream, loop->weights[layer], LOOP_BYTES, loop->weight_values[layer]);
    fake_fill(loop->stream, loop->weights[layer], LOOP_BYTES, ++loop->weight_values[layer]);
    loop_end_launch(loop);
    return true;
}

static void backward(struct training_loop *loop, unsigned layer)
{
    if (!(loop->leaves_out >> layer & 1) && !update(loop, layer))
        return;
    if (!loop->frees_nothing)
        loop_free(loop, loop->activations[layer]);
}

void loop_step(struct training_loop *loop)
{
    load_batch(loop);
    for (unsigned i = 0; i < LOOP_LAYERS; i++)
        forward(loop, i, FORWARD);
    if (loop->loads_ahead) {
        loop->next_batch = loop_allocate(loop, LOOP_BYTES);
        loop->next_batch_value = (uint8_t)(loop->step + 4);
        write_all(loop, LOAD, loop->next_batch, LOOP_BYTES, loop->next_batch_value);
    }
    for (unsigned i = LOOP_LAYERS; i-- > 0;)
        backward(loop, i);
    for (unsigned i = 0; loop->frees_nothing && i < LOOP_LAYERS; i++)
        loop_free(loop, loop->activations[i]);
    loop_free(loop, loop->batch);
    fake_run_all();
    loop->step++;
}

void loop_steps(struct training_loop *loop, unsigned count)
{
    while (count-- > 0)
        loop_step(loop);
}

void loop_evaluate(struct training_loop *loop)
{
    load_batch(loop);
    for (unsigned i = 0; i < LOOP_LAYERS; i++) {
        forward(loop, i, loop->evaluates_alike ? FORWARD : EVALUATE);
        if (i)
            loop_free(loop, loop->activations[i - 1]);
    }
    loop_free(loop, loop->activations[LOOP_LAYERS - 1]);
    loop_free(loop, loop->batch);
    fake_run_all();
}

void loop_start(struct training_loop *loop, uint64_t budget, enum spw_plan_setting plan)
{
    forget_everything();
    fake_start(4096, 64 << 20, budget, 32 << 20);
    struct spw_settings settings = *spw_settings_get();
    settings.plan = plan;
    spw_plan_move_us = 0; /* an operation takes FAKE_KERNEL_US */
    spw_plan_need_not_win = true;
    spw_settings_use(&settings);
    *loop = (struct training_loop){.bytes = LOOP_BYTES, .geometry = 1};
    loop->device = spw_device_current(&loop->context);
    assert_non_null(loop->device);
    loop->stream = fake_stream();
    for (unsigned i = 0; i < LOOP_LAYERS; i++) {
        loop->weights[i] = loop_allocate(loop, LOOP_BYTES);
        loop->weight_values[i] = (uint8_t)(i + 1);
        write_all(loop, INITIALISE, loop->weights[i], LOOP_BYTES, loop->weight_values[i]);
    }
}

void loop_check(struct training_loop *loop)
{
    for (unsigned i = 0; i < LOOP_LAYERS; i++) {
        if (!loop_launch(loop, CHECK, &loop->weights[i], 1, 1))
            continue;
        fake_expect(loop->stream, loop->weights[i], LOOP_BYTES, loop->weight_values[i]);
        loop_end_launch(loop);
    }
    fake_run_all();
    bool all = true;
    spw_lock();
    for (uint32_t i = 0; i < loop->device->block_count; i++)
        all &= spw_block_check_locked(loop->device->blocks[i]);
    spw_unlock();
    assert_true(all);
    assert_int_equal(loop->refused, 0);
    assert_true(fake_counts()->made_bytes_peak <= loop->device->handles.budget_bytes);
}
