/* writer.c - collects encoded records in frames, compresses each and appends it to the file. */
#include "writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "encode.h"
#include "output.h"

enum {
    LEVEL = -5, /* fast, and without entropy coding of literals, which small frames do not justify */
    /* A frame is closed at FULL, so each record finds at least this much room. */
    SPARE_BYTES = SPW_RECORD_ROOM + SPW_SMALL_TOUCHES * SPW_TOUCH_ROOM,
    COLUMN_BYTES = SPW_FRAME_FULL_BYTES + SPARE_BYTES,
    PACKED_BYTES = SPW_FRAME_HEAD_BYTES + ZSTD_COMPRESSBOUND(SPW_FRAME_MANY_BYTES),
};
_Static_assert(COLUMN_BYTES + SPW_RECORD_TIMES <= SPW_FRAME_MANY_BYTES, "a frame of several records keeps its limit");
_Static_assert(SPW_OP_ROOM + SPW_RECORD_TOUCHES * SPW_TOUCH_ROOM + SPW_RECORD_TIMES <= SPW_FRAME_RAW_BYTES,
               "the longest record has room in a frame");
_Static_assert(ZSTD_COMPRESSBOUND(SPW_FRAME_RAW_BYTES) <= SPW_FRAME_PACKED_BYTES, "and keeps the limit of what is packed");

/* zstd calls these if any library in the process defines them. Our frames are no other library's business: these two are
 * hidden, and say that there is nothing to trace. */
unsigned long long ZSTD_trace_compress_begin(const ZSTD_CCtx *zstd);
void ZSTD_trace_compress_end(unsigned long long trace, const void *what);

unsigned long long ZSTD_trace_compress_begin(const ZSTD_CCtx *zstd)
{
    return 0;
}

void ZSTD_trace_compress_end(unsigned long long trace, const void *what)
{
}

struct spw_trace_writer {
    struct spw_output output;
    int error;       /* the negative errno that ended writing; 0 so far */
    uint64_t offset; /* where the next frame goes */
    ZSTD_CCtx *zstd;
    uint64_t pending_ns;        /* time of the oldest record of the frame; 0 if there is none */
    struct spw_frame_head head; /* of the frame being filled */
    struct spw_encoder encoder;
    uint8_t records[SPW_FRAME_MANY_BYTES]; /* the column and, at the end, the times after it */
    uint8_t times[SPW_FRAME_FULL_BYTES + SPW_RECORD_TIMES];
    uint8_t packed[PACKED_BYTES];
};

/* Begins a frame. The encoder's slots have advanced with each record; the frame's head says where they are. */
static void begin_frame(struct spw_trace_writer *w)
{
    spw_encoder_begin(&w->encoder);
    w->head = (struct spw_frame_head){
        .first_record = w->head.first_record + w->head.records,
        .first_op = w->encoder.slots[SPW_SLOT_OP],
        .next_alloc = w->encoder.slots[SPW_SLOT_ALLOC],
        .time_ns = w->encoder.slots[SPW_SLOT_TIME],
    };
    w->pending_ns = 0;
}

/* Packs the frame, whose columns lie in `raw` one after the other, into `packed` after its head, and appends it. */
static int append_frame(struct spw_trace_writer *w, const uint8_t *raw, uint8_t *packed, size_t room)
{
    const size_t n =
        ZSTD_compress2(w->zstd, packed + SPW_FRAME_HEAD_BYTES, room - SPW_FRAME_HEAD_BYTES, raw, w->head.raw_bytes);
    if (ZSTD_isError(n))
        return -ENOMEM; /* there is room for the result, and the parameters are fixed */
    w->head.packed_bytes = (uint32_t)n;
    spw_frame_head_put(packed, &w->head);
    const int r = spw_output_append(&w->output, w->offset, packed, SPW_FRAME_HEAD_BYTES + n);
    if (r == 0)
        w->offset += SPW_FRAME_HEAD_BYTES + n;
    return r;
}

/* Copies the times after the records. */
static void join_columns(struct spw_trace_writer *w)
{
    struct spw_encoder *e = &w->encoder;
    const size_t records_bytes = (size_t)(e->records_at - e->records);
    w->head.times_bytes = (uint32_t)(e->times_at - e->times);
    memcpy(e->records_at, e->times, w->head.times_bytes);
    w->head.raw_bytes = (uint32_t)records_bytes + w->head.times_bytes;
}

