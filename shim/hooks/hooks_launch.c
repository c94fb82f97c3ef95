/* hooks_launch.c - kernel launches: makes everything resident that their parameters may point to before they are
 * submitted. */
#include <stdlib.h>

#include "engine.h"
#include "capture.h"
#include "hooks_graph.h"
#include "hooks.h"
#include "layout.h"
#include "pin.h"
#include "fast_path.h"
#include "result.h"
#include "scan.h"
#include "seek.h"
#include "filled.h"
#include "known_reads.h"
#include "call_args.h"
#include "pointer_tables.h"
#include "probe.h"
#include "reclaim.h"
#include "settings.h"
#include "unnamed.h"
#include "versions.h"

/* This room suffices for nearly every launch; a longer list of hits is collected again with room for all. */
enum { HITS = SPW_SCAN_DOUBTED_HITS };

struct launch {
    struct spw_op op;
    struct spw_call_args submission;
    struct spw_filled *filled; /* NULL: the parameters are looked at as the program passed them */
    CUdeviceptr hits[HITS];
    struct spw_scan_doubted doubted;
    bool begun;
};

/* A launch on a capturing stream becomes part of a graph: what it touches is pinned. */
static CUresult begin_captured(const struct spw_launch *launch, void **params, void **extra)
{
    spw_pin_failure = 0;
    spw_pin_launch(launch->function, params, extra);
    for (unsigned i = 0; i < launch->attribute_count; i++)
        spw_pin_launch_attribute(launch->attributes[i].id, &launch->attributes[i].value);
    return spw_cuda(spw_pin_failure);
}

/* Describes what the driver will be told, whatever form the launch has. */
static const struct spw_call_args *describe(struct launch *l, const struct spw_layout *layout,
                                            const struct spw_launch *launch, void **params, void **extra)
{
    l->submission.kind = SPW_SUBMIT_LAUNCH;
    l->submission.launch.function = launch->function;
    l->submission.launch.layout = layout;
    l->submission.launch.params = params;
    l->submission.launch.extra = extra;
    l->submission.launch.doubted = l->doubted.places + (l->op.count - l->op.doubtful);
    l->submission.launch.doubted_count = l->op.doubtful;
    l->submission.launch.config = (CUlaunchConfig){.gridDimX = launch->grid[0],
                                                   .gridDimY = launch->grid[1],
                                                   .gridDimZ = launch->grid[2],
                                                   .blockDimX = launch->block[0],
                                                   .blockDimY = launch->block[1],
                                                   .blockDimZ = launch->block[2],
                                                   .sharedMemBytes = launch->shared_bytes,
                                                   .attrs = launch->attributes,
                                                   .numAttrs = launch->attribute_count};
    return &l->submission;
}

/* Collects the addresses in the launch's parameters, in the list that `l` has for them. */
static int scan(struct launch *l, const struct spw_layout *layout, void **params, void **extra)
{
    spw_scan_doubted_init(&l->doubted);
    l->doubted.filled = l->filled != NULL;
    return spw_scan_launch(layout, params, extra, spw_arena_low, spw_arena_high, l->op.hits, l->op.room, &l->doubted);
}

/* The same in a list with room for all. */
static __attribute__((noinline)) int scan_many(struct launch *l, const struct spw_layout *layout, void **params,
                                               void **extra)
{
    l->op.long_hits = malloc(SPW_SCAN_ROOM * sizeof(*l->op.long_hits));
    if (!l->op.long_hits)
        return -E2BIG;
    l->op.hits = l->op.long_hits;
    l->op.room = SPW_SCAN_ROOM;
    return scan(l, layout, params, extra);
}

/* Frees what was allocated for a longer list. */
static __attribute__((noinline)) void free_lists(struct launch *l)
{
    free(l->op.long_hits);
    free(l->filled);
}

/* Begins any launch: first lists what it may touch. In known structures (structs.h) everything here looks only at what is
 * in use; the driver gets what the program passed. */
static CUresult begin_scanned(struct launch *l, const struct spw_layout *layout, const char *name,
                              const struct spw_launch *launch, void **params, void **extra)
{
    l->op.doubted = &l->doubted;
    l->filled = layout->struct_count ? spw_structs_filled(layout, launch->grid, params, extra) : NULL;
    l->op.long_hits = NULL;
    l->op.hits = l->hits;
    l->op.room = HITS;
    if (__builtin_expect(l->filled != NULL, 0)) {
        params = l->filled->params;
        extra = l->filled->extra;
        l->op.hits = l->filled->hits;
        l->op.room = SPW_SCAN_ROOM;
    }
    int n = scan(l, layout, params, extra);
    if (__builtin_expect(n == -E2BIG && l->op.room == HITS, 0))
        n = scan_many(l, layout, params, extra);
    l->op.count = n < 0 ? 0 : (unsigned)n;
    l->op.doubtful = n < 0 ? 0 : spw_scan_part(&l->doubted, l->op.hits, (unsigned)n);
    l->op.read_only = 0;
    l->op.follows_no_tables = false;
    l->op.everything = n < 0;
    l->op.function = launch->function;
    l->op.name = name;
    l->op.signature = spw_launch_signature(launch);
    l->op.submission = spw_versions_kept ? describe(l, layout, launch, params, extra) : NULL;
    int r = spw_op_begin(&l->op);
    l->begun = r == 0;
    if (l->begun)
        spw_duration_before(l->op.timed);
    else if (l->op.room != HITS)
        free_lists(l);
    return r == -ENODEV ? CUDA_SUCCESS : spw_cuda(r); /* no such stream: the driver says so */
}

