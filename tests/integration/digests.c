/* digests.c - hashes of device memory come back as the host computes them, in the order of their streams, without anybody
 * waiting; and whatever call fails on the way is told. Parts of the library on the simulated device, without the hooks. */
#include <stdio.h>

#include "digest_calls.h"
#include "events.h"
#include "capture.h"
#include "log.h"

static void assert_is_hash_of(uint32_t ticket, const void *bytes, size_t size)
{
    struct spw_hash hash;
    spw_hash_host(bytes, size, &hash);
    assert_true(spw_hash_equal(answered(ticket), hash));
}

/* ---- what comes back ---- */

CHILD_TEST(device_and_host_agree_for_every_size_and_alignment)
{
    static const size_t sizes[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 255, 4096, 16383, 16384, 16385, 40000, 300001};
    static unsigned char bytes[400000];
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream();
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * i >> 7 ^ i * 31);
    OK(cuMemcpyHtoDAsync_v2(p, bytes, sizeof(bytes), s));
    for (size_t shift = 0; shift < 17; shift++) {
        uint32_t tickets[sizeof(sizes) / sizeof(*sizes)];
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
            assert_int_equal(ask(s, p + shift, sizes[i], &tickets[i]), 0);
        assert_int_equal(send(s), 0);
        OK(cuStreamSynchronize(s));
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            assert_is_hash_of(tickets[i], bytes + shift, sizes[i]);
            forget(tickets[i]);
        }
    }
    assert_int_equal(held(), 0);
}

CHILD_TEST(a_digest_is_of_the_bytes_at_its_place_in_the_stream)
{
    static unsigned char expected[3][5000];
    uint32_t tickets[3];
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream();
    for (int i = 0; i < 3; i++) {
        memset(expected[i], i + 1, sizeof(expected[i]));
        OK(cuMemsetD8Async(p, (unsigned char)(i + 1), sizeof(expected[i]), s));
        assert_int_equal(ask(s, p, sizeof(expected[i]), &tickets[i]), 0);
    }
    OK(cuMemsetD8Async(p, 9, 5000, s));
    assert_int_equal(send(s), 0);
    OK(cuStreamSynchronize(s));
    for (int i = 0; i < 3; i++)
        assert_is_hash_of(tickets[i], expected[i], sizeof(expected[i]));
}

CHILD_TEST(an_answer_is_not_there_before_it_is_sent_and_the_device_has_come_so_far)
{
    struct spw_hash hash = {{1, 2}};
    uint32_t ticket;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream();
    assert_int_equal(ask(s, p, GRANULE, &ticket), 0);
    assert_int_not_equal(ticket, 0);
    assert_int_equal(answer(ticket, &hash), 0);
    OK(cuStreamSynchronize(s));
    assert_int_equal(answer(ticket, &hash), 0);
    assert_int_equal(send(s), 0);
    assert_int_equal(answer(ticket, &hash), 0);
    assert_int_equal(hash.word[0], 1);
    OK(cuStreamSynchronize(s));
    assert_int_equal(answer(ticket, &hash), 1);
    assert_int_equal(answer(ticket, &hash), 1);
}

CHILD_TEST(what_another_stream_asked_is_sent_when_that_one_is)
{
    struct spw_hash hash;
    uint32_t tickets[6];
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream streams[2] = {new_stream(), new_stream()};
    for (int i = 0; i < 6; i++)
        assert_int_equal(ask(streams[i % 2], p, 100 + (size_t)i, &tickets[i]), 0);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(send(streams[k]), 0);
        OK(cuStreamSynchronize(streams[k]));
        for (int i = 0; i < 6; i++)
            assert_int_equal(answer(tickets[i], &hash), i % 2 <= k);
    }
}

static void send_many(bool two_streams)
{
    uint32_t ticket;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream streams[2] = {new_stream(), new_stream()};
    for (int i = 0; i < 100; i++)
        assert_int_equal(ask(streams[two_streams && i % 2], p, 64, &ticket), 0);
    assert_int_equal(send(streams[0]), 0);
    assert_int_equal(send(streams[1]), 0);
    OK(cuCtxSynchronize());
}

static void send_from_one_stream(void)
{
    send_many(false);
}

