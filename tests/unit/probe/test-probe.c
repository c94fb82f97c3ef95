/* test-probe.c - launches that are looked at and tried, on the fake device: what is found out is true, and the program finds
 * everything as its own launch left it, whatever the launch does when it runs again and whichever call fails. */
#include "pin.h"
#include "probe_snapshot.h"
#include "carried.h"
#include "course/course.h"
#include "layout.h"
#include "recorded_op.h"
#include "scratch.h"
#include "call_args.h"
#include "probe.h"
#include "validation.h"
#include "unmanaged.h"
#include "versions.h"
#include "writesets.h"

#define SLOT_BYTES ((size_t)256)
#define BUDGET     (64 * BYTES)

enum kernel {
    PLAIN,     /* overwrites its output with what it makes of its input */
    COUNTS,    /* the same, and adds to a small allocation that it reads as well */
    IN_PLACE,  /* makes its output of its output */
    VARIES,    /* something else each time */
    REMEMBERS, /* something else when it runs again: it knows it from somewhere */
    OVERSTEPS, /* when it runs again it writes its input, too */
    KERNELS
};
enum { OUT, IN, SLOT, HITS };
enum { ROUNDS = 40, EVERY_TIME = 4 };

#define HOST ((uint64_t)16 << 20)

static struct spw_probe *probe;
static uint64_t host_budget = HOST;
static struct {
    CUdeviceptr hits[HITS];
    unsigned char holds[HITS]; /* what the program has to find there */
    uint64_t places;           /* with the function, the kind of launch */
} of[KERNELS];
static unsigned char clock_now;
static unsigned doubtful;                /* of a launch's addresses the last so many */
static unsigned refuse_submits, submits; /* the n-th of them fails; so many were made */
static bool refused;                     /* the program's launch is */
static uint32_t padding;                 /* behind the parameters, for nobody to look at */

static CUfunction function_of(enum kernel k)
{
    return (CUfunction)(uintptr_t)(0x100 + 16 * k);
}

static CUresult no_name(const char **name, CUfunction f)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- kernels ---- */

static bool reads_its_output(enum kernel k)
{
    return k == IN_PLACE;
}

static unsigned char salt_of(enum kernel k, bool again)
{
    return k == VARIES ? ++clock_now : k == REMEMBERS && again ? 77 : (unsigned char)(k + 1);
}

static CUresult run(enum kernel k, CUstream stream, bool again, unsigned char salt)
{
    const CUdeviceptr *a = of[k].hits;
    struct fake_range ranges[FAKE_RANGES] = {{a[reads_its_output(k) ? OUT : IN], BYTES}};
    unsigned reads = 1, writes = 1;
    if (k == COUNTS)
        ranges[reads++] = (struct fake_range){a[SLOT], SLOT_BYTES};
    ranges[reads] = (struct fake_range){a[OUT], BYTES};
    if (k == COUNTS)
        ranges[reads + writes++] = (struct fake_range){a[SLOT], SLOT_BYTES};
    if (k == OVERSTEPS && again)
        ranges[reads + writes++] = (struct fake_range){a[IN], BYTES};
    return fake_mix(stream, ranges, reads, writes, salt);
}

/* What the program's own launch makes of what is there. */
static void follow(enum kernel k, unsigned char salt)
{
    unsigned char *holds = of[k].holds, values[2] = {holds[reads_its_output(k) ? OUT : IN], holds[SLOT]};
    holds[OUT] = fake_mixed(values, k == COUNTS ? 2 : 1, salt);
    if (k == COUNTS)
        holds[SLOT] = (unsigned char)(holds[OUT] + 1);
}

int __wrap_spw_recorded_op_submit_locked(const struct spw_recorded_op *recorded_op, struct spw_stream *stream);
int __wrap_spw_recorded_op_submit_locked(const struct spw_recorded_op *recorded_op, struct spw_stream *stream)
{
    const enum kernel k = (enum kernel)recorded_op->operation;
    submits++;
    if (refuse_submits == submits)
        return -EIO;
    return run(k, stream->handle, true, salt_of(k, true)) == CUDA_SUCCESS ? 0 : -EIO;
}

