/* fields.h - defines which fields each kind of record has and how each is encoded: one table for writer and reader.
 *
 * Numbers are varints: seven bits per byte, lowest first, the top bit set on all bytes but the last. Differences are
 * zigzagged first: 0, -1, 1, -2, … become 0, 1, 2, 3, …. A frame has two columns, so that what repeats from one
 * iteration to the next (records) is not interrupted by what never does (times). */
#ifndef SPILLWAY_TRACE_FIELDS_H
#define SPILLWAY_TRACE_FIELDS_H
#include "format.h"

/* The values from which differences are taken. OP, ALLOC and TIME come from the frame's head; the others are 0 at its
 * beginning. */
enum spw_field_slot {
    SPW_SLOT_OP,       /* number of the next operation */
    SPW_SLOT_ALLOC,    /* id of the next allocation */
    SPW_SLOT_TIME,     /* the last host time */
    SPW_SLOT_ADDRESS,  /* address of the last allocation */
    SPW_SLOT_CODE,     /* the last return address */
    SPW_SLOT_TIMED_OP, /* the operation after the one with the last duration record */
    SPW_SLOT_DEVICE,   /* the last device time */
    SPW_SLOTS
};

enum spw_field_type {
    SPW_FIELD_U32,
    SPW_FIELD_U64,
    SPW_FIELD_S32,   /* zigzag */
    SPW_FIELD_FLAG,  /* one byte, 0 or 1 */
    SPW_FIELD_ENUM,  /* one byte, below `most` */
    SPW_FIELD_TEXT,  /* length, at most `most`, then that many bytes */
    SPW_FIELD_BYTES, /* the same */
    SPW_FIELD_CODES, /* count, at most `most`; then each as its difference from `slot`, which is set to it */
    SPW_FIELD_FROM,  /* the difference from `slot` */
    SPW_FIELD_LAST,  /* the difference from `slot`, which is set to this value */
    SPW_FIELD_NEXT,  /* the difference from `slot`, which is set to this value plus one */
    SPW_FIELD_TIME,  /* as LAST, in the column of times */
    SPW_FIELD_SPAN,  /* as U64, in the column of times */
    SPW_FIELD_TYPES
};

struct spw_field {
    const char *name;
    uint8_t type, slot;
    uint16_t most;
    uint16_t offset, count_offset; /* in struct spw_record */
};

struct spw_kind_fields {
    const char *name;
    const struct spw_field *fields; /* NULL for operations, which have a form of their own: encode_op.c */
    unsigned count;
};

extern const struct spw_kind_fields spw_kinds[SPW_RECORD_KINDS];

/* The first byte of a record: its kind and, for operations, the form in the bits above. */
enum {
    SPW_TAG_KIND = 0x1f,
    /* The difference of `bytes` from that of the shape's last use follows; without it they are equal. */
    SPW_TAG_BYTES = 0x20,
    SPW_TAG_NEW = 0x40,  /* a shape follows, and is remembered */
    SPW_TAG_ONCE = 0x80, /* a shape follows, and is not remembered */
};

/* The first byte of a touch: what differs from the same touch of the shape's last use, and how its id changed. */
enum {
    SPW_TOUCH_OFFSET = 1, /* the difference follows */
    SPW_TOUCH_BYTES = 2,  /* the difference follows */
    SPW_TOUCH_ACCESS = 4, /* one byte follows */
    SPW_TOUCH_SHIFT = 3,  /* the way that the id changed is in the bits above: */
    /* As much as the id of the newest allocation: the allocation is made anew in each iteration. */
    SPW_TOUCH_ALONG = 0,
    /* As much as the last time: it is the same allocation, or there is one for each layer. */
    SPW_TOUCH_AGAIN = 1,
    SPW_TOUCH_NEAR = 2, /* this plus the zigzagged difference, for small differences */
    SPW_TOUCH_FAR = 31, /* the difference follows */
};

enum { SPW_SHAPE_CAPTURED = 1, SPW_SHAPE_SYNCHRONOUS = 2, SPW_SHAPE_EVERYTHING = 4 }; /* flags of a shape */

static inline uint64_t spw_zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t spw_unzigzag(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}
#endif
