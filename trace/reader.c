/* reader.c - finds the frames of a trace, unpacks them one at a time, and continues after damaged parts. */
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include "decode.h"
#include "grow.h"
#include "input.h"

struct spw_trace_reader {
    struct spw_input input;
    uint64_t size_bytes;
    ZSTD_DCtx *zstd;
    uint8_t *raw; /* the unpacked frame */
    size_t raw_room;
    struct spw_frame_head head; /* of the current frame */
    uint64_t frame_offset;
    uint32_t left;         /* records of it that have not been returned */
    uint64_t wasted_bytes; /* of packed frames that could not be unpacked */
    uint64_t records, ops; /* numbers before the next record, including lost ones */
    /* What is missing before the next frame, or the failed read(), has been reported. */
    bool gap_told, failure_told;
    struct spw_decoder decoder;
    struct spw_record record;
};

__attribute__((format(printf, 3, 4))) static int problem(struct spw_trace_problem *ret_problem, uint64_t offset,
                                                         const char *format, ...)
{
    va_list list;
    va_start(list, format);
    ret_problem->offset = offset;
    (void)vsnprintf(ret_problem->reason, sizeof ret_problem->reason, format, list);
    va_end(list);
    return -EBADMSG;
}

static int read_head(struct spw_trace_reader *r, struct spw_trace_problem *ret_problem)
{
    unsigned version;
    const size_t have = spw_input_have(&r->input, SPW_TRACE_HEAD_BYTES);
    if (r->input.error)
        return -r->input.error;
    const char *reason = spw_trace_head_get(spw_input_at(&r->input), have, &version);
    if (version)
        return problem(ret_problem, 8, "%s (%u; this is %d)", reason, version, SPW_TRACE_VERSION);
    if (reason)
        return problem(ret_problem, 0, "%s", reason);
    spw_input_skip(&r->input, SPW_TRACE_HEAD_BYTES);
    return 0;
}

int spw_trace_open(const char *path, struct spw_trace_reader **ret_reader, struct spw_trace_problem *ret_problem)
{
    struct stat found;
    struct spw_trace_reader *r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    int result = spw_input_open(path, &r->input);
    if (result < 0) {
        free(r);
        return result;
    }
    if (fstat(r->input.fd, &found) == 0 && found.st_size > 0)
        r->size_bytes = (uint64_t)found.st_size;
    r->zstd = ZSTD_createDCtx();
    result = r->zstd ? read_head(r, ret_problem) : -ENOMEM;
    if (result < 0) {
        spw_trace_close(r);
        return result;
    }
    *ret_reader = r;
    return 0;
}

void spw_trace_close(struct spw_trace_reader *r)
{
    if (!r)
        return;
    spw_input_close(&r->input);
    spw_decoder_finish(&r->decoder);
    ZSTD_freeDCtx(r->zstd);
    free(r->raw);
    free(r);
}

/* Moves to the next frame head, from here on. Returns false if there is none up to the end of the file. */
static bool find_frame(struct spw_input *input)
{
    struct spw_frame_head head;
    for (;;) {
        const size_t have = spw_input_have(input, SPW_FRAME_HEAD_BYTES);
        if (have < SPW_FRAME_HEAD_BYTES) {
            spw_input_skip(input, have);
            return false;
        }
        if (spw_frame_head_get(spw_input_at(input), &head))
            return true;
        const uint8_t *from = spw_input_at(input) + 1;
        const size_t window = input->end - input->begin - 1;
        const uint8_t *found = memchr(from, SPW_FRAME_MAGIC[0], window);
        spw_input_skip(input, found ? (size_t)(found - from) + 1 : window + 1);
    }
}

/* Skips the damaged frame, whose first `bytes` are known to contain no other head, and reports it. */
static int leave(struct spw_trace_reader *r, size_t bytes, struct spw_trace_problem *ret_problem, const char *reason)
{
    const uint64_t from = r->input.offset;
    r->left = 0;
    r->gap_told = true;
    spw_input_skip(&r->input, bytes);
    if (find_frame(&r->input))
        return problem(ret_problem, from, "%s; it goes on %" PRIu64 " bytes later", reason, r->input.offset - from);
    if (r->input.error && !r->failure_told)
        r->failure_told = true, reason = strerror(r->input.error);
    return problem(ret_problem, from, "%s", reason);
}

/* Frames do not overlap, so those that cannot be unpacked are together no longer than the file. If they are, the file was
 * made to keep us busy. */
