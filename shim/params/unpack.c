/* unpack.c - unpacks Zstandard by its library, and LZ4 blocks by itself. */
#include "unpack.h"

#include <stdint.h>
#include <string.h>
#include <zstd.h>

enum { LENGTH_MORE = 15, MATCH_LEAST = 4 };

/* If a program defines these functions, zstd calls them for everything that it unpacks. Ours do nothing, and are not
 * visible to other libraries. */
__attribute__((visibility("hidden"))) unsigned long long ZSTD_trace_decompress_begin(const void *context);
__attribute__((visibility("hidden"))) void ZSTD_trace_decompress_end(unsigned long long trace, const void *what);

unsigned long long ZSTD_trace_decompress_begin(const void *context)
{
    (void)context;
    return 0;
}

void ZSTD_trace_decompress_end(unsigned long long trace, const void *what)
{
    (void)trace;
    (void)what;
}

bool spw_unpack_zstd(const void *from, size_t from_bytes, void *to, size_t bytes)
{
    return ZSTD_decompress(to, bytes, from, from_bytes) == bytes; /* an error is larger than any size */
}

struct lz4 {
    const uint8_t *from, *from_end;
    uint8_t *start, *to, *to_end;
};

/* A length that does not fit into its four bits continues in bytes, the last of which is not 255. */
static bool read_length(struct lz4 *z, size_t *length)
{
    uint8_t more = UINT8_MAX;
    if (*length < LENGTH_MORE)
        return true;
    while (more == UINT8_MAX) {
        if (z->from == z->from_end)
            return false;
        more = *z->from++;
        *length += more;
    }
    return true;
}

static bool take_literals(struct lz4 *z, size_t length)
{
    if (length > (size_t)(z->from_end - z->from) || length > (size_t)(z->to_end - z->to))
        return false;
    if (length)
        memcpy(z->to, z->from, length);
    z->from += length;
    z->to += length;
    return true;
}

/* The source may overlap the bytes that this copy writes. */
static bool take_match(struct lz4 *z, size_t length)
{
    if (z->from_end - z->from < 2)
        return false;
    const size_t offset = z->from[0] | (size_t)z->from[1] << 8;
    z->from += 2;
    if (!read_length(z, &length))
        return false;
    length += MATCH_LEAST;
    if (!offset || offset > (size_t)(z->to - z->start) || length > (size_t)(z->to_end - z->to))
        return false;
    for (size_t i = 0; i < length; i++, z->to++)
        *z->to = z->to[-(ptrdiff_t)offset];
    return true;
}

/* The block has sequences of literals and a match; the last sequence has literals only. */
bool spw_unpack_lz4(const void *from, size_t from_bytes, void *to, size_t bytes)
{
    struct lz4 z = {from, (const uint8_t *)from + from_bytes, to, to, (uint8_t *)to + bytes};
    while (z.from < z.from_end) {
        const uint8_t token = *z.from++;
        size_t literals = token >> 4;
        if (!read_length(&z, &literals) || !take_literals(&z, literals))
            return false;
        if (z.from == z.from_end)
            return z.to == z.to_end;
        if (!take_match(&z, token & LENGTH_MORE))
            return false;
    }
    return false;
}
