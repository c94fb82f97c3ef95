/* encode_op.c - encodes operations, without what they have in common with an earlier one of the frame.
 *
 * An operation's shape is everything that is the same when a program does the same thing again: kind, stream, kernel,
 * grid, number of touches. Shapes are remembered within the frame, together with the touches of their last use, so the
 * next use takes the number of the shape and a byte or two for each touch. This runs on every launch, so every
 * instruction counts. */
#include "encode.h"

#include <errno.h>
#include <string.h>

#define LIKELY(x) __builtin_expect(!!(x), 1)

#define IN_OP(member) offsetof(struct spw_record_op, member)
_Static_assert(IN_OP(kind) == 0 && IN_OP(stream) == 4 && sizeof(enum spw_op_kind) == 4, "kind and stream are one word");
_Static_assert(sizeof(bool) == 1 && IN_OP(synchronous) == IN_OP(captured) + 1 && IN_OP(everything) == IN_OP(captured) + 2,
               "the flags are three bytes of one word");
_Static_assert(IN_OP(shared_bytes) + 4 - IN_OP(function) == 32, "function, grid, block and shared bytes stand together");

static inline void make_key(const struct spw_record_op *op, struct spw_shape_key *ret_key)
{
    uint32_t flags;
    memcpy(&flags, &op->captured, 4);
    memcpy(&ret_key->kind_stream, op, 8);
    ret_key->flags_touches = (flags & 0x010101) | (uint64_t)op->touch_count << 32;
    memcpy(ret_key->launch, &op->function, 32);
}

static inline unsigned hash(const struct spw_shape_key *key)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t h = (key->kind_stream * odd) ^ key->flags_touches;
    for (unsigned i = 0; i < 4; i++)
        h = (h * odd) ^ key->launch[i];
    h *= odd;
    return (unsigned)(h >> 40 ^ h >> 20) % SPW_SHAPE_SLOTS;
}

static inline bool equal(const struct spw_shape_key *a, const struct spw_shape_key *b)
{
    return a->kind_stream == b->kind_stream && a->flags_touches == b->flags_touches && a->launch[0] == b->launch[0] &&
           a->launch[1] == b->launch[1] && a->launch[2] == b->launch[2] && a->launch[3] == b->launch[3];
}

/* Returns the slot of the table that contains the key, or the empty one where it belongs: half of the slots stay empty. */
static unsigned find(const struct spw_encoder *encoder, const struct spw_shape_key *key)
{
    unsigned slot = hash(key);
    while (encoder->table[slot] && !equal(&encoder->shapes[encoder->table[slot] - 1].key, key))
        slot = (slot + 1) % SPW_SHAPE_SLOTS;
    return slot;
}

static uint8_t *put_shape(uint8_t *at, const struct spw_record_op *op)
{
    *at++ = (uint8_t)op->kind;
    *at++ = (uint8_t)((op->captured ? SPW_SHAPE_CAPTURED : 0) | (op->synchronous ? SPW_SHAPE_SYNCHRONOUS : 0) |
                      (op->everything ? SPW_SHAPE_EVERYTHING : 0));
    const uint32_t numbers[] = {op->touch_count, op->stream,   op->function, op->grid[0],  op->grid[1],
                                op->grid[2],     op->block[0], op->block[1], op->block[2], op->shared_bytes};
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        at = spw_put_varint(at, numbers[i]);
    return spw_put_varint(at, spw_zigzag(op->bytes));
}

/* Encodes the first byte of a touch, and the change of its id if that is neither the newest allocation's, nor the last
 * one, nor small. */
static inline uint8_t *put_id(uint8_t *at, unsigned flags, uint64_t went, uint64_t shift, uint64_t again)
{
    uint64_t code = SPW_TOUCH_ALONG;
    if (went != shift) {
        code = SPW_TOUCH_AGAIN;
        if (went != again) {
            const uint64_t zigzag = spw_zigzag(went);
            code = SPW_TOUCH_NEAR + zigzag;
            if (zigzag >= SPW_TOUCH_FAR - SPW_TOUCH_NEAR) {
                *at = (uint8_t)(SPW_TOUCH_FAR << SPW_TOUCH_SHIFT | flags);
                return spw_put_varint(at + 1, zigzag);
            }
        }
    }
    *at = (uint8_t)(code << SPW_TOUCH_SHIFT | flags);
    return at + 1;
}

/* Encodes a touch of which more than the id has changed. */
static __attribute__((noinline)) uint8_t *put_changed(uint8_t *at, const struct spw_touch *now,
                                                      const struct spw_last_touch *last, uint64_t shift)
{
    const unsigned flags = (now->offset != last->touch.offset ? SPW_TOUCH_OFFSET : 0) |
                           (now->bytes != last->touch.bytes ? SPW_TOUCH_BYTES : 0) |
                           (now->access != last->touch.access ? SPW_TOUCH_ACCESS : 0);
    at = put_id(at, flags, now->alloc - last->touch.alloc, shift, last->went);
    if (flags & SPW_TOUCH_OFFSET)
        at = spw_put_varint(at, spw_zigzag(now->offset - last->touch.offset));
    if (flags & SPW_TOUCH_BYTES)
        at = spw_put_varint(at, spw_zigzag(now->bytes - last->touch.bytes));
    if (flags & SPW_TOUCH_ACCESS)
        *at++ = (uint8_t)now->access;
    return at;
}

static inline bool same_but_id(const struct spw_touch *a, const struct spw_touch *b)
{
    return a->offset == b->offset && a->bytes == b->bytes && a->access == b->access;
}

