/* recording.c - records events in order; they are interpreted only when the course is made. */
#include "course/recording.h"

#include <math.h>
#include <string.h>

#include "course/course_make.h"
#include "grow.h"

enum { FIRST_SLOTS = 256 };

struct spw_recording {
    struct spw_recorded now;
    uint32_t tensor_room, op_room, call_room, touch_room, mention_room, hit_room;
    uint32_t *slots; /* index of a tensor + 1, by id; open addressing, at most half full */
    uint32_t slot_count;
    uint32_t *last_touch; /* by tensor: its latest touch in touches, + 1 */
    uint32_t last_touch_room;
    bool has_begun; /* a tensor was freed */
    bool broken;
};

int spw_recording_create(struct spw_recording **ret_recording)
{
    struct spw_recording *r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    r->slot_count = FIRST_SLOTS;
    r->slots = calloc(r->slot_count, sizeof *r->slots);
    if (!r->slots) {
        free(r);
        return -ENOMEM;
    }
    *ret_recording = r;
    return 0;
}

void spw_recording_destroy(struct spw_recording *r)
{
    if (!r)
        return;
    free(r->now.tensors);
    free(r->now.ops);
    free(r->now.calls);
    free(r->now.touches);
    free(r->now.mentions);
    free(r->now.hits);
    free(r->slots);
    free(r->last_touch);
    free(r);
}

void spw_recording_begin(struct spw_recording *r)
{
    struct spw_recorded *now = &r->now;
    now->op_count = now->tensor_count = now->live_count = now->small_count = 0;
    now->touch_count = now->mention_count = now->hit_count = 0;
    r->broken = r->has_begun = false;
    memset(r->slots, 0, r->slot_count * sizeof *r->slots);
}

static int failed(struct spw_recording *r)
{
    r->broken = true;
    return -ENOMEM;
}

/* ---- finding tensors by id ---- */

static uint32_t *slot_of(const struct spw_recording *r, uint64_t id)
{
    uint32_t i = (uint32_t)(id * 0x9e3779b97f4a7c15u >> 32) & (r->slot_count - 1);
    while (r->slots[i] && r->now.tensors[r->slots[i] - 1].id != id)
        i = (i + 1) & (r->slot_count - 1);
    return &r->slots[i];
}

static struct spw_recorded_tensor *find(const struct spw_recording *r, uint64_t id)
{
    const uint32_t index = *slot_of(r, id);
    return index ? &r->now.tensors[index - 1] : NULL;
}

static int more_slots(struct spw_recording *r)
{
    if (r->now.tensor_count < r->slot_count / 2)
        return 0;
    uint32_t *slots = calloc(2 * (size_t)r->slot_count, sizeof *slots);
    if (!slots)
        return -ENOMEM;
    free(r->slots);
    r->slots = slots;
    r->slot_count *= 2;
    for (uint32_t i = 0; i < r->now.tensor_count; i++)
        *slot_of(r, r->now.tensors[i].id) = i + 1; /* NOLINT(clang-analyzer-core.NullDereference): there are some */
    return 0;
}

static int add_tensor(struct spw_recording *r, uint64_t id, uint64_t bytes, bool evictable)
{
    struct spw_recorded *now = &r->now;
    if (r->broken || more_slots(r) < 0 || SPW_GROW(now->tensors, r->tensor_room, now->tensor_count + 1) < 0 ||
        SPW_GROW(r->last_touch, r->last_touch_room, now->tensor_count + 1) < 0)
        return failed(r);
    r->last_touch[now->tensor_count] = 0;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is room */
    now->tensors[now->tensor_count++] = (struct spw_recorded_tensor){
        .id = id, .bytes = bytes, .alloc_before = now->op_count, .freed_before = SPW_NO_INDEX, .evictable = evictable};
    *slot_of(r, id) = now->tensor_count;
    return 0;
}

/* ---- events ---- */

int spw_recording_live(struct spw_recording *r, uint64_t id, uint64_t bytes, bool evictable)
{
    if (r->has_begun || r->now.tensor_count > r->now.live_count || r->now.op_count)
        return spw_recording_alloc(r, id, bytes, evictable);
    const int result = add_tensor(r, id, bytes, evictable);
    r->now.live_count += result == 0;
    return result;
}

int spw_recording_alloc(struct spw_recording *r, uint64_t id, uint64_t bytes, bool evictable)
{
    return add_tensor(r, id, bytes, evictable);
}

int spw_recording_free(struct spw_recording *r, uint64_t id)
{
    struct spw_recorded_tensor *t = find(r, id);
    if (r->broken || !t || t->freed_before != SPW_NO_INDEX)
        return r->broken ? -ENOMEM : 0;
    t->freed_before = r->now.op_count;
    r->has_begun = true;
    return 0;
}

void spw_recording_pin(struct spw_recording *r, uint64_t id)
{
    struct spw_recorded_tensor *t = find(r, id);
    if (t)
        t->evictable = false;
}