/* ---- the program ---- */

static void put(CUdeviceptr a, size_t bytes, unsigned char value, unsigned char *holds)
{
    assert_int_equal(fill_on(s, a, bytes, value), 0);
    *holds = value;
}

static size_t bytes_of(unsigned hit)
{
    return hit == SLOT ? SLOT_BYTES : BYTES;
}

/* As far as probes look at what is kept of a launch. */
static struct spw_recorded_op kept(enum kernel k, const struct spw_call_args *submission,
                                   struct spw_recorded_op_touch *touches)
{
    void *memory = malloc(spw_call_args_bytes(submission));
    assert_non_null(memory);
    for (unsigned i = 0; i < HITS; i++)
        touches[i] = (struct spw_recorded_op_touch){.address = of[k].hits[i], .bytes = bytes_of(i)};
    return (struct spw_recorded_op){.operation = k,
                                    .holders = 1,
                                    .context = context,
                                    .function = function_of(k),
                                    .touches = touches,
                                    .touch_count = HITS,
                                    .submission = spw_call_args_keep(submission, memory)};
}

/* The launch as the driver is told of it. */
static struct spw_call_args submission_of(enum kernel k, void *values[])
{
    static const uint16_t words[] = {0, 1, 2};
    static const struct spw_param params[] = {{0, 8}, {8, 8}, {16, 8}, {24, 4}};
    static const struct spw_layout layout = {
        .known = true, .param_count = HITS + 1, .word_count = HITS, .image_bytes = 28, .words = words, .params = params};
    struct spw_call_args submission = {.kind = SPW_SUBMIT_LAUNCH};
    for (unsigned i = 0; i < HITS; i++)
        values[i] = &of[k].hits[i];
    values[HITS] = &padding;
    submission.launch.function = function_of(k);
    submission.launch.layout = &layout;
    submission.launch.params = values;
    submission.launch.doubted = words + HITS - doubtful;
    submission.launch.doubted_count = doubtful;
    return submission;
}

/* What is kept is right to be run again without being compared, as far as its numbers go. */
static bool is_trusted(enum kernel k)
{
    void *values[HITS + 1];
    struct spw_recorded_op_touch touches[HITS];
    const struct spw_call_args submission = submission_of(k, values);
    struct spw_recorded_op recorded_op = kept(k, &submission, touches);
    spw_lock();
    const bool is_trusted = spw_validation_covers_locked(&recorded_op);
    spw_unlock();
    free(recorded_op.submission);
    return is_trusted;
}

static void (*meanwhile)(void); /* what another thread does while the driver takes the launch */

/* Launched by the program on that stream, with what the library does around it. What the program is told. */
static CUresult launch(enum kernel k)
{
    CUdeviceptr hits[HITS];
    void *values[HITS + 1];
    const struct spw_call_args submission = submission_of(k, values);
    memcpy(hits, of[k].hits, sizeof(hits));
    struct spw_op op = {.handle = s,
                        .hits = hits,
                        .count = HITS,
                        .room = HITS,
                        .doubtful = doubtful,
                        .function = function_of(k),
                        .name = "a kernel",
                        .submission = &submission};
    assert_int_equal(spw_op_begin(&op), 0);
    struct spw_recorded_op_touch touches[HITS];
    struct spw_recorded_op recorded_op = kept(k, &submission, touches);
    recorded_op.stream = op.stream;
    spw_lock();
    assert_non_null(op.kind);
    of[k].places = op.kind->places;
    op.recorded_op = spw_probe_before(probe, &op, 1) ? &recorded_op : NULL;
    spw_unlock();
    const unsigned char salt = salt_of(k, false);
    CUresult r = refused ? CUDA_ERROR_LAUNCH_FAILED : run(k, s, false, salt);
    if (!refused)
        follow(k, salt);
    if (meanwhile)
        meanwhile();
    if (op.probe)
        r = spw_probe_after(&op, r);
    op.recorded_op = NULL;
    spw_op_end(&op);
    free(recorded_op.submission);
    return r;
}

