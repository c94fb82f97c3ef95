/* encode.h - encodes records into the two columns of a frame.
 *
 * An encoder holds one frame: spw_encoder_begin() starts it, spw_encode() adds a record, and the owner takes the columns
 * away. Nothing is allocated. */
#ifndef SPILLWAY_TRACE_ENCODE_H
#define SPILLWAY_TRACE_ENCODE_H
#include "fields.h"

enum {
    SPW_SHAPE_SLOTS = 2 * SPW_FRAME_SHAPES,
    SPW_TOUCH_ROOM = 32,      /* most bytes of a touch */
    SPW_RECORD_ROOM = 20480,  /* most bytes of a record without its touches */
    SPW_OP_ROOM = 128,        /* most bytes of an operation without its touches */
    SPW_RECORD_TIMES = 20,    /* most bytes of a record in the column of times */
    SPW_SMALL_TOUCHES = 1024, /* an operation with more touches gets a frame of its own */
};

/* What distinguishes operations, apart from their touches, as it lies in struct spw_record_op. */
struct spw_shape_key {
    uint64_t kind_stream, flags_touches; /* flags: three bools */
    uint64_t launch[4];                  /* function, grid, block, shared bytes */
};

struct spw_encoder_shape {
    struct spw_shape_key key;
    uint64_t bytes;       /* of its last use */
    uint64_t next_alloc;  /* at its last use */
    uint32_t first_touch; /* the first touch of its last use */
    uint32_t follower;    /* the shape that came after its last use */
};

struct spw_last_touch {
    struct spw_touch touch;
    uint64_t went; /* by how much its id differed from the use before */
};

struct spw_encoder {
    uint8_t *records, *records_at; /* the column: where it begins, and where it ends so far */
    uint8_t *times, *times_at;     /* likewise; the owner makes sure that the next record fits into both */
    uint64_t slots[SPW_SLOTS];
    uint32_t shape_count, touch_count;
    uint32_t previous;               /* the shape of the last operation */
    uint16_t table[SPW_SHAPE_SLOTS]; /* 1 + the index of a shape, placed by the hash of its key; 0: empty */
    struct spw_encoder_shape shapes[SPW_FRAME_SHAPES];
    struct spw_last_touch touches[SPW_FRAME_TOUCHES];
};

/* Starts an empty frame that continues where the last one ended. */
void spw_encoder_begin(struct spw_encoder *encoder);

/* Adds a record. Returns 0, or -EINVAL if it exceeds a limit: nothing of it was added, but the owner must close the frame
 * now. */
int spw_encode(struct spw_encoder *encoder, const struct spw_record *record);

/* For encode.c: does the same for an operation. */
int spw_encode_op(struct spw_encoder *encoder, const struct spw_record_op *op);

uint8_t *spw_put_long(uint8_t *at, uint64_t value);

static inline uint8_t *spw_put_varint(uint8_t *at, uint64_t value)
{
    at[0] = (uint8_t)value;
    if (value < 1 << 7)
        return at + 1;
    if (value >= 1 << 21)
        return spw_put_long(at, value);
    at[0] |= 0x80;
    at[1] = (uint8_t)(value >> 7);
    if (value < 1 << 14)
        return at + 2;
    at[1] |= 0x80;
    at[2] = (uint8_t)(value >> 14);
    return at + 3;
}

static inline void spw_put_time(struct spw_encoder *encoder, enum spw_field_slot slot, uint64_t time_ns)
{
    encoder->times_at = spw_put_varint(encoder->times_at, spw_zigzag(time_ns - encoder->slots[slot]));
    encoder->slots[slot] = time_ns;
}
#endif