static void send_from_two(void)
{
    send_many(true);
}

static void slots_that_lie_side_by_side_are_one_launch_and_none_is_a_copy(void **state)
{
    assert_true(in_child(send_from_one_stream, NULL));
    assert_true(child_stat("library_launches") == 100 + 1);
    assert_true(in_child(send_from_two, NULL));
    assert_true(child_stat("library_launches") == 100 + 100);
    assert_non_null(strstr(child_stats(), "\"d2h\": {\"count\": 0, \"bytes\": 0}"));
}

/* The copies of other streams take minutes here: an answer waits for none of them. */
CHILD_TEST(an_answer_waits_for_no_copy_of_another_stream, "SIMGPU_SCALE_BYTES", "1000000")
{
    void *bytes;
    uint32_t ticket;
    start();
    OK(cuMemHostAlloc(&bytes, GRANULE, 0));
    CUdeviceptr p = new_mapping(GRANULE, NULL), other = new_mapping(GRANULE, NULL);
    CUstream s = new_stream(), copies = new_stream();
    OK(cuMemcpyDtoHAsync_v2(bytes, other, GRANULE, copies));
    assert_int_equal(ask(s, p, 8, &ticket), 0);
    assert_int_equal(send(s), 0);
    OK(cuStreamSynchronize(s));
    assert_int_equal(cuStreamQuery(copies), CUDA_ERROR_NOT_READY);
    (void)answered(ticket);
    OK(cuCtxSynchronize());
}

/* ---- samples ---- */

enum { PAGE_WORDS = SPW_SAMPLE_PAGE / 8, SAMPLED = 5, APART = 3, PAGES = SAMPLED * APART };

/* The first sum of a hash, without the term of the length: hashes of as many bytes have it alike. */
static uint64_t sum_of(const void *bytes, size_t size)
{
    static const unsigned char zeros[PAGES * SPW_SAMPLE_PAGE];
    const uint64_t step = SPW_HASH_STEP, seed = SPW_HASH_SEED;
    struct spw_hash of_bytes, of_zeros;
    spw_hash_host(bytes, size, &of_bytes);
    spw_hash_host(zeros, size, &of_zeros);
    uint64_t sum = of_bytes.word[0] - of_zeros.word[0];
    for (uint64_t i = 0; i < size / 8; i++) {
        uint64_t y = (i * step + seed) * SPW_HASH_FIRST;
        y = (y ^ y >> 32) * SPW_HASH_A;
        y = (y ^ y >> 32) * SPW_HASH_B;
        sum += y ^ y >> 32;
    }
    return sum;
}

/* Of one sample less another. */
static struct spw_hash sampled(CUstream s, const struct spw_sample *of, const struct spw_sample *less)
{
    uint32_t ticket;
    spw_lock();
    assert_int_equal(spw_digest_sample_locked(d, context, s, of, &ticket), 0);
    assert_int_equal(spw_digest_sample_again_locked(d, context, s, less, ticket), 0);
    spw_unlock();
    assert_int_equal(send(s), 0);
    OK(cuStreamSynchronize(s));
    const struct spw_hash hash = answered(ticket);
    forget(ticket);
    return hash;
}

CHILD_TEST(a_sample_is_of_the_words_of_its_pages_each_at_its_place)
{
    static uint64_t words[PAGES][PAGE_WORDS], taken[SAMPLED][PAGE_WORDS];
    static const struct spw_sample nothing;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream();
    struct spw_sample sample = {p + SPW_SAMPLE_PAGE, 0, APART * SPW_SAMPLE_PAGE, UINT64_MAX / 0xff * SPW_SAMPLE_PATTERN};
    for (uint64_t i = 0; i < PAGES * PAGE_WORDS; i++)
        words[i / PAGE_WORDS][i % PAGE_WORDS] = i % 7 == 0 ? sample.pattern : i * i * SPW_HASH_STEP;
    OK(cuMemcpyHtoDAsync_v2(p, words, sizeof(words), s));
    uint64_t patterns = 0;
    for (uint64_t n = 0; n <= SAMPLED; n++) {
        sample.pages = n;
        const struct spw_hash hash = sampled(s, &sample, &nothing), none = sampled(s, &sample, &sample);
        assert_true(hash.word[0] == sum_of(taken, n * SPW_SAMPLE_PAGE) && hash.word[1] == patterns);
        assert_true(none.word[0] == 0 && none.word[1] == 2 * patterns);
        for (unsigned i = 0; n < SAMPLED && i < PAGE_WORDS; i++) {
            taken[n][i] = words[1 + n * APART][i];
            patterns += taken[n][i] == sample.pattern;
        }
    }
}

