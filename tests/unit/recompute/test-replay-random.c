/* test-replay-random.c - operations of any shape on tensors and small allocations, of which any may be dropped, freed,
 * written or made again at any time, held against a model, while the driver's calls fail. */
#include "modelled.h"
#include "replayed.h"
#include "unlocked.h"

enum { SMALL = 4, ALL = MODELLED, TENSORS = ALL - SMALL };

static unsigned streams; /* that the program uses */

static CUstream any_stream(void)
{
    return streams > 1 && any(3) == 0 ? t : s;
}

static void model_expect(unsigned i)
{
    CUstream stream = any_stream();
    if (model[i].written && follow_last(i, stream))
        model_expect_on(stream, i);
}

/* Reads some, writes one or two others, or, rarely, one that it reads; small ones often both. */
static void model_mix(void)
{
    unsigned reads = any(3), writes = 1 + any(4) / 3, who[FAKE_RANGES], n = 0;
    CUdeviceptr a[FAKE_RANGES];
    unsigned char values[FAKE_RANGES], salt = (unsigned char)any(256);
    CUstream stream = any_stream();
    while (n < reads) {
        who[n] = any(4) ? any(TENSORS) : TENSORS + any(SMALL);
        if (!model[who[n]].a || !model[who[n]].written)
            return;
        n++;
    }
    while (n < reads + writes) {
        who[n] = n < 2 * reads && any(6) == 0 ? who[n - reads] : any(5) ? any(TENSORS) : TENSORS + any(SMALL);
        if (!model[who[n]].a)
            return;
        n++;
    }
    if (writes == 2 && who[reads] == who[reads + 1])
        return;
    if (reads == 2 && who[0] == who[1])
        return;
    for (unsigned i = 0; i < n; i++) {
        a[i] = model[who[i]].a;
        values[i] = model[who[i]].value;
        if (!follow_last(who[i], stream))
            return;
    }
    if (mix_on(stream, a, reads, writes, salt) < 0)
        return;
    for (unsigned i = 0; i < n; i++)
        model[who[i]].last = stream;
    for (unsigned i = 0; i < writes; i++) {
        model[who[reads + i]].value = (unsigned char)(fake_mixed(values, reads, salt) + i);
        model[who[reads + i]].written = true;
    }
}

static void model_free(unsigned i)
{
    give_back(model[i].a, model[i].last, any(4) == 0);
    model[i].a = 0;
}

/* The plan's iteration is over. */
static void end_round(void)
{
    spw_lock();
    for (uint32_t i = 0; i < device->block_count; i++) {
        struct spw_block *b = device->blocks[i];
        b->expected = 0;
        spw_retained_look_locked(device, b);
    }
    spw_retained_all_sweep_locked(device);
    spw_unlock();
}

/* Something is about to happen that nobody can see in detail. */
static void raise_epoch(void)
{
    if (rescue(NULL) == 0)
        spw_version_epoch++;
}

/* Any block, retained blocks too. */
static int act_on_any(int (*act)(struct spw_device *d, struct spw_block *b))
{
    const uint32_t i = device->block_count ? any(device->block_count) : 0;
    if (!device->block_count || spw_object_at_locked(device->blocks[i]->address) != &device->blocks[i]->object)
        return 0;
    return under_locks(act, device->blocks[i]->address);
}

static int make(struct spw_device *d, struct spw_block *b)
{
    return b->object.attention & SPW_DROPPED ? spw_replay_make_unlocking(d, b, NULL) : 0;
}

static void model_step(void)
{
    unsigned i = any(ALL), what = any(100);
    if (!model[i].a)
        model_allocate(i, i < TENSORS ? any_size() : SLOT_BYTES);
    else if (what < 30)
        model_mix();
    else if (what < 40)
        model_expect(i);
    else if (what < 60 && i < TENSORS)
        (void)under_locks(spw_transfer_drop_locked, model[i].a);
    else if (what < 64)
        (void)act_on_any(spw_transfer_drop_locked);
    else if (what < 68)
        (void)act_on_any(spw_transfer_evict_locked);
    else if (what < 72)
        (void)act_on_any(spw_transfer_prefetch_locked);
    else if (what < 76)
        (void)act_on_any(run_again);
    else if (what < 78)
        (void)act_on_any(make);
    else if (what < 88)
        pump();
    else if (what < 93)
        model_free(i);
    else if (what < 95)
        end_round();
    else if (what < 96)
        raise_epoch();
    else if (what < 98)
        sweep();
    else
        (void)spw_driver.cuStreamSynchronize(any_stream());
    check_needs();
}

