/* decode.h - decodes the records of one frame from its two columns; every byte is treated as hostile. */
#ifndef SPILLWAY_TRACE_DECODE_H
#define SPILLWAY_TRACE_DECODE_H
#include "fields.h"

struct spw_column {
    const uint8_t *at, *end;
};

struct spw_known_shape {
    struct spw_record_op op; /* its last use; `touches` belongs to the decoder */
    uint64_t next_alloc;     /* at its last use */
    uint32_t first_touch;
};

struct spw_decoder {
    struct spw_column records, times;
    uint64_t slots[SPW_SLOTS];
    uint32_t shape_count, touch_count;
    struct spw_known_shape shapes[SPW_FRAME_SHAPES];
    struct spw_touch touches[SPW_FRAME_TOUCHES];
    uint64_t went[SPW_FRAME_TOUCHES]; /* for each touch: by how much its id differed from the use before */
    /* The touches of an operation whose shape is not remembered; grows to the longest list. */
    struct spw_touch *once;
    uint32_t once_room;
    char text[4 * (SPW_RECORD_TEXT + 1)]; /* the texts of a record, one after the other */
    size_t text_used;
    uint64_t codes[SPW_RECORD_FRAMES];
};

/* Begins a frame. `raw` contains the two columns, in that order, and has to stay until the last record has been decoded. */
void spw_decoder_begin(struct spw_decoder *decoder, const struct spw_frame_head *head, const uint8_t *raw);
void spw_decoder_finish(struct spw_decoder *decoder);

/* Decodes the next record, which is valid until the next call. Returns false if the bytes are no record. */
bool spw_decode(struct spw_decoder *decoder, struct spw_record *ret_record);

/* Returns true if both columns have been decoded to their ends. */
bool spw_decoder_is_at_end(const struct spw_decoder *decoder);

/* For decode.c: decodes an operation after its tag. */
bool spw_decode_op(struct spw_decoder *decoder, uint8_t tag, struct spw_record_op *ret_op);

bool spw_get_long(struct spw_column *cursor, uint64_t *ret_value);

static inline bool spw_get_byte(struct spw_column *cursor, uint8_t *ret_value)
{
    if (cursor->at == cursor->end)
        return false;
    *ret_value = *cursor->at++;
    return true;
}

static inline bool spw_get(struct spw_column *cursor, uint64_t *ret_value)
{
    if (cursor->at == cursor->end)
        return false;
    if (*cursor->at >= 0x80)
        return spw_get_long(cursor, ret_value);
    *ret_value = *cursor->at++;
    return true;
}

static inline bool spw_get_u32(struct spw_column *cursor, uint32_t *ret_value)
{
    uint64_t value;
    if (!spw_get(cursor, &value) || value > UINT32_MAX)
        return false;
    *ret_value = (uint32_t)value;
    return true;
}

/* Decodes a zigzagged difference and adds it to *value. */
static inline bool spw_get_difference(struct spw_column *cursor, uint64_t *value)
{
    uint64_t difference;
    if (!spw_get(cursor, &difference))
        return false;
    *value += spw_unzigzag(difference);
    return true;
}
#endif
