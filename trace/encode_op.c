/* encode_op.c - turns operations into bytes: what they have in common with an earlier one of the frame is left out.
 *
 * An operation's shape is all of it that is the same when a program does the same thing again: kind, stream, kernel, grid,
 * number of touches. Shapes are remembered within the frame, with what their last use touched, so that the next use is the
 * number of the shape and a byte or two for each touch. This runs on every launch: about 25 instructions per touch. */
#include "encode.h"

#include <errno.h>
#include <string.h>

#define LIKELY(x) __builtin_expect(!!(x), 1)

_Static_assert(offsetof(struct spw_record_op, shared_bytes) + 4 - offsetof(struct spw_record_op, function) == 32,
               "function, grid, block and shared bytes stand together");

static inline void make_key(const struct spw_record_op *op, struct spw_shape_key *ret_key)
{
    const unsigned flags = (op->captured ? SPW_SHAPE_CAPTURED : 0) | (op->synchronous ? SPW_SHAPE_SYNCHRONOUS : 0) |
                           (op->everything ? SPW_SHAPE_EVERYTHING : 0);
    ret_key->words[0] = (uint64_t)op->stream << 32 | op->touch_count << 16 | flags << 8 | op->kind;
    memcpy(&ret_key->words[1], &op->function, 32);
}

static inline unsigned hash(const struct spw_shape_key *key)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t h = key->words[0];
    for (unsigned i = 1; i < 5; i++)
        h = (h * odd) ^ key->words[i];
    h *= odd;
    return (unsigned)(h >> 40 ^ h >> 20) % SPW_SHAPE_SLOTS;
}

static inline bool equal(const struct spw_shape_key *a, const struct spw_shape_key *b)
{
    return !((a->words[0] ^ b->words[0]) | (a->words[1] ^ b->words[1]) | (a->words[2] ^ b->words[2]) |
             (a->words[3] ^ b->words[3]) | (a->words[4] ^ b->words[4]));
}

/* The slot of the table that holds the key, or the empty one where it belongs: one half of the slots stays empty. */
static inline unsigned find(const struct spw_encoder *encoder, const struct spw_shape_key *key)
{
    unsigned slot = hash(key);
    while (encoder->table[slot] && !equal(&encoder->shapes[encoder->table[slot] - 1].key, key))
        slot = (slot + 1) % SPW_SHAPE_SLOTS;
    return slot;
}

static uint8_t *put_shape(uint8_t *at, const struct spw_record_op *op, const struct spw_shape_key *key)
{
    *at++ = (uint8_t)op->kind;
    *at++ = (uint8_t)(key->words[0] >> 8);
    const uint32_t numbers[] = {op->touch_count, op->stream,   op->function, op->grid[0],  op->grid[1],
                                op->grid[2],     op->block[0], op->block[1], op->block[2], op->shared_bytes};
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        at = spw_put_varint(at, numbers[i]);
    return at;
}

static uint8_t *put_far_touch(uint8_t *at, const struct spw_touch *now, const struct spw_touch *last, unsigned flags,
                              uint64_t id)
{
    *at++ = (uint8_t)((id < SPW_TOUCH_FAR ? id : SPW_TOUCH_FAR) << SPW_TOUCH_SHIFT | flags);
    if (id >= SPW_TOUCH_FAR)
        at = spw_put_varint(at, id);
    if (flags & SPW_TOUCH_OFFSET)
        at = spw_put_varint(at, spw_zigzag(now->offset - last->offset));
    if (flags & SPW_TOUCH_BYTES)
        at = spw_put_varint(at, spw_zigzag(now->bytes - last->bytes));
    if (flags & SPW_TOUCH_ACCESS)
        *at++ = (uint8_t)now->access;
    return at;
}

/* Each touch as its difference from the last one, which it then becomes. NULL: an access that is none. */
static inline uint8_t *put_touches(uint8_t *at, const struct spw_touch *now, struct spw_touch *last, unsigned count)
{
    for (const struct spw_touch *end = now + count; now < end; now++, last++) {
        const uint64_t id = spw_zigzag(now->alloc - last->alloc);
        const unsigned flags = (now->offset != last->offset ? SPW_TOUCH_OFFSET : 0) |
                               (now->bytes != last->bytes ? SPW_TOUCH_BYTES : 0) |
                               (now->access != last->access ? SPW_TOUCH_ACCESS : 0);
        if (LIKELY(!flags && id < SPW_TOUCH_FAR)) {
            *at++ = (uint8_t)(id << SPW_TOUCH_SHIFT);
            last->alloc = now->alloc;
            continue;
        }
        if (flags & SPW_TOUCH_ACCESS && (now->access < SPW_ACCESS_READ || now->access > SPW_ACCESS_BOTH))
            return NULL;
        at = put_far_touch(at, now, last, flags, id);
        *last = *now;
    }
    return at;
}

