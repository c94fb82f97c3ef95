/* decode_op.c - decodes operations: the reverse of encode_op.c. */
#include "decode.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

static bool get_shape(struct spw_column *cursor, struct spw_record_op *ret_op)
{
    uint8_t kind, flags;
    if (!spw_get_byte(cursor, &kind) || kind >= SPW_OP_KINDS || !spw_get_byte(cursor, &flags) ||
        flags > (SPW_SHAPE_CAPTURED | SPW_SHAPE_SYNCHRONOUS | SPW_SHAPE_EVERYTHING))
        return false;
    ret_op->kind = kind;
    ret_op->captured = flags & SPW_SHAPE_CAPTURED;
    ret_op->synchronous = flags & SPW_SHAPE_SYNCHRONOUS;
    ret_op->everything = flags & SPW_SHAPE_EVERYTHING;
    uint32_t *const numbers[] = {&ret_op->touch_count, &ret_op->stream,      &ret_op->function, &ret_op->grid[0],
                                 &ret_op->grid[1],     &ret_op->grid[2],     &ret_op->block[0], &ret_op->block[1],
                                 &ret_op->block[2],    &ret_op->shared_bytes};
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!spw_get_u32(cursor, numbers[i]))
            return false;
    return ret_op->touch_count <= SPW_RECORD_TOUCHES;
}

/* Decodes how the id of a touch that begins with `code` changed, and stores that in *went. `shift`: how the id of the
 * newest allocation changed; *went on entry: how the touch's own id changed the last time. */
static inline bool get_way(struct spw_column *cursor, uint8_t code, uint64_t shift, uint64_t *went)
{
    const unsigned id = code >> SPW_TOUCH_SHIFT;
    if (id == SPW_TOUCH_FAR) {
        *went = 0;
        return spw_get_difference(cursor, went);
    }
    if (id == SPW_TOUCH_ALONG)
        *went = shift;
    else if (id >= SPW_TOUCH_NEAR)
        *went = spw_unzigzag(id - SPW_TOUCH_NEAR);
    return true;
}

static bool get_changes(struct spw_column *cursor, uint8_t code, struct spw_touch *touch)
{
    uint8_t access;
    if (code & SPW_TOUCH_OFFSET && !spw_get_difference(cursor, &touch->offset))
        return false;
    if (code & SPW_TOUCH_BYTES && !spw_get_difference(cursor, &touch->bytes))
        return false;
    if (code & SPW_TOUCH_ACCESS) {
        if (!spw_get_byte(cursor, &access) || !spw_access_is_one(access))
            return false;
        touch->access = access;
    }
    return true;
}

/* Turns *touch from the last one into this one. */
static inline bool get_touch(struct spw_column *cursor, struct spw_touch *touch, uint64_t *went, uint64_t shift)
{
    uint8_t code;
    if (!spw_get_byte(cursor, &code) || !get_way(cursor, code, shift, went))
        return false;
    touch->alloc += *went;
    return !(code & (SPW_TOUCH_OFFSET | SPW_TOUCH_BYTES | SPW_TOUCH_ACCESS)) || get_changes(cursor, code, touch);
}

/* Makes room for a list that is not remembered. Returns NULL if there is no memory. Each touch takes at least a byte of
 * the frame, so the room is bounded by the frame. */
static struct spw_touch *once_room(struct spw_decoder *decoder, uint32_t count)
{
    return SPW_GROW(decoder->once, decoder->once_room, (size_t)count + 1) < 0 ? NULL : decoder->once;
}

/* Sets the touches from which a shape's first use differs. */
static bool get_first_touches(struct spw_decoder *decoder, struct spw_touch *touches, uint32_t count)
{
    uint64_t alloc = decoder->slots[SPW_SLOT_ALLOC];
    for (uint32_t i = 0; i < count; i++) {
        uint64_t way = 0;
        touches[i] = (struct spw_touch){.alloc = alloc, .access = SPW_ACCESS_READ};
        if (!get_touch(&decoder->records, &touches[i], &way, 0))
            return false;
        alloc = touches[i].alloc;
    }
    return true;
}

static bool get_new(struct spw_decoder *decoder, uint8_t tag, struct spw_record_op *ret_op)
{
    struct spw_column *cursor = &decoder->records;
    struct spw_touch *touches = decoder->touches + decoder->touch_count;
    const bool remembered = tag & SPW_TAG_NEW;
    if (!get_shape(cursor, ret_op))
        return false;
    ret_op->bytes = 0;
    if (tag & SPW_TAG_BYTES && !spw_get_difference(cursor, &ret_op->bytes))
        return false;
    if (ret_op->touch_count > (size_t)(cursor->end - cursor->at))
        return false;
    if (remembered &&
        (decoder->shape_count == SPW_FRAME_SHAPES || ret_op->touch_count > SPW_FRAME_TOUCHES - decoder->touch_count))
        return false;
    if (!remembered && !(touches = once_room(decoder, ret_op->touch_count)))
        return false;
    if (!get_first_touches(decoder, touches, ret_op->touch_count))
        return false;
    ret_op->touches = touches;
    if (remembered) {
        memset(decoder->went + decoder->touch_count, 0, ret_op->touch_count * sizeof decoder->went[0]);
        decoder->shapes[decoder->shape_count++] = (struct spw_known_shape){
            .op = *ret_op, .next_alloc = decoder->slots[SPW_SLOT_ALLOC], .first_touch = decoder->touch_count};
        decoder->touch_count += ret_op->touch_count;
    }
    return true;
}

static bool get_known(struct spw_decoder *decoder, uint8_t tag, struct spw_record_op *ret_op)
{
    uint64_t index;
    if (!spw_get(&decoder->records, &index) || index >= decoder->shape_count)
        return false;
    struct spw_known_shape *shape = &decoder->shapes[index];
    if (tag & SPW_TAG_BYTES && !spw_get_difference(&decoder->records, &shape->op.bytes))
        return false;
    struct spw_touch *touch = decoder->touches + shape->first_touch;
    uint64_t *went = decoder->went + shape->first_touch;
    const uint64_t shift = decoder->slots[SPW_SLOT_ALLOC] - shape->next_alloc;
    shape->next_alloc = decoder->slots[SPW_SLOT_ALLOC];
    for (uint32_t i = 0; i < shape->op.touch_count; i++)
        if (!get_touch(&decoder->records, &touch[i], &went[i], shift))
            return false;
    *ret_op = shape->op;
    return true;
}

bool spw_decode_op(struct spw_decoder *decoder, uint8_t tag, struct spw_record_op *ret_op)
{
    const uint8_t form = tag & (SPW_TAG_NEW | SPW_TAG_ONCE);
    if (form == (SPW_TAG_NEW | SPW_TAG_ONCE))
        return false;
    if (form ? !get_new(decoder, tag, ret_op) : !get_known(decoder, tag, ret_op))
        return false;
    if (!spw_get_difference(&decoder->times, &decoder->slots[SPW_SLOT_TIME]))
        return false;
    ret_op->time_ns = decoder->slots[SPW_SLOT_TIME];
    decoder->slots[SPW_SLOT_OP]++;
    return true;
}