/* CUDA_SUCCESS: submit it, then end_launch(). Anything else is the answer to the program. */
static __attribute__((noinline)) CUresult begin_launch(struct launch *l, const char *name, const struct spw_launch *launch,
                                                       CUstream stream, void **params, void **extra)
{
    l->begun = false;
    if (spw_is_capturing(stream))
        return begin_captured(launch, params, extra);
    l->op.handle = stream;
    return begin_scanned(l, spw_layout_of(launch->function), name, launch, params, extra);
}

static CUresult end_launch(struct launch *l, CUresult result)
{
    if (l->begun) {
        spw_duration_after(l->op.timed, result == CUDA_SUCCESS);
        if (__builtin_expect(l->op.probe != NULL, 0))
            result = spw_probe_after(&l->op, result);
        if (result == CUDA_SUCCESS && spw_seek_wants_launch(&l->op))
            spw_seek_launched(&l->op);
        if (spw_settings_get()->probe)
            spw_known_reads_note(&l->op, result == CUDA_SUCCESS);
        spw_op_answered(&l->op, result == CUDA_SUCCESS);
        if (__builtin_expect(l->op.room != HITS, 0))
            free_lists(l);
    }
    return result;
}

/* Begins the usual launch, of a few words with everything resident. NULL: it is not one, and begin_launch() decides. */
static inline __attribute__((always_inline)) struct spw_stream *begin_plain(const struct spw_launch launch, CUstream stream,
                                                                            void **params, void **extra)
{
    if (spw_is_capturing(stream) || extra || !params)
        return NULL;
    const struct spw_layout *layout = spw_layout_of(launch.function);
    return layout->plain ? spw_fast_path_launch(&launch, stream, layout, params) : NULL;
}

static inline CUresult end_plain(struct spw_stream *s, CUresult result)
{
    spw_op_end_on(s);
    return result;
}

