/* replayed.h - what the tests of replays share: operations on the fake device that are kept such that they can run again,
 * and what holds of all that is needed for that. */
#ifndef SPILLWAY_TESTS_REPLAYED_H
#define SPILLWAY_TESTS_REPLAYED_H
#include "carried.h"
#include "dependents.h"
#include "kept_ops.h"
#include "plan/own.h"
#include "read_check.h"
#include "replay.h"
#include "settings.h"
#include "slab.h"
#include "stash.h"

#define SLOT_BYTES ((size_t)256)
enum { CHANGED = 0x77 };

/* What the stash takes of a budget that leaves so much. */
static inline uint64_t stash_beside(uint64_t budget)
{
    uint64_t bytes = 4096;
    while (spw_stash_bytes(budget + bytes, 4096) > bytes)
        bytes += 4096;
    return bytes;
}

/* All that the shim takes for itself: what digests need, too. */
static inline uint64_t own_beside(uint64_t budget)
{
    const uint64_t digests = SPW_DIGEST_SLOTS * sizeof(struct spw_hash);
    return digests + stash_beside(budget + digests);
}

struct kept { /* as recorded_op.c keeps operations; here they are mixes */
    struct spw_recorded_op recorded_op;
    struct spw_recorded_op_touch touches[FAKE_RANGES];
    struct fake_range ranges[FAKE_RANGES];
    unsigned reads, writes;
    unsigned char salt;
};

static unsigned kept_count; /* that are still held */
static unsigned refuse_submits;
static bool writes_nothing;  /* what runs again */
static bool believes;        /* what is read is only believed not to be written */
static bool chains;          /* what is updated in place can be made again, by all that wrote there */
static CUdeviceptr changes;  /* not 0: it changes that tensor as well, though nobody was ever seen to */
static unsigned char spoils; /* added to the salt of what runs again: not 0, it makes other bytes */

int __wrap_spw_recorded_op_submit_locked(const struct spw_recorded_op *recorded_op, struct spw_stream *stream);
int __wrap_spw_recorded_op_submit_locked(const struct spw_recorded_op *recorded_op, struct spw_stream *stream)
{
    const struct kept *k = (const struct kept *)recorded_op;
    if (refuse_submits && --refuse_submits == 0)
        return -EIO;
    for (unsigned i = 0; i < recorded_op->touch_count; i++)
        assert_false(spw_object_at_locked(recorded_op->touches[i].address)->attention & SPW_ABSENT);
    if (changes)
        fake_fill(stream->handle, changes, BYTES, CHANGED);
    if (writes_nothing)
        return 0;
    return fake_mix(stream->handle, k->ranges, k->reads, k->writes, (unsigned char)(k->salt + spoils)) == CUDA_SUCCESS
               ? 0
               : -EIO;
}

void __wrap_spw_recorded_op_hold(struct spw_recorded_op *recorded_op);
void __wrap_spw_recorded_op_hold(struct spw_recorded_op *recorded_op)
{
    recorded_op->holders++;
}

void __wrap_spw_recorded_op_let_go(struct spw_recorded_op *recorded_op);
void __wrap_spw_recorded_op_let_go(struct spw_recorded_op *recorded_op)
{
    if (!recorded_op || --recorded_op->holders)
        return;
    for (unsigned i = 0; i < recorded_op->touch_count; i++)
        if (recorded_op->touches[i].saved)
            spw_stash_give_locked(device, recorded_op->touches[i].saved - 1, recorded_op->touches[i].bytes);
    kept_count--;
    free(recorded_op);
}

bool __wrap_spw_recorded_op_is_good(const struct spw_recorded_op *recorded_op);
bool __wrap_spw_recorded_op_is_good(const struct spw_recorded_op *recorded_op)
{
    return !recorded_op->is_void && recorded_op->epoch == spw_version_epoch;
}

static inline void belongs_to(struct kept *k, const struct spw_op *op)
{
    k->recorded_op.epoch = spw_version_epoch;
    k->recorded_op.holders = 1;
    k->recorded_op.context = op->stream->context;
    k->recorded_op.stream = op->stream;
    kept_count++;
}

static struct kept *beginning; /* the operation that is about to be begun */

/* It is wanted later. */
struct spw_recorded_op *__wrap_spw_recorded_op_make_locked(const struct spw_op *op, enum spw_replay_verdict *ret_why);
struct spw_recorded_op *__wrap_spw_recorded_op_make_locked(const struct spw_op *op, enum spw_replay_verdict *ret_why)
{
    struct kept *k = beginning;
    *ret_why = SPW_REPLAYABLE;
    beginning = NULL;
    belongs_to(k, op);
    for (unsigned i = 0; i < k->recorded_op.touch_count; i++)
        k->touches[i].before = k->touches[i].what->version;
    k->recorded_op.operation = op->wish - 1;
    return &k->recorded_op;
}