static void expect_all(enum kernel k)
{
    for (unsigned i = 0; i < HITS; i++)
        assert_int_equal(expect_on(s, of[k].hits[i], bytes_of(i), of[k].holds[i]), 0);
}

static bool next_round(void)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    const bool complete = spw_probe_round_unlocking(probe);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    return complete;
}

/* An iteration in which each of these kernels is launched once, on something else than before. */
static void iterate(unsigned number, unsigned kernels)
{
    for (enum kernel k = 0; k < KERNELS; k++) {
        if (!(kernels >> k & 1))
            continue;
        put(of[k].hits[IN], BYTES, (unsigned char)(3 + number), &of[k].holds[IN]);
        assert_int_equal(launch(k), CUDA_SUCCESS);
        expect_all(k);
    }
    let_run();
}

static void learn(unsigned kernels)
{
    unsigned number = 0;
    while (!next_round()) {
        assert_true(number < ROUNDS);
        iterate(number++, kernels);
    }
}

static const struct spw_writeset *kind_of(enum kernel k)
{
    return of[k].places ? spw_writeset_of_locked(function_of(k), of[k].places, HITS) : NULL;
}

static enum spw_replay_verdict verdict_of(enum kernel k)
{
    spw_lock();
    const enum spw_replay_verdict verdict = spw_probe_policy_verdict(spw_probe_get_policy(probe), kind_of(k));
    spw_unlock();
    return verdict;
}

static uint64_t written_by(enum kernel k)
{
    spw_lock();
    const uint64_t changed = kind_of(k)->changed;
    spw_unlock();
    return changed;
}

static void begin_learning(void)
{
    static struct spw_course_op op = {.touch_count = 2};
    static struct spw_course_touch touches[] = {{.tensor = 0}, {.tensor = 1}};
    static struct spw_course_tensor tensors[] = {{.bytes = BYTES}, {.bytes = BYTES}};
    static struct spw_course_call call = {.function = 1, .hit_count = HITS};
    static const struct spw_course course = {.ops = &op,
                                             .touches = touches,
                                             .tensors = tensors,
                                             .calls = &call,
                                             .op_count = 1,
                                             .tensor_count = 2,
                                             .touch_count = 2};
    spw_lock();
    spw_probe_begin(probe, &course, 1e6);
    spw_unlock();
}

static int begin_trials(void **state)
{
    (void)state;
    begin(BUDGET, host_budget);
    spw_digest_charge = spw_unmanaged_take_locked; /* as it is by the time that anything is tried */
    spw_driver.cuFuncGetName = no_name;
    spw_writesets_reset();
    spw_validation_reset();
    spw_lock();
    spw_versions_keep_locked(false);
    spw_versions_keep_locked(true);
    probe = spw_probe_create(device);
    spw_unlock();
    assert_non_null(probe);
    memset(of, 0, sizeof(of));
    clock_now = 0;
    padding = 0;
    refuse_submits = submits = doubtful = 0;
    meanwhile = NULL;
    for (enum kernel k = 0; k < KERNELS; k++)
        for (unsigned i = 0; i < HITS; i++) {
            of[k].hits[i] = allocate(bytes_of(i));
            put(of[k].hits[i], bytes_of(i), (unsigned char)(40 + 10 * k + i), &of[k].holds[i]);
        }
    begin_learning();
    return 0;
}

static int end_trials(void **state)
{
    (void)state;
    fake_fail("", 0, CUDA_SUCCESS, false);
    spw_lock();
    spw_probe_destroy(probe);
    probe = NULL;
    spw_unlock();
    return 0;
}

/* ---- what is true ---- */