static bool is_made_to_waste(const struct spw_trace_reader *r)
{
    return r->wasted_bytes > 2 * r->input.offset + 4 * (uint64_t)SPW_FRAME_PACKED_BYTES;
}

static bool unpack(struct spw_trace_reader *r, const struct spw_frame_head *head, const uint8_t *packed)
{
    return SPW_GROW(r->raw, r->raw_room, head->raw_bytes) == 0 &&
           ZSTD_decompressDCtx(r->zstd, r->raw, head->raw_bytes, packed, head->packed_bytes) == head->raw_bytes;
}

static int at_end(struct spw_trace_reader *r, struct spw_trace_problem *ret_problem)
{
    if (!r->input.error || r->failure_told)
        return 0;
    r->failure_told = true;
    return problem(ret_problem, r->input.offset, "could not be read on: %s", strerror(r->input.error));
}

/* Opens the next frame. Returns 1; 0: there is none; -EBADMSG: see the problem. */
static int next_frame(struct spw_trace_reader *r, struct spw_trace_problem *ret_problem)
{
    struct spw_frame_head head;
    const size_t have = spw_input_have(&r->input, SPW_FRAME_HEAD_BYTES);
    if (have == 0)
        return at_end(r, ret_problem);
    if (have < SPW_FRAME_HEAD_BYTES)
        return leave(r, 0, ret_problem, "ends in the middle of a frame's head");
    if (!spw_frame_head_get(spw_input_at(&r->input), &head))
        return leave(r, 0, ret_problem, "is damaged: no frame begins here");
    if (head.first_record < r->records || head.first_op < r->ops)
        return leave(r, SPW_FRAME_HEAD_BYTES, ret_problem, "is damaged: this frame does not belong here");
    if (head.first_record > r->records && !r->gap_told) {
        r->gap_told = true;
        return problem(ret_problem, r->input.offset, "lacks %" PRIu64 " records that stood here",
                       head.first_record - r->records);
    }
    const size_t bytes = SPW_FRAME_HEAD_BYTES + (size_t)head.packed_bytes;
    if (spw_input_have(&r->input, bytes) < bytes)
        return leave(r, SPW_FRAME_HEAD_BYTES, ret_problem, "ends in the middle of a frame");
    if (is_made_to_waste(r) || !unpack(r, &head, spw_input_at(&r->input) + SPW_FRAME_HEAD_BYTES)) {
        r->wasted_bytes += head.packed_bytes;
        return leave(r, SPW_FRAME_HEAD_BYTES, ret_problem, "is damaged: this frame cannot be unpacked");
    }
    spw_decoder_begin(&r->decoder, &head, r->raw);
    r->head = head;
    r->frame_offset = r->input.offset;
    r->left = head.records;
    r->records = head.first_record;
    r->ops = head.first_op;
    r->gap_told = false;
    spw_input_skip(&r->input, bytes);
    return 1;
}

/* Skips a frame that is whole but contains no more records: its writer did not follow the format. */
static int leave_records(struct spw_trace_reader *r, struct spw_trace_problem *ret_problem)
{
    const uint32_t rest = r->left;
    r->left = 0;
    r->records = r->head.first_record + r->head.records;
    r->gap_told = true;
    return problem(ret_problem, r->frame_offset,
                   "is damaged: %" PRIu32 " of the %" PRIu32 " records of this frame make no sense", rest, r->head.records);
}

int spw_trace_next(struct spw_trace_reader *r, const struct spw_record **ret_record, struct spw_trace_problem *ret_problem)
{
    if (r->left == 0) {
        const int result = next_frame(r, ret_problem);
        if (result <= 0)
            return result;
    }
    if (!spw_decode(&r->decoder, &r->record) || (r->left == 1 && !spw_decoder_is_at_end(&r->decoder)))
        return leave_records(r, ret_problem);
    r->left--;
    r->records++;
    r->ops = r->decoder.slots[SPW_SLOT_OP];
    *ret_record = &r->record;
    return 1;
}

uint64_t spw_trace_ops(const struct spw_trace_reader *r)
{
    return r->ops;
}

uint64_t spw_trace_position_bytes(const struct spw_trace_reader *r)
{
    return r->input.offset;
}

uint64_t spw_trace_size_bytes(const struct spw_trace_reader *r)
{
    return r->size_bytes > r->input.offset ? r->size_bytes : r->input.offset;
}