static inline void begin_replays(uint64_t budget, uint64_t host_budget)
{
    spw_kept_ops_reset();
    spw_replay_reset();
    begin(budget + own_beside(budget), host_budget);
    struct spw_settings settings = *spw_settings_get();
    settings.plan = SPW_PLAN_OFF; /* the tests say what the plan is */
    spw_settings_use(&settings);
    open_digests();
    refuse_submits = 0;
    spoils = 0;
    writes_nothing = believes = chains = false;
    changes = 0;
    kept_count = 0;
    spw_maker_release = spw_recorded_op_let_go;
    spw_versions_reset();
    pthread_mutex_lock(&device->slow);
    spw_lock();
    const struct spw_course course = {0};
    const struct spw_actions actions = {0};
    assert_int_equal(spw_kept_ops_begin_unlocking(device, &course, 0, &actions), 0);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
}

static inline struct spw_slot *slot_at(CUdeviceptr a)
{
    return spw_slab_slot_at_locked((struct spw_slab *)spw_object_at_locked(a), a);
}

static inline bool is_small(CUdeviceptr a)
{
    return spw_object_at_locked(a)->kind == SPW_KIND_SLAB;
}

static inline struct spw_versioned *versioned_at(CUdeviceptr a)
{
    return is_small(a) ? &slot_at(a)->content : &block_at(a)->content;
}

static inline int rescue_from(const struct spw_versioned *what, bool is_known)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    int r = spw_replay_rescue_unlocking(device, what, is_known, NULL);
    spw_retained_all_sweep_locked(device);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    return r;
}

static inline int rescue(const struct spw_versioned *what)
{
    return rescue_from(what, true);
}

static inline struct spw_recorded_op_touch *touch_for(struct kept *k, CUdeviceptr a)
{
    for (unsigned i = 0; i < k->recorded_op.touch_count; i++)
        if (k->touches[i].address == a)
            return &k->touches[i];
    k->recorded_op.touches = k->touches;
    struct spw_recorded_op_touch *touch = &k->touches[k->recorded_op.touch_count++];
    *touch = (struct spw_recorded_op_touch){.what = versioned_at(a), .address = a};
    touch->block = is_small(a) ? NULL : block_at(a);
    touch->bytes = is_small(a) ? slot_at(a)->size_bytes : touch->block->size_bytes;
    touch->serial = is_small(a) ? slot_at(a)->serial : touch->block->serial;
    touch->before = touch->after = touch->what->version;
    return touch;
}

/* What small allocations hold that are read and written is saved, as a part of the operation, if that can be. */
static inline void save_slots(struct kept *k, struct spw_stream *stream)
{
    for (unsigned i = 0; i < k->recorded_op.touch_count; i++) {
        struct spw_recorded_op_touch *touch = &k->touches[i];
        uint32_t offset;
        if (!touch->lent || !spw_touch_reads(touch))
            continue;
        if (spw_stash_take_for_long_locked(device, touch->bytes, &offset) < 0)
            continue;
        if (spw_stash_save_locked(device, stream, stream->begun, touch->address, touch->bytes, offset) == 0)
            touch->saved = offset + 1;
        else
            spw_stash_give_locked(device, offset, touch->bytes);
    }
}

static inline void take_versions(struct kept *k)
{
    for (unsigned i = 0; i < k->recorded_op.touch_count; i++) {
        struct spw_recorded_op_touch *touch = &k->touches[i];
        if (!(touch->access & SPW_RECORDED_OP_WRITES))
            continue;
        touch->after = touch->what->version;
        if (touch->block && (touch->whole || touch->previous)) {
            spw_recorded_op_let_go(touch->what->maker);
            touch->what->maker = &k->recorded_op;
            spw_recorded_op_hold(&k->recorded_op);
        }
    }
}

/* An operation that reads the first addresses and writes those behind them; hits first those that are written. */
static inline void chain(struct kept *k, struct spw_recorded_op_touch *touch)
{
    touch->previous = touch->what->maker;
    spw_recorded_op_hold(touch->previous);
    k->recorded_op.depth = (uint8_t)(touch->previous->depth + 1);
    k->recorded_op.order = touch->previous->order + 1;
}

static inline struct kept *keep(const CUdeviceptr *a, unsigned reads, unsigned writes, unsigned char salt, CUdeviceptr *hits)
{
    struct kept *k = (calloc)(1, sizeof(*k));
    assert_non_null(k);
    for (unsigned i = 0; i < reads + writes; i++) {
        hits[i] = a[i < writes ? reads + i : i - writes];
        struct spw_recorded_op_touch *touch = touch_for(k, a[i]);
        touch->access |= i < reads ? SPW_RECORDED_OP_READS : SPW_RECORDED_OP_WRITES;
        touch->whole = !(touch->access & SPW_RECORDED_OP_READS);
        touch->believed |= believes && i < reads;
        touch->lent = !touch->block && (believes || touch->access & SPW_RECORDED_OP_WRITES);
        if (chains && touch->block && !touch->whole && touch->access & SPW_RECORDED_OP_WRITES && !touch->previous)
            chain(k, touch);
        k->ranges[i] = (struct fake_range){a[i], touch->bytes};
    }
    k->reads = reads;
    k->writes = writes;
    k->salt = salt;
    return k;
}