static void model_begin(uint64_t budget, uint64_t host_budget, uint32_t first)
{
    begin_replays(budget, host_budget);
    model_reset(first);
    streams = 1 + first % 2;
}

static void model_end(uint64_t budget, bool lacks)
{
    model_expect_all(lacks);
    check_needs();
    assert_true(fake_counts()->made_bytes_peak <= budget + own_beside(budget));
    for (unsigned i = 0; i < ALL; i++)
        if (model[i].a)
            give_back(model[i].a, NULL, false);
    let_run();
    pump();
    end_round();
    check_needs();
    for (uint32_t i = 0; i < device->block_count; i++) {
        assert_false(device->blocks[i]->object.attention & SPW_RETAINED);
        assert_int_equal(device->blocks[i]->way, SPW_QUEUE_NONE);
    }
    assert_int_equal(device->live_count, 0);
    fake_run_all();
}

/* Whatever is dropped and made again, every byte is what it was, and the budget holds. */
static void any_tensor_may_be_dropped_at_any_time(void **state)
{
    const uint64_t budget = 9 * BYTES;
    uint64_t made = 0, dropped = 0, rescued = 0, planned = 0;
    for (uint32_t run = 1; run <= 60; run++) {
        model_begin(budget, 16 << 20, run);
        for (int i = 0; i < 500; i++)
            model_step();
        dropped += spw_transfer_counts.dropped_count;
        made += spw_replayed.count[SPW_REPLAY_DEMAND];
        planned += spw_replayed.count[SPW_REPLAY_PLAN];
        rescued += spw_replayed.count[SPW_REPLAY_RESCUE];
        model_end(budget, false);
        assert_int_equal(spw_replayed.failed_count, 0);
    }
    print_message("# %llu dropped, %llu made on demand, %llu by plan, %llu rescued\n", (unsigned long long)dropped,
                  (unsigned long long)made, (unsigned long long)planned, (unsigned long long)rescued);
    assert_true(dropped > 500 && made > 300 && planned > 20 && rescued > 100);
}

/* One call in so many is refused, once or for a while: operations may be refused, and no byte is ever wrong. */
static void calls_that_fail_cost_no_bytes(void **state)
{
    static const char *const calls[] = {
        "cuMemMap",          "cuMemUnmap",           "cuMemCreate",          "cuMemSetAccess", "cuEventRecord",
        "cuStreamWaitEvent", "cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuEventCreate",  "cuMemcpyDtoDAsync_v2"};
    const uint64_t budget = 9 * BYTES;
    for (uint32_t run = 1; run <= 80; run++) {
        model_begin(budget, 16 << 20, run);
        for (int i = 0; i < 400; i++) {
            if (i % 20 == 0)
                fake_fail(calls[any(10)], 1 + any(12), CUDA_ERROR_UNKNOWN, any(8) == 0);
            if (i % 20 == 5)
                refuse_submits = any(2) ? 1 + any(3) : 0;
            model_step();
        }
        fake_fail("", 0, CUDA_SUCCESS, false);
        refuse_submits = 0;
        model_end(budget, true);
    }
}

/* With hardly any host memory, and a device that is nearly too small, operations are refused and nothing is lost. */
static void little_memory_costs_no_bytes(void **state)
{
    for (uint32_t run = 1; run <= 60; run++) {
        const uint64_t budget = (5 + run % 3) * BYTES;
        model_begin(budget, (run % 4) * BYTES, run);
        for (int i = 0; i < 400; i++)
            model_step();
        model_end(budget, true);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_tensor_may_be_dropped_at_any_time),
        cmocka_unit_test(calls_that_fail_cost_no_bytes),
        cmocka_unit_test(little_memory_costs_no_bytes),
    };
    fake_eager(argc > 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