CHILD_TEST(the_pages_of_a_sample_are_filled_and_nothing_between_them)
{
    static uint64_t words[PAGES][PAGE_WORDS];
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream();
    const struct spw_sample sample = {p + SPW_SAMPLE_PAGE, SAMPLED - 1, APART * SPW_SAMPLE_PAGE, 0x123456789};
    OK(cuMemsetD8Async(p, 0, sizeof(words), s));
    spw_lock();
    assert_int_equal(spw_digest_fill_locked(d, context, s, &sample), 0);
    spw_unlock();
    OK(cuMemcpyDtoHAsync_v2(words, p, sizeof(words), s));
    OK(cuStreamSynchronize(s));
    for (unsigned page = 0; page < PAGES; page++)
        for (unsigned i = 0; i < PAGE_WORDS; i++)
            assert_true(words[page][i] == (page % APART == 1 && page / APART < sample.pages ? sample.pattern : 0));
}

/* ---- slots ---- */

CHILD_TEST(the_slots_are_all_used_and_then_given_out_again)
{
    static uint32_t tickets[SPW_DIGEST_SLOTS];
    uint32_t one_more;
    struct spw_hash hash;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream();
    for (int round = 0; round < 3; round++) {
        uint32_t old = tickets[5];
        OK(cuMemsetD32Async(p, (unsigned)round, 16, s));
        for (int i = 0; i < SPW_DIGEST_SLOTS; i++)
            assert_int_equal(ask(s, p, (size_t)i % 64, &tickets[i]), 0);
        assert_int_equal(ask(s, p, 8, &one_more), -EAGAIN);
        forget(old); /* somebody else has the slot now */
        assert_int_equal(answer(old, &hash), -EINVAL);
        assert_int_equal(held(), SPW_DIGEST_SLOTS);
        assert_int_equal(send(s), 0);
        OK(cuStreamSynchronize(s));
        unsigned words[16];
        for (int i = 0; i < 16; i++)
            words[i] = (unsigned)round;
        for (int i = 0; i < SPW_DIGEST_SLOTS; i++) {
            assert_is_hash_of(tickets[i], words, (size_t)i % 64);
            forget(tickets[i]);
        }
        assert_int_equal(answer(tickets[5], &hash), -EINVAL);
    }
    assert_int_equal(answer(0, &hash), -EINVAL);
    assert_int_equal(answer(~0u, &hash), -EINVAL);
    forget(tickets[5]); /* is ignored */
    assert_int_equal(held(), 0);
}

/* The device is slow, so that nothing is complete before somebody waits. */
CHILD_TEST(a_forgotten_slot_goes_to_another_stream_only_when_nothing_writes_to_it, "SIMGPU_SCALE_BYTES", "1000000")
{
    static uint32_t tickets[SPW_DIGEST_SLOTS];
    uint32_t ticket;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream(), other = new_stream();
    for (int i = 0; i < SPW_DIGEST_SLOTS; i++)
        assert_int_equal(ask(s, p, 1024, &tickets[i]), 0);
    for (int i = 0; i < SPW_DIGEST_SLOTS; i += 2)
        forget(tickets[i]); /* not sent: nothing follows */
    assert_int_equal(ask(other, p, 1024, &ticket), -EAGAIN);
    OK(cuStreamSynchronize(s));
    assert_int_equal(ask(other, p, 1024, &ticket), 0);
    assert_int_equal(ask(s, p, 1024, &ticket), 0);
    assert_int_equal(send(s), 0);
    for (int i = 1; i < SPW_DIGEST_SLOTS; i += 2)
        forget(tickets[i]); /* the answer is on its way */
    for (int i = 0; i < SPW_DIGEST_SLOTS / 2 - 2; i++)
        assert_int_equal(ask(other, p, 1024, &ticket), 0);
    assert_int_equal(ask(other, p, 1024, &ticket), -EAGAIN);
    OK(cuStreamSynchronize(s));
    for (int i = 0; i < SPW_DIGEST_SLOTS / 2; i++)
        assert_int_equal(ask(other, p, 1024, &ticket), 0);
    assert_int_equal(send(other), 0);
    OK(cuCtxSynchronize());
}