static void each_kind_of_kernel_is_found_out(void **state)
{
    static const enum spw_replay_verdict verdicts[KERNELS] = {[PLAIN] = SPW_REPLAYABLE,
                                                              [COUNTS] = SPW_REPLAYABLE,
                                                              [IN_PLACE] = SPW_REPLAYABLE,
                                                              [VARIES] = SPW_REPLAY_DIFFERS,
                                                              [REMEMBERS] = SPW_REPLAY_HIDDEN_STATE,
                                                              [OVERSTEPS] = SPW_REPLAY_HIDDEN_STATE};
    learn(~0u);
    for (enum kernel k = 0; k < KERNELS; k++) {
        assert_int_equal(verdict_of(k), verdicts[k]);
        assert_int_equal(written_by(k), k == COUNTS ? 1 << OUT | 1 << SLOT : 1 << OUT);
    }
    const struct spw_probe_counts counts = spw_probe_counts_of(probe);
    assert_true(counts.looks >= KERNELS && counts.trials >= KERNELS);
    assert_int_equal(counts.failures, 0);
}

static const struct spw_writeset *slot_place(enum kernel k)
{
    return spw_writeset_of_place_locked(function_of(k), SLOT);
}

static void what_is_behind_a_doubted_place_is_looked_at_and_says_nothing_of_the_rest(void **state)
{
    doubtful = 1;
    learn(1 << PLAIN | 1 << COUNTS);
    for (enum kernel k = PLAIN; k <= COUNTS; k++) {
        assert_int_equal(kind_of(k)->count, HITS - 1);
        assert_int_equal(written_by(k), 1 << OUT);
        assert_false(spw_writeset_writes(kind_of(k), IN));
    }
    assert_true(spw_writeset_is_spared(slot_place(PLAIN)));
    assert_false(spw_writeset_is_spared(slot_place(COUNTS)));
    assert_int_equal(slot_place(COUNTS)->changed, 1);
}

/* The address that is there by chance is that of the output: that changes in any case. */
static void what_is_written_otherwise_says_nothing_of_a_doubted_place(void **state)
{
    doubtful = 1;
    of[PLAIN].hits[SLOT] = of[PLAIN].hits[OUT];
    for (unsigned number = 0; !next_round(); number++) {
        assert_true(number < ROUNDS);
        put(of[PLAIN].hits[IN], BYTES, (unsigned char)(3 + number), &of[PLAIN].holds[IN]);
        assert_int_equal(launch(PLAIN), CUDA_SUCCESS);
        let_run();
    }
    assert_int_equal(written_by(PLAIN), 1 << OUT);
    assert_int_equal(slot_place(PLAIN)->seen[0], 0);
    assert_int_equal(slot_place(PLAIN)->changed, 0);
}

static void nothing_is_left_behind(void **state)
{
    const uint64_t live = device->live_bytes;
    learn(~0u);
    assert_int_equal(spw_digests_held_locked(device), 0);
    assert_int_equal(device->live_bytes, live);
    const struct fake_counts before = *fake_counts();
    iterate(ROUNDS, ~0u); /* what is known is not looked at again */
    assert_int_equal(fake_counts()->hashes, before.hashes);
    assert_int_equal(fake_counts()->copies_within, before.copies_within);
}

/* A probe copies what has a content to its place, and back for each run and at the end, and what the launch left; and takes
 * a hash behind each; all on the program's stream. */
static void a_trial_costs_what_is_said_of_it(void **state)
{
    learn(1 << PLAIN);
    const struct spw_probe_counts counts = spw_probe_counts_of(probe);
    const unsigned before = (unsigned)counts.trials * HITS * (1 + 2), after = (unsigned)counts.trials * HITS * 2;
    assert_int_equal(submits, 2 * counts.trials);
    assert_int_equal(fake_counts()->copies_within, before + after);
    assert_int_equal(fake_counts()->hashes, HITS * (2 * counts.looks + 3 * counts.trials));
}