/* What the touches of a shape's first use are told against: each against the id of the one before. */
static void first_touches(struct spw_touch *last, const struct spw_touch *now, unsigned count, uint64_t alloc)
{
    for (unsigned i = 0; i < count; i++) {
        last[i] = (struct spw_touch){.alloc = alloc, .access = SPW_ACCESS_READ};
        alloc = now[i].alloc;
    }
}

static uint8_t *put_once(struct spw_encoder *encoder, uint8_t *at, const struct spw_record_op *op,
                         const struct spw_shape_key *key)
{
    struct spw_touch last[16];
    uint64_t alloc = encoder->slots[SPW_SLOT_ALLOC];
    *at++ = SPW_RECORD_OP | SPW_TAG_BYTES | SPW_TAG_ONCE;
    at = put_shape(at, op, key);
    at = spw_put_varint(at, spw_zigzag(op->bytes));
    for (uint32_t done = 0, count; done < op->touch_count && at; done += count) {
        count = op->touch_count - done < 16 ? op->touch_count - done : 16;
        first_touches(last, op->touches + done, count, alloc);
        alloc = op->touches[done + count - 1].alloc;
        at = put_touches(at, op->touches + done, last, count);
    }
    return at;
}

static uint8_t *put_new(struct spw_encoder *encoder, uint8_t *at, const struct spw_record_op *op,
                        const struct spw_shape_key *key, unsigned slot)
{
    if (encoder->shape_count == SPW_FRAME_SHAPES || op->touch_count > SPW_FRAME_TOUCHES - encoder->touch_count)
        return put_once(encoder, at, op, key);
    struct spw_shape *shape = &encoder->shapes[encoder->shape_count];
    struct spw_touch *last = encoder->touches + encoder->touch_count;
    *shape = (struct spw_shape){.key = *key, .bytes = op->bytes, .first_touch = encoder->touch_count};
    encoder->table[slot] = (uint16_t)++encoder->shape_count;
    encoder->touch_count += op->touch_count;
    *at++ = SPW_RECORD_OP | SPW_TAG_BYTES | SPW_TAG_NEW;
    at = put_shape(at, op, key);
    at = spw_put_varint(at, spw_zigzag(op->bytes));
    first_touches(last, op->touches, op->touch_count, encoder->slots[SPW_SLOT_ALLOC]);
    return put_touches(at, op->touches, last, op->touch_count);
}

static inline uint8_t *put_known(struct spw_encoder *encoder, uint8_t *at, const struct spw_record_op *op, unsigned index)
{
    struct spw_shape *shape = &encoder->shapes[index];
    uint8_t *tag = at++;
    *tag = SPW_RECORD_OP;
    at = spw_put_varint(at, index);
    if (op->bytes != shape->bytes) {
        *tag |= SPW_TAG_BYTES;
        at = spw_put_varint(at, spw_zigzag(op->bytes - shape->bytes));
        shape->bytes = op->bytes;
    }
    return put_touches(at, op->touches, encoder->touches + shape->first_touch, op->touch_count);
}

int spw_encode_op(struct spw_encoder *encoder, const struct spw_record_op *op)
{
    struct spw_shape_key key;
    if (op->touch_count > SPW_RECORD_TOUCHES || op->kind >= SPW_OP_KINDS)
        return -EINVAL;
    make_key(op, &key);
    const unsigned slot = find(encoder, &key);
    const unsigned known = encoder->table[slot];
    uint8_t *at = encoder->records_at;
    at = LIKELY(known) ? put_known(encoder, at, op, known - 1) : put_new(encoder, at, op, &key, slot);
    if (!at)
        return -EINVAL;
    encoder->records_at = at;
    spw_put_time(encoder, SPW_SLOT_TIME, op->time_ns);
    encoder->slots[SPW_SLOT_OP]++;
    return 0;
}