/* Such an operation, kept without anybody's asking. 0; what it was refused with: then nothing has happened. */
static inline int mix_on(CUstream stream, const CUdeviceptr *a, unsigned reads, unsigned writes, unsigned char salt)
{
    CUdeviceptr hits[FAKE_RANGES];
    struct kept *k = keep(a, reads, writes, salt, hits);
    struct spw_op op = {.handle = stream,
                        .hits = hits,
                        .count = reads + writes,
                        .room = FAKE_RANGES,
                        .read_only = reads,
                        .name = "a kernel"};
    int r = spw_op_begin(&op);
    if (r < 0) {
        free(k);
        return r;
    }
    spw_lock();
    belongs_to(k, &op);
    save_slots(k, op.stream);
    spw_read_check_read_locked(&k->recorded_op, op.stream);
    fake_mix(stream, k->ranges, reads, writes, salt);
    take_versions(k);
    spw_recorded_op_let_go(&k->recorded_op);
    spw_unlock();
    spw_op_end(&op);
    return 0;
}

static inline void drop(CUdeviceptr a)
{
    assert_int_equal(under_locks(spw_transfer_drop_locked, a), 0);
}

static inline int run_again(struct spw_device *d, struct spw_block *b)
{
    struct spw_recorded_op *m = b->content.maker;
    if (!m)
        return 0;
    spw_recorded_op_hold(m);
    int r = spw_replay_operation_unlocking(d, m, NULL, true);
    spw_recorded_op_let_go(m);
    return r;
}

/* The program frees it. `planned`: the plan goes on using it. */
static inline void give_back(CUdeviceptr a, CUstream stream, bool planned)
{
    spw_lock();
    struct spw_stream *record = stream ? spw_stream_of_locked(stream) : NULL;
    if (!is_small(a)) {
        block_at(a)->expected = planned;
        (void)spw_retained_wanted_locked(device, block_at(a), planned);
    }
    spw_unlock();
    assert_int_equal(spw_free(a, record), 0);
}

static inline void sweep(void)
{
    spw_lock();
    spw_retained_all_sweep_locked(device);
    spw_unlock();
}

/* ---- what holds ---- */

/* `beside`: only as what is written along with something else. */
static inline uint32_t times_needed(const struct spw_versioned *what, bool beside)
{
    uint32_t times = 0;
    for (uint32_t i = 0; i < device->block_count; i++) {
        const struct spw_block *b = device->blocks[i];
        const struct spw_recorded_op *m = b->drops ? b->content.maker : NULL;
        for (unsigned k = 0; m && k < m->touch_count; k++) {
            const struct spw_recorded_op_touch *touch = &m->touches[k];
            times += touch->what == what && what != &b->content && !touch->lent && (!beside || spw_touch_makes(touch));
        }
    }
    return times;
}

static inline void check_slot(struct spw_slot *slot, void *arg)
{
    (void)arg;
    assert_int_equal(slot->content.needed, times_needed(&slot->content, false));
    assert_false(slot->kept);
}

/* Whatever is dropped can be made, all of it is counted, and nobody is kept for nothing. */
static inline void check_needs(void)
{
    check_blocks();
    spw_slab_for_each_locked(device, check_slot, NULL);
    for (uint32_t i = 0; i < device->block_count; i++) {
        const struct spw_block *b = device->blocks[i];
        assert_int_equal(b->content.needed, times_needed(&b->content, false));
        assert_int_equal(b->beside, times_needed(&b->content, true));
        assert_int_equal(b->chain, 0);
        if (b->object.attention & SPW_RETAINED)
            assert_true(b->content.needed || b->expected || b->idle);
        else
            assert_false(b->idle);
        if (spw_object_is_cached(&b->object))
            assert_null(b->content.maker);
        for (unsigned k = 0; b->drops && k < b->content.maker->touch_count; k++) {
            const struct spw_recorded_op_touch *t = &b->content.maker->touches[k];
            const struct spw_block *other = spw_touched_block_locked(t);
            if (t->block) {
                assert_non_null(other);
                assert_int_equal(other->content.version, spw_touch_writes(t) ? t->after : t->before);
                assert_true(spw_touch_makes(t) || !(other->object.attention & SPW_EMPTY));
            } else {
                assert_non_null(spw_touched_slot_locked(t));
            }
        }
    }
    assert_int_equal(device->making, 0);
}
#endif