static CUresult typed_name(const char **name, CUfunction f)
{
    *name = "_Z6kernelPfPKfPfj"; /* output, input, small one, padding */
    return CUDA_SUCCESS;
}

static void what_a_kernel_only_reads_by_its_type_is_not_put_aside(void **state)
{
    spw_driver.cuFuncGetName = typed_name;
    learn(1 << PLAIN | 1 << IN_PLACE);
    const unsigned trials = (unsigned)spw_probe_counts_of(probe).trials;
    assert_true(trials > 0);
    assert_int_equal(fake_counts()->copies_within, trials * 2 * (1 + 2 + 2)); /* of output and small one */
    assert_int_equal(verdict_of(PLAIN), SPW_REPLAYABLE);
    assert_int_equal(verdict_of(IN_PLACE), SPW_REPLAYABLE);
}

/* Where memory is short, an event is recorded every few operations. */
static void mark(void)
{
    spw_lock();
    assert_int_equal(spw_stream_mark_locked(spw_stream_of_locked(s)), 0);
    spw_unlock();
    let_run();
}

/* What relied on it that nothing was is not good any more. */
static void a_write_through_a_place_that_was_spared_raises_the_version(void **state)
{
    struct spw_writeset *place = spw_writeset_of_place_locked(function_of(COUNTS), SLOT);
    doubtful = 1;
    for (int i = 0; i < SPW_WRITESET_SURE; i++)
        (void)spw_writeset_observed_locked(place, 0, 1);
    assert_true(spw_writeset_is_spared(place));
    assert_false(next_round());
    assert_int_equal(launch(COUNTS), CUDA_SUCCESS);
    mark();
    const struct spw_versioned *slot = spw_versioned_at_locked(of[COUNTS].hits[SLOT], NULL);
    const struct spw_versioned *in = spw_versioned_at_locked(of[COUNTS].hits[IN], NULL);
    const uint64_t slot_was = slot->version, in_was = in->version;
    assert_false(next_round());
    assert_false(spw_writeset_is_spared(place));
    assert_true(slot->version > slot_was);
    assert_int_equal(in->version, in_was);
}

/* The second look need not wait for another iteration, nor memory lie aside while there are only looks. */
static void answers_are_read_as_soon_as_another_launch_of_the_kind_comes(void **state)
{
    const uint64_t before = spw_reclaim_unmovable_bytes_locked(device);
    unsigned number = 0;
    assert_false(next_round());
    for (; number < 3; mark())
        iterate(number++, 1 << PLAIN);
    assert_int_equal(spw_probe_counts_of(probe).looks, 2);
    assert_int_equal(spw_probe_counts_of(probe).trials, 0);
    assert_int_equal(spw_reclaim_unmovable_bytes_locked(device), before);
    assert_false(next_round());
    assert_true(spw_reclaim_unmovable_bytes_locked(device) > before);
    for (; number < 6; mark())
        iterate(number++, 1 << PLAIN);
    assert_int_equal(spw_probe_counts_of(probe).trials, 2);
    assert_true(next_round()); /* that is all */
    assert_int_equal(spw_reclaim_unmovable_bytes_locked(device), before);
    assert_int_equal(verdict_of(PLAIN), SPW_REPLAYABLE);
}

/* A fifth of the budget is allowed for it, less than what launches touch. */
static void begin_without_scratch(void)
{
    static struct spw_course_op op = {.touch_count = 1};
    static struct spw_course_touch touch = {.tensor = 0};
    static struct spw_course_tensor tensor = {.bytes = 4096};
    static struct spw_course_call call = {.function = 1, .hit_count = HITS};
    static const struct spw_course course = {.ops = &op,
                                             .touches = &touch,
                                             .tensors = &tensor,
                                             .calls = &call,
                                             .op_count = 1,
                                             .tensor_count = 1,
                                             .touch_count = 1};
    const uint64_t budget = device->handles.budget_bytes;
    assert_true(spw_scratch_leaves_room_locked(device, &course));
    device->handles.budget_bytes = spw_reclaim_unmovable_bytes_locked(device) + tensor.bytes + device->small_bytes +
                                   SPW_DIGEST_SLOTS * sizeof(struct spw_hash);
    assert_true(spw_scratch_leaves_room_locked(device, &course));
    device->handles.budget_bytes--;
    assert_false(spw_scratch_leaves_room_locked(device, &course));
    device->handles.budget_bytes = 5 * BYTES;
    spw_lock();
    spw_probe_begin(probe, &course, 1e6);
    spw_unlock();
    device->handles.budget_bytes = budget;
}