int spw_trace_flush(struct spw_trace_writer *w)
{
    if (w->error < 0)
        return w->error;
    if (w->head.records == 0)
        return 0;
    join_columns(w);
    w->error = append_frame(w, w->records, w->packed, sizeof w->packed);
    begin_frame(w);
    return w->error;
}

/* Writes an operation with very many touches as a frame of its own, with separate memory. */
static int put_alone(struct spw_trace_writer *w, const struct spw_record *record)
{
    struct spw_encoder *e = &w->encoder;
    const size_t room = SPW_OP_ROOM + (size_t)record->op.touch_count * SPW_TOUCH_ROOM + SPW_RECORD_TIMES;
    const size_t packed_room = SPW_FRAME_HEAD_BYTES + ZSTD_compressBound(room);
    int r = spw_trace_flush(w);
    if (r < 0)
        return r;
    uint8_t *raw = malloc(room), *packed = malloc(packed_room);
    r = raw && packed ? 0 : -ENOMEM;
    if (r == 0) {
        e->records = e->records_at = raw;
        r = spw_encode(e, record);
    }
    if (r == 0) {
        w->head.records = 1;
        join_columns(w);
        r = w->error = append_frame(w, raw, packed, packed_room);
    }
    e->records = w->records;
    begin_frame(w);
    free(raw);
    free(packed);
    return r;
}

/* Records without a time count from the last known time. 0 means "none", so time 0 is stored as 1. */
static void note_pending(struct spw_trace_writer *w)
{
    const uint64_t now = w->encoder.slots[SPW_SLOT_TIME];
    w->pending_ns = now ? now : 1;
}

int spw_trace_put(struct spw_trace_writer *w, const struct spw_record *record)
{
    struct spw_encoder *e = &w->encoder;
    if (w->error < 0)
        return w->error;
    if (record->kind == SPW_RECORD_OP && record->op.touch_count > SPW_SMALL_TOUCHES)
        return record->op.touch_count > SPW_RECORD_TOUCHES ? -EINVAL : put_alone(w, record);
    const int r = spw_encode(e, record);
    if (r < 0) {
        if (w->head.records == 0)
            begin_frame(w);
        else
            (void)spw_trace_flush(w); /* the next call returns its error, if any */
        return r;
    }
    w->head.records++;
    if (w->pending_ns == 0)
        note_pending(w);
    if ((e->records_at - e->records) + (e->times_at - e->times) >= SPW_FRAME_FULL_BYTES)
        return spw_trace_flush(w);
    return 0;
}

uint64_t spw_trace_pending_since_ns(const struct spw_trace_writer *w)
{
    return w->pending_ns;
}

static int write_head(struct spw_trace_writer *w)
{
    uint8_t head[SPW_TRACE_HEAD_BYTES];
    spw_trace_head_put(head);
    w->offset = sizeof head;
    return spw_output_append(&w->output, 0, head, sizeof head);
}

int spw_trace_writer_create(const char *path, struct spw_trace_writer **ret_writer)
{
    struct spw_trace_writer *w = calloc(1, sizeof *w);
    if (!w)
        return -ENOMEM;
    int r = -ENOMEM;
    w->output.fd = -1;
    w->zstd = ZSTD_createCCtx();
    if (!w->zstd)
        goto fail;
    (void)ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, LEVEL);
    (void)ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
    w->encoder.records = w->records;
    w->encoder.times = w->times;
    w->encoder.slots[SPW_SLOT_ALLOC] = 1;
    begin_frame(w);
    r = spw_output_create(path, &w->output);
    if (r < 0)
        goto fail;
    r = write_head(w);
    if (r < 0)
        goto fail;
    *ret_writer = w;
    return 0;
fail:
    spw_trace_writer_abandon(w);
    return r;
}

void spw_trace_writer_abandon(struct spw_trace_writer *w)
{
    if (!w)
        return;
    (void)spw_output_close(&w->output);
    ZSTD_freeCCtx(w->zstd);
    free(w);
}

int spw_trace_writer_destroy(struct spw_trace_writer *w)
{
    if (!w)
        return 0;
    const int flushed = spw_trace_flush(w), closed = spw_output_close(&w->output);
    spw_trace_writer_abandon(w);
    return flushed < 0 ? flushed : closed;
}