/* Made anew where it is needed, so that the usual launch keeps it in registers. */
static inline struct spw_launch launch_with(CUfunction f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ,
                                            unsigned blockDimX, unsigned blockDimY, unsigned blockDimZ,
                                            unsigned sharedMemBytes)
{
    return (struct spw_launch){f,   {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes, 0,
                               NULL};
}

/* Returns the launch with the attribute that runs all blocks at once. */
static inline struct spw_launch cooperative(struct spw_launch launch)
{
    static CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    launch.attributes = &attribute;
    launch.attribute_count = 1;
    return launch;
}

static inline struct spw_launch launch_of(const CUlaunchConfig *c, CUfunction f)
{
    return (struct spw_launch){f,
                               {c->gridDimX, c->gridDimY, c->gridDimZ},
                               {c->blockDimX, c->blockDimY, c->blockDimZ},
                               c->sharedMemBytes,
                               c->numAttrs,
                               c->attrs};
}

static inline struct spw_launch as_it_is(struct spw_launch launch)
{
    return launch;
}

/* With programmatic dependent launch, a launch may begin before the kernel ahead of it has ended, and waits for that kernel
 * itself where it has to: the program knows which kernel that is. Once memory has been short it may be one of ours, of
 * which the program knows nothing. And if the program has allocated between the two, which is no operation here, the launch
 * may use memory that the other still uses. Then it is made without the permission, which orders it more strictly. */
struct strict {
    CUlaunchConfig config;
    CUlaunchAttribute attributes[32]; /* more than there are kinds */
};

static bool may_overlap(const CUlaunchConfig *c)
{
    for (unsigned i = 0; i < c->numAttrs; i++)
        if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            return c->numAttrs <= sizeof((struct strict *)0)->attributes / sizeof(*c->attrs);
    return false;
}

static __attribute__((noinline)) const CUlaunchConfig *without_overlap(const CUlaunchConfig *c, struct strict *ret)
{
    ret->config = *c;
    ret->config.attrs = ret->attributes;
    for (unsigned i = 0; i < c->numAttrs; i++) {
        ret->attributes[i] = c->attrs[i];
        if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            ret->attributes[i].value.programmaticStreamSerializationAllowed = 0;
    }
    return &ret->config;
}

/* Returns true if what is directly ahead of the launch that was last begun on the stream may not be the kernel that the
 * program has launched ahead of it. */
static bool is_behind_something_else(CUstream stream)
{
    if (__atomic_load_n(&spw_reclaim_pressed, __ATOMIC_RELAXED))
        return true;
    spw_lock();
    const struct spw_stream *s = spw_stream_of_locked(stream);
    const bool is_given_memory = !s || s->allocated == s->begun;
    spw_unlock();
    return is_given_memory;
}

static inline const CUlaunchConfig *in_order(const CUlaunchConfig *c, bool per_thread, struct strict *room)
{
    if (!c || !c->numAttrs || !may_overlap(c))
        return c;
    const CUstream stream = per_thread ? spw_per_thread(c->hStream) : c->hStream;
    return spw_is_capturing(stream) || !is_behind_something_else(stream) ? c : without_overlap(c, room);
}

/* ---- one line per driver call: whether it says what is launched, what that is and in which form, on which stream ---- */

/* clang-format off */
#define LAUNCH(symbol, name, parameters, args, is_said, what, form, stream, params, extra) \
    CUresult spw_on_##symbol parameters \
    { \
        struct strict strict; \
        (void)strict; \
        if (!(is_said)) \
            return spw_driver.symbol args; \
        struct spw_stream *plain = begin_plain(what, stream, params, extra); \
        if (plain) \
            return end_plain(plain, spw_driver.symbol args); \
        struct launch l; \
        const struct spw_launch said = form(what); \
        CUresult r = begin_launch(&l, name, &said, stream, params, extra); \
        return r != CUDA_SUCCESS ? r : end_launch(&l, spw_driver.symbol args); \
    }

#define SIZES unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz, unsigned int bytes
#define GIVEN gx, gy, gz, bx, by, bz, bytes
#define KERNEL (CUfunction f, SIZES, CUstream t, void **p, void **e)
#define KERNEL_EX (const CUlaunchConfig *c, CUfunction f, void **p, void **e)
#define COOPERATIVE (CUfunction f, SIZES, CUstream t, void **p)
LAUNCH(cuLaunchKernel, "cuLaunchKernel", KERNEL, (f, GIVEN, t, p, e), true, launch_with(f, GIVEN), as_it_is, t, p, e)
LAUNCH(cuLaunchKernel_ptsz, "cuLaunchKernel", KERNEL, (f, GIVEN, t, p, e), true, launch_with(f, GIVEN), as_it_is, spw_per_thread(t), p, e)
LAUNCH(cuLaunchKernelEx, "cuLaunchKernelEx", KERNEL_EX, (in_order(c, false, &strict), f, p, e), c, launch_of(c, f), as_it_is, c->hStream, p, e)
LAUNCH(cuLaunchKernelEx_ptsz, "cuLaunchKernelEx", KERNEL_EX, (in_order(c, true, &strict), f, p, e), c, launch_of(c, f), as_it_is, spw_per_thread(c->hStream), p, e)
LAUNCH(cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", COOPERATIVE, (f, GIVEN, t, p), true, launch_with(f, GIVEN), cooperative, t, p, NULL)
LAUNCH(cuLaunchCooperativeKernel_ptsz, "cuLaunchCooperativeKernel", COOPERATIVE, (f, GIVEN, t, p), true, launch_with(f, GIVEN), cooperative, spw_per_thread(t), p, NULL)
/* clang-format on */

/* ---- launches whose parameters were set in calls before: everything may be touched ---- */

static CUresult begin_unparsed(struct launch *l, const char *name, CUfunction f, CUstream stream)
{
    const struct spw_launch launch = {.function = f};
    return begin_launch(l, name, &launch, stream, NULL, NULL);
}

#define LAUNCH_UNPARSED(symbol, parameters, args, stream) \
    CUresult spw_on_##symbol parameters \
    { \
        struct launch l; \
        CUresult r = begin_unparsed(&l, #symbol, f, stream); \
        return r != CUDA_SUCCESS ? r : end_launch(&l, spw_driver.symbol args); \
    }
LAUNCH_UNPARSED(cuLaunch, (CUfunction f), (f), NULL)
LAUNCH_UNPARSED(cuLaunchGrid, (CUfunction f, int width, int height), (f, width, height), NULL)
LAUNCH_UNPARSED(cuLaunchGridAsync, (CUfunction f, int width, int height, CUstream t), (f, width, height, t), t)

/* One launch per device, all or none. Everything is pinned from then on, since their streams begin together. */
CUresult spw_on_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *launchParamsList, unsigned int numDevices,
                                                     unsigned int flags)
{
    static const char name[] = "cuLaunchCooperativeKernelMultiDevice";
    struct spw_op ops[SPW_MAX_DEVICES];
    bool begun[SPW_MAX_DEVICES];
    const unsigned count = !launchParamsList ? 0 : numDevices < SPW_MAX_DEVICES ? numDevices : SPW_MAX_DEVICES;
    spw_pin_failure = 0;
    spw_pin_everything("a kernel was launched on several devices at once");
    if (spw_pin_failure < 0)
        return spw_cuda(spw_pin_failure);
    for (unsigned i = 0; i < count; i++) {
        const struct spw_launch launch = {.function = launchParamsList[i].function};
        begun[i] = spw_unnamed_begin(&ops[i], name, spw_launch_signature(&launch), launchParamsList[i].hStream);
    }
    const CUresult r = spw_driver.cuLaunchCooperativeKernelMultiDevice(launchParamsList, numDevices, flags);
    for (unsigned i = 0; i < count; i++)
        if (begun[i])
            (void)spw_unnamed_end(&ops[i], r);
    return r;
}