/* ---- what it costs ---- */

static void run_steadily(void)
{
    uint64_t events_before = 0;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream();
    for (int step = 0; step < 400; step++) {
        uint32_t tickets[40];
        struct spw_hash hash;
        for (int i = 0; i < 40; i++)
            assert_int_equal(ask(s, p, 4096, &tickets[i]), 0);
        assert_int_equal(send(s), 0);
        OK(cuStreamSynchronize(s));
        for (int i = 0; i < 40; i++) {
            assert_int_equal(answer(tickets[i], &hash), 1);
            forget(tickets[i]);
        }
        const uint64_t events = spw_events_held();
        if (step == 50)
            events_before = events;
        assert_true(step < 50 || events == events_before);
    }
    assert_int_equal(d->foreign_bytes, RING_BYTES);
}

static void a_steady_state_makes_nothing(void **state)
{
    assert_true(in_child(run_steadily, "SIMGPU_FAIL", "cuModuleLoadData:3+=1,cuMemAlloc:2+=2,cuMemHostAlloc:2+=2", NULL));
    assert_true(child_stat("injected_failures") == 0);
    assert_true(child_stat("allocations") == 1);
    assert_true(child_stat("ordering_errors") == 0);
}

CHILD_TEST(the_slots_are_on_the_bill_until_the_context_goes)
{
    struct spw_hash hash;
    uint32_t ticket;
    start();
    uint64_t budget = d->handles.budget_bytes;
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    assert_int_equal(ask(NULL, p, 8, &ticket), 0);
    assert_int_equal(d->foreign_bytes, RING_BYTES);
    assert_int_equal(d->handles.budget_bytes, budget - RING_BYTES);
    OK(cuCtxSynchronize());
    spw_lock();
    spw_digests_context_gone_locked(context);
    spw_unlock();
    assert_int_equal(d->foreign_bytes, 0);
    assert_int_equal(d->handles.budget_bytes, budget);
    assert_int_equal(answer(ticket, &hash), -EINVAL);
    assert_int_equal(held(), 0);
    assert_int_equal(ask(NULL, p, 8, &ticket), 0); /* and are made again where it does not */
}

CHILD_TEST(without_room_for_the_slots_nothing_is_asked_until_there_is_some)
{
    uint32_t ticket;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    uint64_t budget = d->handles.budget_bytes;
    d->handles.budget_bytes = RING_BYTES - 1;
    assert_int_equal(ask(NULL, p, 8, &ticket), -ENOMEM);
    assert_int_equal(open_digests(), -ENOMEM);
    assert_int_equal(d->foreign_bytes, 0);
    d->handles.budget_bytes = budget;
    assert_int_equal(open_digests(), 0);
    assert_int_equal(d->foreign_bytes, RING_BYTES);
    assert_int_equal(open_digests(), 0);
    assert_int_equal(d->foreign_bytes, RING_BYTES);
    assert_int_equal(ask(NULL, p, 8, &ticket), 0);
}

CHILD_TEST(only_one_context_of_a_device_has_slots)
{
    CUcontext second;
    uint32_t ticket;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    assert_int_equal(ask(NULL, p, 8, &ticket), 0);
    OK(cuCtxCreate_v4(&second, NULL, 0, 0));
    spw_lock();
    assert_int_equal(spw_digest_ask_locked(d, second, NULL, p, 8, &ticket), -ENOTSUP);
    spw_unlock();
    OK(cuCtxSetCurrent(context));
    assert_int_equal(ask(NULL, p, 8, &ticket), 0);
}

