/* format.h - defines the fixed parts of a trace file: its head, the head of a frame, and the limits that hold for readers.
 *
 * docs/trace-format.md says the same for authors of other readers; a test keeps the two equal. */
#ifndef SPILLWAY_TRACE_FORMAT_H
#define SPILLWAY_TRACE_FORMAT_H
#include "record.h"

enum {
    SPW_TRACE_VERSION = 1,
    SPW_TRACE_HEAD_BYTES = 32,
    SPW_FRAME_HEAD_BYTES = 56,
    SPW_FRAME_FULL_BYTES = 64 << 10,        /* a writer closes a frame of this size */
    SPW_FRAME_MANY_BYTES = 128 << 10,       /* largest frame with several records */
    SPW_FRAME_RAW_BYTES = (2 << 20) + 4096, /* largest frame with one record */
    SPW_FRAME_PACKED_BYTES = SPW_FRAME_RAW_BYTES + (64 << 10),
    SPW_FRAME_SHAPES = 4096,   /* shapes of operations remembered within a frame */
    SPW_FRAME_TOUCHES = 16384, /* touches remembered with them, in total */
    SPW_BUILD_ID = 64,
    SPW_NUMBER_BITS = 62, /* numbers of records and operations in a frame's head are below 1 << 62 */
};

#define SPW_TRACE_MAGIC "\x93SPWT\r\n\x1a" /* 8 bytes; shows at once if a transfer as text has changed the file */
#define SPW_FRAME_MAGIC "\xf5SPW"          /* 4 bytes */

struct spw_frame_head {
    uint32_t packed_bytes; /* of the zstd frame that follows the head */
    uint32_t raw_bytes;    /* of its contents: first the records, then the times */
    uint32_t times_bytes;
    uint32_t records;
    uint64_t first_record, first_op; /* numbers of records and operations before the frame */
    uint64_t next_alloc;             /* the id of the next allocation */
    uint64_t time_ns;                /* the last time before the frame */
};

/* CRC-32 as in zlib, gzip and PNG. */
uint32_t spw_crc32(const uint8_t *data, size_t bytes);

void spw_trace_head_put(uint8_t out[SPW_TRACE_HEAD_BYTES]);
void spw_frame_head_put(uint8_t out[SPW_FRAME_HEAD_BYTES], const struct spw_frame_head *head);

/* Checks the `have` bytes at `in`. Returns NULL if they begin with the head of a trace that this code reads, else what is
 * wrong. *ret_version is the file's version if that is the reason, else 0. */
const char *spw_trace_head_get(const uint8_t *in, size_t have, unsigned *ret_version);

/* Returns true if the bytes are a frame's head: magic, checksum and all limits hold. */
bool spw_frame_head_get(const uint8_t in[SPW_FRAME_HEAD_BYTES], struct spw_frame_head *ret_head);
#endif
