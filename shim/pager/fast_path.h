/* fast_path.h - the path that nearly every launch takes: everything it may touch is resident, and a few instructions note
 * that it is used.
 *
 * It is in a header to be inlined into the launching hook: what it costs, every kernel launch of the program costs. */
#ifndef SPILLWAY_SHIM_FAST_PATH_H
#define SPILLWAY_SHIM_FAST_PATH_H
#include "layout.h"
#include "ledger.h"
#include "lock.h"
#include "follower.h"
#include "place.h"
#include "status.h"
#include "pointer_tables.h"

/* What a use is noted with. The arena of device 0 is at hand, since most programs use no other device. */
struct spw_fast_path {
    CUdeviceptr arena, low; /* `low` is the lowest address of all arenas */
    uint64_t arena_bytes, all_bytes;
    unsigned shift;
    struct spw_object **table;
    struct spw_stream *stream;
    uint64_t plain; /* the word of an object that needs no attention and that this stream used last */
    uint64_t number, tick;
};

static inline void spw_fast_path_begin(struct spw_fast_path *q, struct spw_stream *s)
{
    q->arena = spw_devices[0].arena;
    q->arena_bytes = spw_devices[0].arena_bytes;
    q->low = spw_arena_low;
    q->all_bytes = spw_arena_high - spw_arena_low;
    q->shift = spw_devices[0].granule_shift;
    q->table = spw_devices[0].table;
    q->stream = s;
    q->plain = spw_object_plain_for(s->id);
    q->number = spw_stream_next_locked(s);
    q->tick = ++spw_tick;
}

/* The same as spw_fast_path_use(), for an address outside of the first arena, or an object that another stream used last or
 * that needs attention. */
bool spw_fast_path_use_rarely(struct spw_stream *s, uint64_t number, uint64_t tick, CUdeviceptr a, bool writes)
    __attribute__((cold));

/* Notes the use of the object at an address. Returns false if it needs a closer look. Ignores an address at which nothing
 * lies, or a cached block: such a word only looks like an address, or is a stale one. If a later address of the operation
 * needs the closer look, the uses noted so far stay. They do no harm: they claim a use by a number that no operation will
 * have. */
static inline bool spw_fast_path_use(const struct spw_fast_path *q, CUdeviceptr a, bool writes)
{
    uint64_t offset = a - q->arena;
    if (__builtin_expect(offset >= q->arena_bytes, 0))
        return a - q->low >= q->all_bytes || spw_fast_path_use_rarely(q->stream, q->number, q->tick, a, writes);
    struct spw_object *o = q->table[offset >> q->shift];
    if (!o)
        return true;
    if (__builtin_expect(!spw_object_is_plain(o, q->plain), 0))
        return spw_fast_path_use_rarely(q->stream, q->number, q->tick, a, writes);
    spw_object_use(o, q->tick, writes);
    o->uses.number[0] = q->number;
    return true;
}

static inline bool spw_fast_path_words(const struct spw_fast_path q, const struct spw_layout *layout, void *const *params)
{
    const uint16_t *w = layout->words;
    for (unsigned left = layout->word_count; left; left--, w++) {
        CUdeviceptr a;
        memcpy(&a, params[*w], sizeof(a));
        if (!spw_fast_path_use(&q, a, true))
            return false;
    }
    return true;
}

/* What a launch is recognised by. */
struct spw_launch {
    CUfunction function;
    unsigned grid[3], block[3], shared_bytes;
    unsigned attribute_count; /* further attributes for the driver; the launch is not recognised by these */
    CUlaunchAttribute *attributes;
};

static inline struct spw_signature spw_launch_signature(const struct spw_launch *l)
{
    const uint64_t grid = (uint64_t)l->grid[0] << 32 ^ (uint64_t)l->grid[1] << 16 ^ l->grid[2];
    const uint64_t block = (uint64_t)l->block[0] << 32 ^ (uint64_t)l->block[1] << 16 ^ l->block[2];
    return (struct spw_signature){SPW_ITERATION_LAUNCH, (uint64_t)(uintptr_t)l->function,
                                  spw_signature_mix(spw_signature_mix(grid, l->shared_bytes), block)};
}

static inline __attribute__((always_inline)) bool spw_fast_path_uses(struct spw_fast_path *ret_q, struct spw_stream *s,
                                                                     const struct spw_layout *layout, void *const *params)
{
    spw_fast_path_begin(ret_q, s);
    return spw_fast_path_words(*ret_q, layout, params);
}

/* The same while a plan follower is told of operations: only for the launch that is expected next. For any other nothing is
 * noted, since the closer look may know better what it writes. */
static inline __attribute__((always_inline)) bool
spw_fast_path_planned_uses(struct spw_fast_path *ret_q, struct spw_stream *s, const struct spw_launch *launch,
                           const struct spw_layout *layout, void *const *params)
{
    const struct spw_signature signature = spw_launch_signature(launch);
    if (!spw_plan_follower_expects(s, spw_signature_key(&signature)) || !spw_fast_path_uses(ret_q, s, layout, params))
        return false;
    spw_plan_follower_advance(s);
    return true;
}

/* Begins a launch in which every parameter that could be an address is one word (the layout has no spans). Returns the
 * stream on which it was numbered; spw_op_end_on() has to follow. NULL: it needs a closer look, use spw_op_begin(). */
static inline __attribute__((always_inline)) struct spw_stream *
spw_fast_path_launch(const struct spw_launch *launch, CUstream handle, const struct spw_layout *layout, void *const *params)
{
    struct spw_fast_path q;
    spw_lock();
    struct spw_stream *s = spw_stream_of_locked(handle);
    if (s && !spw_pointer_tables_any() &&
        (spw_plan_follower_any ? spw_fast_path_planned_uses(&q, s, launch, layout, params)
                               : spw_fast_path_uses(&q, s, layout, params))) {
        atomic_fetch_add_explicit(&s->in_call, 1, memory_order_acquire); /* no mark is recorded in between */
        if (SPW_STATUS_IS_TIME(q.tick))
            spw_status_publish_locked(false);
        spw_unlock();
        return s;
    }
    spw_unlock();
    return NULL;
}
#endif
