/* format.c - encodes the heads of a trace and of its frames, and decodes them with every limit checked. */
#include "format.h"

#include <string.h>

/* The remainders of four bits at a time: a table that is small enough to be written here and fast enough for heads. */
static const uint32_t crc_of_nibble[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                           0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                           0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};

uint32_t spw_crc32(const uint8_t *data, size_t bytes)
{
    uint32_t crc = ~UINT32_C(0);
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        crc = crc >> 4 ^ crc_of_nibble[crc & 15];
        crc = crc >> 4 ^ crc_of_nibble[crc & 15];
    }
    return ~crc;
}

static void put(uint8_t *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *in, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)in[i] << 8 * i;
    return value;
}

void spw_trace_head_put(uint8_t out[SPW_TRACE_HEAD_BYTES])
{
    memset(out, 0, SPW_TRACE_HEAD_BYTES);
    memcpy(out, SPW_TRACE_MAGIC, 8);
    put(out + 8, SPW_TRACE_VERSION, 2);
    put(out + 10, SPW_TRACE_HEAD_BYTES, 2);
    put(out + 12, SPW_FRAME_HEAD_BYTES, 2);
    put(out + 16, SPW_FRAME_RAW_BYTES, 4);
    put(out + 28, spw_crc32(out, 28), 4);
}

const char *spw_trace_head_get(const uint8_t *in, size_t have, unsigned *ret_version)
{
    *ret_version = 0;
    if (have == 0)
        return "is empty";
    if (memcmp(in, SPW_TRACE_MAGIC, have < 8 ? have : 8) != 0)
        return "is not a trace";
    if (have < 10)
        return "ends in its head";
    if (get(in + 8, 2) > SPW_TRACE_VERSION) {
        *ret_version = (unsigned)get(in + 8, 2);
        return "was made by a newer version";
    }
    if (have < SPW_TRACE_HEAD_BYTES)
        return "ends in its head";
    uint8_t ours[SPW_TRACE_HEAD_BYTES];
    spw_trace_head_put(ours);
    return memcmp(in, ours, sizeof ours) == 0 ? NULL : "has a damaged head";
}

void spw_frame_head_put(uint8_t out[SPW_FRAME_HEAD_BYTES], const struct spw_frame_head *head)
{
    memcpy(out, SPW_FRAME_MAGIC, 4);
    put(out + 4, head->packed_bytes, 4);
    put(out + 8, head->raw_bytes, 4);
    put(out + 12, head->times_bytes, 4);
    put(out + 16, head->records, 4);
    put(out + 20, head->first_record, 8);
    put(out + 28, head->first_op, 8);
    put(out + 36, head->next_alloc, 8);
    put(out + 44, head->time_ns, 8);
    put(out + 52, spw_crc32(out, 52), 4);
}

static bool within_limits(const struct spw_frame_head *head)
{
    const uint32_t most = head->records > 1 ? SPW_FRAME_MANY_BYTES : SPW_FRAME_RAW_BYTES;
    return head->records > 0 && head->packed_bytes > 0 && head->packed_bytes <= SPW_FRAME_PACKED_BYTES &&
           head->raw_bytes <= most && head->times_bytes <= head->raw_bytes &&
           head->records <= head->raw_bytes - head->times_bytes &&
           (head->first_record | head->first_op) >> SPW_NUMBER_BITS == 0;
}

bool spw_frame_head_get(const uint8_t in[SPW_FRAME_HEAD_BYTES], struct spw_frame_head *ret_head)
{
    if (memcmp(in, SPW_FRAME_MAGIC, 4) != 0 || spw_crc32(in, 52) != get(in + 52, 4))
        return false;
    const struct spw_frame_head head = {
        .packed_bytes = (uint32_t)get(in + 4, 4),
        .raw_bytes = (uint32_t)get(in + 8, 4),
        .times_bytes = (uint32_t)get(in + 12, 4),
        .records = (uint32_t)get(in + 16, 4),
        .first_record = get(in + 20, 8),
        .first_op = get(in + 28, 8),
        .next_alloc = get(in + 36, 8),
        .time_ns = get(in + 44, 8),
    };
    if (!within_limits(&head))
        return false;
    *ret_head = head;
    return true;
}