static void without_room_for_scratch_and_host_memory_it_is_too_large(void **state)
{
    (void)end_trials(NULL);
    host_budget = SPW_PROBE_SNAPSHOT_HOST_SHARE * BYTES;
    (void)begin_trials(NULL);
    host_budget = HOST;
    begin_without_scratch();
    learn(1 << PLAIN);
    assert_int_equal(verdict_of(PLAIN), SPW_REPLAY_TOO_LARGE);
    assert_int_equal(submits, 0);
}

/* What is put aside goes to the host then, once no smaller launch of the kind has come in a whole iteration. */
static void without_room_for_scratch_memory_the_host_serves(void **state)
{
    begin_without_scratch();
    unsigned number = 0;
    while (!next_round())
        iterate(number++, 1 << PLAIN | 1 << IN_PLACE | 1 << VARIES);
    assert_int_equal(verdict_of(PLAIN), SPW_REPLAYABLE);
    assert_int_equal(verdict_of(IN_PLACE), SPW_REPLAYABLE);
    assert_int_equal(verdict_of(VARIES), SPW_REPLAY_DIFFERS);
}

/* Each iteration has an operation that needs all there is, between PLAIN and IN_PLACE. */
static void scratch_memory_that_goes_each_time_serves_those_before_it(void **state)
{
    unsigned number = 0;
    while (!next_round()) {
        assert_true(number < ROUNDS);
        iterate(number, 1 << PLAIN);
        spw_lock();
        (void)spw_probe_give_up_scratch_locked(probe);
        assert_false(spw_probe_give_up_scratch_locked(probe));
        spw_unlock();
        iterate(number++, 1 << IN_PLACE);
    }
    assert_int_equal(verdict_of(PLAIN), SPW_REPLAYABLE);
    assert_int_equal(verdict_of(IN_PLACE), SPW_REPLAY_NOT_TRIED);
}

/* Nobody knows that it is padding: it may differ from what it was in any probe. */
static void what_differed_in_trials_that_were_right_may_differ(void **state)
{
    unsigned number = 0;
    while (!next_round()) {
        assert_true(number < ROUNDS);
        padding = 1000 + number;
        iterate(number++, 1 << PLAIN | 1 << REMEMBERS);
    }
    padding = 77;
    assert_true(is_trusted(PLAIN));
    assert_false(is_trusted(REMEMBERS));
    assert_false(is_trusted(IN_PLACE));
}

static void what_was_the_same_in_all_trials_may_not_differ(void **state)
{
    learn(1 << PLAIN);
    assert_true(is_trusted(PLAIN));
    padding = 77;
    assert_false(is_trusted(PLAIN));
}

/* ---- what fails ---- */

static void a_launch_that_the_driver_refused_is_not_tried(void **state)
{
    for (unsigned good = 0; good < 6; good++) {
        for (unsigned i = 0; i < good && !next_round(); i++)
            iterate(i, 1 << COUNTS);
        const unsigned before = submits;
        refused = true;
        for (unsigned i = 0; i < 4 && !next_round(); i++) {
            assert_int_equal(launch(COUNTS), CUDA_ERROR_LAUNCH_FAILED);
            expect_all(COUNTS);
            let_run();
        }
        refused = false;
        assert_int_equal(submits, before);
        (void)end_trials(NULL);
        (void)begin_trials(NULL);
    }
}