/* Adds small tensors, which are known from the first operation that touches them. */
static int know_small(struct spw_recording *r, const struct spw_recording_touch *touches, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!touches[i].small_bytes || find(r, touches[i].id))
            continue;
        if (add_tensor(r, touches[i].id, touches[i].small_bytes, false) < 0)
            return -ENOMEM;
        r->now.tensors[r->now.tensor_count - 1].small = true;
        r->now.small_count++;
    }
    return 0;
}

/* Adds a touch, so that the tensor is in the operation's list once. */
static void take_touch(struct spw_recording *r, struct spw_course_op *op, const struct spw_recording_touch *touch)
{
    struct spw_recorded *now = &r->now;
    const struct spw_recorded_tensor *t = touch->id ? find(r, touch->id) : NULL;
    const bool is_known = t && t->freed_before == SPW_NO_INDEX;
    if (!touch->doubted)
        now->hits[now->hit_count++] = is_known ? (uint32_t)(t - now->tensors) : SPW_NO_INDEX;
    if (!is_known)
        return;
    const uint32_t tensor = (uint32_t)(t - now->tensors);
    if (r->last_touch[tensor] > op->first_touch) {
        now->touches[r->last_touch[tensor] - 1].access |= touch->access;
        return;
    }
    now->touches[now->touch_count++] = (struct spw_course_touch){.tensor = tensor, .access = touch->access};
    r->last_touch[tensor] = now->touch_count;
    op->touch_count++;
}

/* Adds the touches that a detector is told. Returns how many. */
static uint32_t add_mentions(struct spw_recording *r, const struct spw_recording_touch *touches, uint32_t count, bool loose)
{
    struct spw_recorded *now = &r->now;
    const uint32_t before = now->mention_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct spw_recording_touch *touch = &touches[i];
        const struct spw_recorded_tensor *t =
            touch->id && !touch->doubted && touch->loose == loose ? find(r, touch->id) : NULL;
        if (t && t->freed_before == SPW_NO_INDEX && !t->small)
            now->mentions[now->mention_count++] =
                (struct spw_course_mention){.tensor = (uint32_t)(t - now->tensors), .offset = touch->offset};
    }
    return now->mention_count - before;
}

int spw_recording_op(struct spw_recording *r, uint64_t key, bool backbone, const struct spw_recording_touch *touches,
                     uint32_t count, uint32_t *ret_ordinal)
{
    struct spw_recorded *now = &r->now;
    if (r->broken || count > UINT32_MAX / 8 || SPW_GROW(now->ops, r->op_room, now->op_count + 1) < 0 ||
        SPW_GROW(now->calls, r->call_room, now->op_count + 1) < 0 ||
        SPW_GROW(now->touches, r->touch_room, now->touch_count + count) < 0 ||
        SPW_GROW(now->mentions, r->mention_room, now->mention_count + count) < 0 ||
        SPW_GROW(now->hits, r->hit_room, now->hit_count + count) < 0 || know_small(r, touches, count) < 0)
        return failed(r);
    struct spw_course_op *op = &now->ops[now->op_count];
    *op = (struct spw_course_op){.key = key,
                                 .backbone = backbone,
                                 .us = -1,
                                 .first_touch = now->touch_count,
                                 .first_alloc = now->tensor_count - now->live_count - now->small_count};
    struct spw_course_call *call = &now->calls[now->op_count];
    *call = (struct spw_course_call){.function = key,
                                     .kind = backbone ? SPW_ITERATION_LAUNCH : SPW_ITERATION_OTHER,
                                     .first_mention = now->mention_count,
                                     .first_hit = now->hit_count};
    for (uint32_t i = 0; i < count; i++)
        take_touch(r, op, &touches[i]);
    call->mention_count = add_mentions(r, touches, count, false);
    call->loose_count = add_mentions(r, touches, count, true);
    call->mention_count += call->loose_count;
    call->hit_count = now->hit_count - call->first_hit;
    if (ret_ordinal)
        *ret_ordinal = now->op_count;
    now->op_count++;
    return 0;
}

void spw_recording_call(struct spw_recording *r, uint32_t ordinal, const struct spw_iteration_op *call)
{
    if (ordinal >= r->now.op_count)
        return;
    struct spw_course_call *to = &r->now.calls[ordinal];
    to->function = call->function;
    to->geometry = call->geometry;
    to->kind = call->kind;
    to->everything = call->everything;
    if (call->touch_count < to->mention_count)
        to->mention_count = call->touch_count;
    if (call->loose_count < to->loose_count)
        to->loose_count = call->loose_count;
}

void spw_recording_unordered(struct spw_recording *r, uint32_t ordinal)
{
    if (ordinal < r->now.op_count)
        r->now.calls[ordinal].hit_count = 0;
}

void spw_recording_duration(struct spw_recording *r, uint32_t ordinal, double us)
{
    if (ordinal < r->now.op_count && isfinite(us) && us >= 0)
        r->now.ops[ordinal].us = us;
}

uint32_t spw_recording_op_count(const struct spw_recording *r)
{
    return r->now.op_count;
}

int spw_recording_finish(struct spw_recording *r, uint32_t op_count, struct spw_course **ret_course)
{
    if (r->broken)
        return -ENOMEM;
    if (op_count == 0 || op_count > r->now.op_count)
        return -EINVAL;
    return spw_course_make(&r->now, op_count, ret_course);
}
