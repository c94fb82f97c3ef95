/* mutate.c - damages a trace the way that finds mistakes: on the outside, in heads and behind the checksums. */
#include "mutate.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "format.h"
#include "records.h"

/* Asked by the sanitizer, where there is one: what it finds is a failure and not a line in a log. */
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:print_stacktrace=1";
}

static uint64_t below(uint64_t *seed, uint64_t limit)
{
    return limit ? random_number(seed) % limit : 0;
}

/* Puts `count` bytes at `at`, as far as there is room. */
static size_t insert(uint8_t *data, size_t bytes, size_t room, size_t at, const uint8_t *what, size_t count)
{
    if (count > room - bytes)
        return bytes;
    memmove(data + at + count, data + at, bytes - at);
    memcpy(data + at, what, count);
    return bytes + count;
}

static size_t change_once(uint8_t *data, size_t bytes, size_t room, uint64_t *seed)
{
    static const uint8_t interesting[] = {0x00, 0x01, 0x07, 0x08, 0x1f, 0x28, 0x40, 0x48,
                                          0x7f, 0x80, 0x88, 0xa8, 0xc8, 0xf8, 0xff};
    const size_t at = below(seed, bytes), count = 1 + below(seed, 16), left = bytes - at;
    uint8_t piece[16];
    switch (bytes ? below(seed, 8) : 7) {
    case 0:
        data[at] ^= (uint8_t)(1u << below(seed, 8));
        return bytes;
    case 1:
        data[at] = interesting[below(seed, sizeof interesting)];
        return bytes;
    case 2:
        data[at] = (uint8_t)(data[at] + below(seed, 9) - 4);
        return bytes;
    case 3:
        memset(data + at, 0xff, count < left ? count : left);
        return bytes;
    case 4:
        memmove(data + at, data + at + (count < left ? count : left), left - (count < left ? count : left));
        return bytes - (count < left ? count : left);
    case 5:
        return below(seed, 4) ? bytes : at;
    case 6:
        memcpy(piece, data + at, count < left ? count : left);
        return insert(data, bytes, room, below(seed, bytes), piece, count < left ? count : left);
    default:
        for (size_t i = 0; i < count; i++)
            piece[i] = (uint8_t)random_number(seed);
        return insert(data, bytes, room, at, piece, count);
    }
}

static size_t change(uint8_t *data, size_t bytes, size_t room, uint64_t *seed)
{
    for (uint64_t times = 1 + below(seed, 4); times > 0; times--)
        bytes = change_once(data, bytes, room, seed);
    return bytes;
}

/* A frame of the file, any of them; its offset, 0 when there is none. */
static size_t choose_frame(const uint8_t *file, size_t bytes, uint64_t *seed, struct spw_frame_head *ret_head)
{
    size_t chosen = 0, seen = 0;
    struct spw_frame_head head;
    for (size_t at = SPW_TRACE_HEAD_BYTES; at + SPW_FRAME_HEAD_BYTES <= bytes && spw_frame_head_get(file + at, &head);
         at += SPW_FRAME_HEAD_BYTES + head.packed_bytes) {
        if (head.packed_bytes > bytes - at - SPW_FRAME_HEAD_BYTES)
            break;
        if (below(seed, ++seen) == 0) {
            chosen = at;
            *ret_head = head;
        }
    }
    return chosen;
}

/* A number near the old one, or none like it. */
static uint64_t other_number(uint64_t old, uint64_t *seed)
{
    switch (below(seed, 4)) {
    case 0:
        return old + below(seed, 5) - 2;
    case 1:
        return UINT64_MAX >> below(seed, 64);
    case 2:
        return below(seed, 3);
    default:
        return old ^ UINT64_C(1) << below(seed, 64);
    }
}

static void change_head(uint8_t *at, struct spw_frame_head *head, uint64_t *seed)
{
    uint32_t *const words[] = {&head->packed_bytes, &head->raw_bytes, &head->times_bytes, &head->records};
    uint64_t *const numbers[] = {&head->first_record, &head->first_op, &head->next_alloc, &head->time_ns};
    const uint64_t which = below(seed, 8);
    if (which < 4)
        *words[which] = (uint32_t)other_number(*words[which], seed);
    else
        *numbers[which - 4] = other_number(*numbers[which - 4], seed);
    spw_frame_head_put(at, head);
}