CHILD_TEST(a_stream_that_is_captured_is_left_alone)
{
    uint32_t ticket, later;
    CUgraph graph;
    size_t nodes = 99;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream(), other = new_stream();
    assert_int_equal(ask(s, p, 8, &ticket), 0);
    OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    atomic_store(&spw_captures_active, 1);
    assert_int_equal(ask(s, p, 8, &later), -EBUSY);
    assert_int_equal(send(s), -EBUSY);
    assert_int_equal(ask(other, p, 8, &later), 0); /* others go on */
    assert_int_equal(send(other), 0);
    OK(cuStreamEndCapture(s, &graph));
    atomic_store(&spw_captures_active, 0);
    OK(cuGraphGetNodes(graph, NULL, &nodes));
    assert_int_equal(nodes, 0);
    assert_int_equal(send(s), 0);
    OK(cuCtxSynchronize());
    (void)answered(ticket);
    (void)answered(later);
}

/* ---- what fails ---- */

static void be_refused(void)
{
    uint32_t ticket = 7;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ask(NULL, p, 8, &ticket), -ENOTSUP);
    assert_int_equal(ticket, 7);
    assert_int_equal(held(), 0);
    OK(cuCtxSynchronize());
}

static unsigned lines_with(const char *text)
{
    unsigned n = 0;
    for (const char *at = strstr(child_stderr(), text); at; at = strstr(at + 1, text))
        n++;
    return n;
}

static void a_device_that_does_not_take_the_kernel_is_named_once(void **state)
{
    /* The first module and the first functions are the test's own. */
    static const char *const failures[][2] = {{"cuModuleLoadData:2=218", "(cuModuleLoadData returned 218)"},
                                              {"cuModuleLoadData:2=221", "(cuModuleLoadData returned 221)"},
                                              {"cuModuleGetFunction:5=500", "(cuModuleGetFunction returned 500)"},
                                              {"cuModuleGetFunction:6=500", "(cuModuleGetFunction returned 500)"},
                                              {"cuLaunchKernel:1=209", "(cuLaunchKernel returned 209)"}};
    for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++) {
        assert_true(in_child(be_refused, "SIMGPU_FAIL", failures[i][0], NULL));
        assert_int_equal(child_stat("injected_failures"), 1);
        assert_int_equal(lines_with("does not load the kernel"), 1);
        assert_int_equal(lines_with(failures[i][1]), 1);
    }
}

static int first_failure;

/* Asks, sends and answers until it goes well, which it does at the second try. */
static void fail_once(void)
{
    static const unsigned char zeros[5000];
    uint32_t ticket = 0;
    start();
    spw_log_setup(SPW_LOG_DEBUG, NULL);
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream();
    OK(cuMemsetD8Async(p, 0, sizeof(zeros), s));
    int r = ask(s, p, sizeof(zeros), &ticket);
    assert_int_equal(r, first_failure);
    assert_int_equal(ticket, 0);
    assert_int_equal(held(), 0);
    assert_int_equal(d->foreign_bytes == 0, first_failure == -ENOMEM);
    assert_int_equal(ask(s, p, sizeof(zeros), &ticket), 0);
    assert_int_equal(send(s), 0);
    OK(cuStreamSynchronize(s));
    assert_is_hash_of(ticket, zeros, sizeof(zeros));
    assert_int_equal(d->foreign_bytes, RING_BYTES);
}

static void after_a_failure_the_next_try_may_go_well(void **state)
{
    first_failure = -ENOMEM;
    assert_true(in_child(fail_once, "SIMGPU_FAIL", "cuMemAlloc:1=2", NULL));
    assert_int_equal(lines_with("no memory for the slots of digests"), 1);
    assert_true(child_stat("host_bytes_at_exit") == RING_BYTES);
    assert_true(in_child(fail_once, "SIMGPU_FAIL", "cuMemHostAlloc:1=2", NULL));
    assert_int_equal(lines_with("no memory for the slots of digests"), 1);
    assert_true(child_stat("live_allocations_at_exit") <= 2);
    first_failure = -(100000 + 1);
    assert_true(in_child(fail_once, "SIMGPU_FAIL", "cuMemsetD32Async:1=1", NULL));
    assert_int_equal(child_stat("injected_failures"), 1);
}

