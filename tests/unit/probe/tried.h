/* tried.h - what the tests of trials share: kernels of each kind, and a program that launches them. */
#ifndef SPILLWAY_TESTS_TRIED_H
#define SPILLWAY_TESTS_TRIED_H
#include "pin.h"
#include "probe_snapshot.h"
#include "carried.h"
#include "course/course.h"
#include "layout.h"
#include "recorded_op.h"
#include "scratch.h"
#include "call_args.h"
#include "probe.h"
#include "unmanaged.h"
#include "versions.h"
#include "launch_class.h"

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
    uint64_t places;           /* with the function, the class of launches */
} of[KERNELS];
static unsigned char clock_now;
static unsigned doubtful;                /* of a launch's addresses the last so many */
static unsigned refuse_submits, submits; /* the n-th of them fails; so many were made */
static bool refused;                     /* the program's launch is */
static const uint32_t padding;           /* behind the parameters, for nobody to look at */

static inline CUfunction function_of(enum kernel k)
{
    return (CUfunction)(uintptr_t)(0x100 + 16 * k);
}

static inline CUresult no_name(const char **name, CUfunction f)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- kernels ---- */

static inline bool reads_its_output(enum kernel k)
{
    return k == IN_PLACE;
}

static inline unsigned char salt_of(enum kernel k, bool again)
{
    return k == VARIES ? ++clock_now : k == REMEMBERS && again ? 77 : (unsigned char)(k + 1);
}

static inline CUresult run(enum kernel k, CUstream stream, bool again, unsigned char salt)
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
static inline void follow(enum kernel k, unsigned char salt)
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

static inline void put(CUdeviceptr a, size_t bytes, unsigned char value, unsigned char *holds)
{
    assert_int_equal(fill_on(s, a, bytes, value), 0);
    *holds = value;
}

static inline size_t bytes_of(unsigned hit)
{
    return hit == SLOT ? SLOT_BYTES : BYTES;
}

static struct spw_saved_variables held; /* what the module's variables held before each launch */

/* As far as probes look at what is kept of a launch. */
static inline struct spw_recorded_op kept(enum kernel k, const struct spw_call_args *submission,
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
                                    .variables = held,
                                    .submission = spw_call_args_keep(submission, memory)};
}

/* The launch as the driver is told of it. */
static inline struct spw_call_args submission_of(enum kernel k, void *values[])
{
    static const uint16_t words[] = {0, 1, 2};
    static const struct spw_param params[] = {{0, 8}, {8, 8}, {16, 8}, {24, 4}};
    static const struct spw_layout layout = {
        .known = true, .param_count = HITS + 1, .word_count = HITS, .image_bytes = 28, .words = words, .params = params};
    struct spw_call_args submission = {.kind = SPW_SUBMIT_LAUNCH};
    for (unsigned i = 0; i < HITS; i++)
        values[i] = &of[k].hits[i];
    values[HITS] = (void *)(uintptr_t)&padding;
    submission.launch.function = function_of(k);
    submission.launch.layout = &layout;
    submission.launch.params = values;
    submission.launch.doubted = words + HITS - doubtful;
    submission.launch.doubted_count = doubtful;
    return submission;
}

static void (*meanwhile)(void); /* what another thread does while the driver takes the launch */

/* Launched by the program on that stream, with what the library does around it. What the program is told. */
static inline CUresult launch(enum kernel k)
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
    assert_non_null(op.class);
    of[k].places = op.class->places;
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

static inline void expect_all(enum kernel k)
{
    for (unsigned i = 0; i < HITS; i++)
        assert_int_equal(expect_on(s, of[k].hits[i], bytes_of(i), of[k].holds[i]), 0);
}

static inline bool next_iteration(void)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    const bool complete = spw_probe_iteration_unlocking(probe);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    return complete;
}

/* An iteration in which each of these kernels is launched once, on something else than before. */
static inline void iterate(unsigned number, unsigned kernels)
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

static inline void learn(unsigned kernels)
{
    unsigned number = 0;
    while (!next_iteration()) {
        assert_true(number < ROUNDS);
        iterate(number++, kernels);
    }
}

static inline const struct spw_launch_class *class_of(enum kernel k)
{
    return of[k].places ? spw_launch_class_of_locked(function_of(k), of[k].places, HITS) : NULL;
}

static inline enum spw_replay_verdict verdict_of(enum kernel k)
{
    spw_lock();
    const enum spw_replay_verdict verdict = spw_probe_verdict_locked(class_of(k), device);
    spw_unlock();
    return verdict;
}

static inline void begin_learning(void)
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

static inline int begin_trials(void **state)
{
    (void)state;
    begin(BUDGET, host_budget);
    spw_digest_charge = spw_unmanaged_take_locked; /* as it is by the time that anything is tried */
    spw_driver.cuFuncGetName = no_name;
    spw_launch_classes_reset();
    spw_lock();
    spw_versions_keep_locked(false);
    spw_versions_keep_locked(true);
    probe = spw_probe_create(device);
    spw_unlock();
    assert_non_null(probe);
    memset(of, 0, sizeof(of));
    clock_now = 0;
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

static inline int end_trials(void **state)
{
    (void)state;
    fake_fail("", 0, CUDA_SUCCESS, false);
    spw_lock();
    spw_probe_destroy(probe);
    probe = NULL;
    spw_unlock();
    return 0;
}
#endif