/* Puts `packed_bytes` bytes in place of the frame's body, with the head to go with it. */
static size_t replace_body(uint8_t *file, size_t bytes, size_t room, size_t at, struct spw_frame_head *head,
                           const uint8_t *packed, size_t packed_bytes)
{
    const size_t body = at + SPW_FRAME_HEAD_BYTES, after = body + head->packed_bytes;
    if (bytes - head->packed_bytes + packed_bytes > room)
        return bytes;
    memmove(file + body + packed_bytes, file + after, bytes - after);
    memcpy(file + body, packed, packed_bytes);
    bytes += packed_bytes;
    bytes -= head->packed_bytes;
    head->packed_bytes = (uint32_t)packed_bytes;
    spw_frame_head_put(file + at, head);
    return bytes;
}

/* Changes what is in a frame and packs it again: only this reaches what lies behind the checksums. */
static size_t change_body(uint8_t *file, size_t bytes, size_t room, size_t at, struct spw_frame_head *head, uint64_t *seed)
{
    static uint8_t raw[SPW_FRAME_RAW_BYTES + 256], packed[ZSTD_COMPRESSBOUND(sizeof raw)];
    static ZSTD_CCtx *zstd;
    if (!zstd)
        zstd = ZSTD_createCCtx();
    const uint8_t *body = file + at + SPW_FRAME_HEAD_BYTES;
    size_t records = head->raw_bytes - head->times_bytes, times = head->times_bytes;
    if (!zstd || ZSTD_decompress(raw, sizeof raw, body, head->packed_bytes) != head->raw_bytes)
        return bytes;
    if (below(seed, 8)) { /* the records, with the times moved up behind them */
        static uint8_t kept[SPW_FRAME_RAW_BYTES];
        memcpy(kept, raw + records, times);
        records = change(raw, records, SPW_FRAME_RAW_BYTES - times, seed);
        memcpy(raw + records, kept, times);
    } else {
        times = change(raw + records, times, SPW_FRAME_RAW_BYTES - records, seed);
    }
    (void)ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, 1);
    (void)ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    const size_t n = ZSTD_compress2(zstd, packed, sizeof packed, raw, records + times);
    if (ZSTD_isError(n))
        return bytes;
    head->raw_bytes = (uint32_t)(records + times);
    head->times_bytes = (uint32_t)times;
    if (below(seed, 4) == 0)
        head->records = (uint32_t)below(seed, head->records + 2);
    return replace_body(file, bytes, room, at, head, packed, n);
}

/* Leaves a frame out, or puts it in once more behind itself. */
static size_t move_frame(uint8_t *file, size_t bytes, size_t room, size_t at, const struct spw_frame_head *head,
                         uint64_t *seed)
{
    const size_t count = SPW_FRAME_HEAD_BYTES + head->packed_bytes, after = at + count;
    if (below(seed, 2)) {
        memmove(file + at, file + after, bytes - after);
        return bytes - count;
    }
    if (count > room - bytes)
        return bytes;
    memmove(file + after + count, file + after, bytes - after);
    memcpy(file + after, file + at, count);
    return bytes + count;
}

size_t mutate(uint8_t *file, size_t bytes, size_t room, uint64_t *seed)
{
    struct spw_frame_head head;
    const size_t at = choose_frame(file, bytes, seed, &head);
    const uint64_t how = at ? below(seed, 16) : 0;
    if (how < 3)
        return change(file, bytes, room, seed);
    if (how < 5)
        return change_head(file + at, &head, seed), bytes;
    if (how < 6)
        return move_frame(file, bytes, room, at, &head, seed);
    if (how < 7)
        return change(file + at + SPW_FRAME_HEAD_BYTES, head.packed_bytes, head.packed_bytes, seed), bytes;
    return change_body(file, bytes, room, at, &head, seed);
}