static void fail_to_send(void)
{
    struct spw_hash hash;
    uint32_t ticket, second;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream();
    assert_int_equal(ask(s, p, 8, &ticket), 0);
    assert_int_equal(send(s), -(100000 + 1));
    assert_int_equal(answer(ticket, &hash), -EIO);
    assert_int_equal(send(s), 0);
    assert_int_equal(answer(ticket, &hash), -EIO);
    forget(ticket);
    assert_int_equal(held(), 0);
    assert_int_equal(ask(s, p, 8, &second), 0);
    assert_int_equal(send(s), 0);
    OK(cuStreamSynchronize(s));
    (void)answered(second);
}

static void what_could_not_be_sent_says_so(void **state)
{
    assert_true(in_child(fail_to_send, "SIMGPU_FAIL", "cuLaunchKernel:2=1", NULL));
    assert_int_equal(child_stat("injected_failures"), 1);
}

/* The mark behind it cannot be had: it is recorded when somebody asks. */
static void send_without_an_event(void)
{
    struct spw_hash hash;
    uint32_t ticket;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream();
    assert_int_equal(ask(s, p, 8, &ticket), 0);
    assert_int_equal(send(s), 0);
    assert_int_equal(answer(ticket, &hash), 0);
    OK(cuStreamSynchronize(s));
    (void)answered(ticket);
}

static void an_event_that_fails_only_delays_the_answer(void **state)
{
    assert_true(in_child(send_without_an_event, "SIMGPU_FAIL", "cuEventRecord:1=1", NULL));
    assert_int_equal(child_stat("injected_failures"), 1);
    assert_true(in_child(send_without_an_event, "SIMGPU_FAIL", "cuEventCreate:1=2", NULL));
    assert_int_equal(child_stat("injected_failures"), 1);
}

static void ask_in_a_context_that_a_fault_has_ended(void)
{
    struct spw_hash hash;
    uint32_t ticket;
    start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream s = new_stream();
    OK(cuMemUnmap(p, GRANULE));
    assert_int_equal(ask(s, p, 8, &ticket), 0);
    assert_int_equal(send(s), 0);
    CUresult r = cuStreamSynchronize(s);
    assert_int_equal(r, CUDA_ERROR_ILLEGAL_ADDRESS);
    spw_note_fault(context, r);
    assert_int_equal(answer(ticket, &hash), -EIO);
}

static void after_a_fault_no_answer_is_waited_for(void **state)
{
    assert_true(in_child(ask_in_a_context_that_a_fault_has_ended, NULL));
    assert_int_equal(lines_with("kernel spillway_hash"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_and_host_agree_for_every_size_and_alignment),
        cmocka_unit_test(a_digest_is_of_the_bytes_at_its_place_in_the_stream),
        cmocka_unit_test(an_answer_is_not_there_before_it_is_sent_and_the_device_has_come_so_far),
        cmocka_unit_test(what_another_stream_asked_is_sent_when_that_one_is),
        cmocka_unit_test(slots_that_lie_side_by_side_are_one_launch_and_none_is_a_copy),
        cmocka_unit_test(an_answer_waits_for_no_copy_of_another_stream),
        cmocka_unit_test(a_sample_is_of_the_words_of_its_pages_each_at_its_place),
        cmocka_unit_test(the_pages_of_a_sample_are_filled_and_nothing_between_them),
        cmocka_unit_test(the_slots_are_all_used_and_then_given_out_again),
        cmocka_unit_test(a_forgotten_slot_goes_to_another_stream_only_when_nothing_writes_to_it),
        cmocka_unit_test(a_steady_state_makes_nothing),
        cmocka_unit_test(the_slots_are_on_the_bill_until_the_context_goes),
        cmocka_unit_test(without_room_for_the_slots_nothing_is_asked_until_there_is_some),
        cmocka_unit_test(only_one_context_of_a_device_has_slots),
        cmocka_unit_test(a_stream_that_is_captured_is_left_alone),
        cmocka_unit_test(a_device_that_does_not_take_the_kernel_is_named_once),
        cmocka_unit_test(after_a_failure_the_next_try_may_go_well),
        cmocka_unit_test(what_could_not_be_sent_says_so),
        cmocka_unit_test(an_event_that_fails_only_delays_the_answer),
        cmocka_unit_test(after_a_fault_no_answer_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