/* Each replay of each probe in turn. */
static void a_replay_that_is_refused_leaves_all_as_it_was(void **state)
{
    for (unsigned n = 1; n <= 3; n++) {
        refuse_submits = submits + n;
        learn(1 << COUNTS | 1 << IN_PLACE);
        assert_true(spw_probe_counts_of(probe).failures > 0);
        assert_int_equal(verdict_of(COUNTS), SPW_REPLAYABLE); /* the next attempt tells */
        (void)end_trials(NULL);
        (void)begin_trials(NULL);
    }
}

/* Every driver call that learning makes fails once. The program's launches are right all the same, what is said of kernels
 * is right or nothing, and nothing is held. */
static void a_call_that_fails_once_costs_an_answer_at_most(void **state)
{
    static const char *const names[] = {"cuMemcpyDtoDAsync_v2", "cuMemsetD8Async", "cuLaunchKernel", "cuMemcpyDtoHAsync_v2",
                                        "cuMemCreate",          "cuMemMap",        "cuMemSetAccess", "cuEventRecord",
                                        "cuEventCreate",        "cuMemAlloc_v2",   "cuMemHostAlloc", "cuModuleLoadData"};
    static const unsigned kernels = 1 << COUNTS | 1 << IN_PLACE; /* the first few calls are made in each probe */
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        for (unsigned n = 1; n <= (i < EVERY_TIME ? 40 : 8); n++) {
            fake_fail(names[i], n, CUDA_ERROR_OUT_OF_MEMORY, false);
            learn(kernels);
            fake_fail("", 0, CUDA_SUCCESS, false);
            assert_true(verdict_of(COUNTS) == SPW_REPLAYABLE || verdict_of(COUNTS) == SPW_REPLAY_NOT_TRIED);
            assert_true(verdict_of(IN_PLACE) == SPW_REPLAYABLE || verdict_of(IN_PLACE) == SPW_REPLAY_NOT_TRIED);
            assert_int_equal(spw_digests_held_locked(device), 0);
            check_blocks();
            (void)end_trials(NULL);
            (void)begin_trials(NULL);
        }
}

/* From the n-th copy on none is taken: everything is as the launch left it, or the program is told that it failed. */
static void what_cannot_be_put_back_is_told_to_the_program(void **state)
{
    unsigned told = 0;
    for (unsigned n = 1; n <= 30; n++) {
        CUresult r = CUDA_SUCCESS;
        fake_fail("cuMemcpyDtoDAsync_v2", n, CUDA_ERROR_OUT_OF_MEMORY, true);
        for (unsigned i = 0; i < ROUNDS && r == CUDA_SUCCESS && !next_round(); i++) {
            put(of[COUNTS].hits[IN], BYTES, (unsigned char)(3 + i), &of[COUNTS].holds[IN]);
            r = launch(COUNTS);
            if (r == CUDA_SUCCESS)
                expect_all(COUNTS);
            let_run();
        }
        told += r != CUDA_SUCCESS;
        assert_true(r == CUDA_SUCCESS || r == CUDA_ERROR_LAUNCH_FAILED);
        assert_int_equal(spw_digests_held_locked(device), 0);
        (void)end_trials(NULL);
        (void)begin_trials(NULL);
    }
    assert_true(told > 5);
}

static void without_digests_nothing_is_learned_and_nothing_is_broken(void **state)
{
    fake_fail("cuModuleLoadData", 1, CUDA_ERROR_NOT_SUPPORTED, true);
    for (unsigned i = 0; i < 30 && !next_round(); i++)
        iterate(i, ~0u);
    assert_int_equal(submits, 0);
    for (enum kernel k = 0; k < KERNELS; k++)
        assert_int_equal(verdict_of(k), SPW_REPLAY_NOT_TRIED);
}