/* Encodes each touch as its difference from the last one, and replaces that. `shift`: how the ids of allocations changed
 * in the meantime. Returns NULL if an access is invalid. */
static inline uint8_t *put_touches(uint8_t *at, const struct spw_touch *now, struct spw_last_touch *last, unsigned count,
                                   uint64_t shift)
{
    for (const struct spw_touch *end = now + count; now < end; now++, last++) {
        const uint64_t alloc = now->alloc, went = alloc - last->touch.alloc;
        if (LIKELY(same_but_id(now, &last->touch) && went == shift)) {
            *at++ = SPW_TOUCH_ALONG << SPW_TOUCH_SHIFT;
        } else if (same_but_id(now, &last->touch)) {
            at = put_id(at, 0, went, shift, last->went);
        } else {
            if (!spw_access_is_one(now->access))
                return NULL;
            at = put_changed(at, now, last, shift);
            last->touch = *now;
        }
        last->touch.alloc = alloc;
        last->went = went;
    }
    return at;
}

/* Sets the touches from which a shape's first use differs: each id is compared with the one before. */
static void first_touches(struct spw_last_touch *last, const struct spw_touch *now, unsigned count, uint64_t alloc)
{
    for (unsigned i = 0; i < count; i++) {
        last[i] = (struct spw_last_touch){.touch = {.alloc = alloc, .access = SPW_ACCESS_READ}};
        alloc = now[i].alloc;
    }
}

static uint8_t *put_once(struct spw_encoder *encoder, uint8_t *at, const struct spw_record_op *op)
{
    struct spw_last_touch last[16];
    uint64_t alloc = encoder->slots[SPW_SLOT_ALLOC];
    *at++ = SPW_RECORD_OP | SPW_TAG_BYTES | SPW_TAG_ONCE;
    at = put_shape(at, op);
    for (uint32_t done = 0, count; done < op->touch_count && at; done += count) {
        count = op->touch_count - done < 16 ? op->touch_count - done : 16;
        first_touches(last, op->touches + done, count, alloc);
        alloc = op->touches[done + count - 1].alloc;
        at = put_touches(at, op->touches + done, last, count, 0);
    }
    return at;
}

static uint8_t *put_new(struct spw_encoder *encoder, uint8_t *at, const struct spw_record_op *op,
                        const struct spw_shape_key *key, unsigned slot)
{
    if (op->touch_count > SPW_RECORD_TOUCHES || op->kind >= SPW_OP_KINDS)
        return NULL;
    if (encoder->shape_count == SPW_FRAME_SHAPES || op->touch_count > SPW_FRAME_TOUCHES - encoder->touch_count)
        return put_once(encoder, at, op);
    struct spw_last_touch *last = encoder->touches + encoder->touch_count;
    encoder->shapes[encoder->shape_count] = (struct spw_encoder_shape){
        .key = *key, .bytes = op->bytes, .next_alloc = encoder->slots[SPW_SLOT_ALLOC], .first_touch = encoder->touch_count};
    encoder->shapes[encoder->previous].follower = encoder->shape_count;
    encoder->previous = encoder->shape_count;
    encoder->table[slot] = (uint16_t)++encoder->shape_count;
    encoder->touch_count += op->touch_count;
    *at++ = SPW_RECORD_OP | SPW_TAG_BYTES | SPW_TAG_NEW;
    at = put_shape(at, op);
    first_touches(last, op->touches, op->touch_count, encoder->slots[SPW_SLOT_ALLOC]);
    at = put_touches(at, op->touches, last, op->touch_count, 0);
    for (uint32_t i = 0; i < op->touch_count; i++)
        last[i].went = 0;
    return at;
}

static inline uint8_t *put_known(struct spw_encoder *encoder, uint8_t *at, const struct spw_record_op *op, unsigned index)
{
    struct spw_encoder_shape *shape = &encoder->shapes[index];
    const uint64_t shift = encoder->slots[SPW_SLOT_ALLOC] - shape->next_alloc;
    shape->next_alloc = encoder->slots[SPW_SLOT_ALLOC];
    encoder->shapes[encoder->previous].follower = index;
    encoder->previous = index;
    uint8_t *tag = at++;
    *tag = SPW_RECORD_OP;
    at = spw_put_varint(at, index);
    if (op->bytes != shape->bytes) {
        *tag |= SPW_TAG_BYTES;
        at = spw_put_varint(at, spw_zigzag(op->bytes - shape->bytes));
        shape->bytes = op->bytes;
    }
    return put_touches(at, op->touches, encoder->touches + shape->first_touch, op->touch_count, shift);
}

int spw_encode_op(struct spw_encoder *encoder, const struct spw_record_op *op)
{
    struct spw_shape_key key;
    make_key(op, &key);
    /* The shape that followed the last operation's shape the last time mostly follows it again. */
    const uint32_t guess = encoder->shapes[encoder->previous].follower;
    uint8_t *at = encoder->records_at;
    if (LIKELY(guess < encoder->shape_count && equal(&encoder->shapes[guess].key, &key))) {
        at = put_known(encoder, at, op, guess);
    } else {
        const unsigned slot = find(encoder, &key), known = encoder->table[slot];
        at = known ? put_known(encoder, at, op, known - 1) : put_new(encoder, at, op, &key, slot);
    }
    if (!at)
        return -EINVAL;
    encoder->records_at = at;
    spw_put_time(encoder, SPW_SLOT_TIME, op->time_ns);
    encoder->slots[SPW_SLOT_OP]++;
    return 0;
}