/* It ends in the middle: answers may still be awaited. */
static void learning_that_ends_early_gives_everything_back(void **state)
{
    const uint64_t live = device->live_bytes;
    for (unsigned rounds = 1; rounds <= 4; rounds++) {
        for (unsigned i = 0; i < rounds; i++) {
            (void)next_round();
            put(of[COUNTS].hits[IN], BYTES, (unsigned char)(3 + i), &of[COUNTS].holds[IN]);
            assert_int_equal(launch(COUNTS), CUDA_SUCCESS);
            expect_all(COUNTS);
        }
        pthread_mutex_lock(&device->slow);
        spw_lock();
        spw_probe_end(probe);
        assert_int_equal(device->live_bytes, live);
        spw_probe_destroy(probe);
        assert_int_equal(spw_digests_held_locked(device), 0);
        probe = spw_probe_create(device);
        spw_unlock();
        pthread_mutex_unlock(&device->slow);
        assert_non_null(probe);
        begin_learning();
        let_run();
    }
}

/* Once it is pinned, a graph or whoever else knows the address may write it, and nobody counts that. */
static void what_is_pinned_is_not_taken_for_undefined(void **state)
{
    static const unsigned pinned[] = {IN, SLOT};
    for (unsigned i = 0; i < 2; i++) {
        CUdeviceptr *a = &of[PLAIN].hits[pinned[i]];
        *a = allocate(bytes_of(pinned[i])); /* nobody has written it */
        spw_pin_address(*a, "this is a test");
        put(*a, bytes_of(pinned[i]), 77, &of[PLAIN].holds[pinned[i]]);
    }
    learn(1 << PLAIN);
    assert_int_equal(verdict_of(PLAIN), SPW_REPLAYABLE);
}

static void end_learning(void)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    spw_probe_end(probe);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
}

/* What the launch is to be shown again lies in scratch memory, which somebody else may be given then. */
static void learning_that_another_thread_ends_during_a_launch_ends_behind_it(void **state)
{
    const uint64_t live = device->live_bytes;
    meanwhile = end_learning;
    for (unsigned round = 0; !next_round(); round++) {
        assert_true(round < ROUNDS);
        iterate(round, 1 << IN_PLACE);
        spw_lock();
        assert_int_equal(device->live_bytes, live);
        spw_unlock();
    }
    assert_int_equal(verdict_of(IN_PLACE), SPW_REPLAYABLE);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_trials, end_trials)
    const struct CMUnitTest tests[] = {
        TEST(each_kind_of_kernel_is_found_out),
        TEST(what_is_behind_a_doubted_place_is_looked_at_and_says_nothing_of_the_rest),
        TEST(what_is_written_otherwise_says_nothing_of_a_doubted_place),
        TEST(a_write_through_a_place_that_was_spared_raises_the_version),
        TEST(nothing_is_left_behind),
        TEST(a_trial_costs_what_is_said_of_it),
        TEST(what_a_kernel_only_reads_by_its_type_is_not_put_aside),
        TEST(answers_are_read_as_soon_as_another_launch_of_the_kind_comes),
        TEST(without_room_for_scratch_and_host_memory_it_is_too_large),
        TEST(without_room_for_scratch_memory_the_host_serves),
        TEST(scratch_memory_that_goes_each_time_serves_those_before_it),
        TEST(what_differed_in_trials_that_were_right_may_differ),
        TEST(what_was_the_same_in_all_trials_may_not_differ),
        TEST(a_launch_that_the_driver_refused_is_not_tried),
        TEST(a_replay_that_is_refused_leaves_all_as_it_was),
        TEST(a_call_that_fails_once_costs_an_answer_at_most),
        TEST(what_cannot_be_put_back_is_told_to_the_program),
        TEST(without_digests_nothing_is_learned_and_nothing_is_broken),
        TEST(learning_that_ends_early_gives_everything_back),
        TEST(learning_that_another_thread_ends_during_a_launch_ends_behind_it),
        TEST(what_is_pinned_is_not_taken_for_undefined),
    };
    fake_eager(argc > 1);
    return cmocka_run_group_tests_name("trial", tests, NULL, NULL);
}
