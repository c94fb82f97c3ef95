/* region.c - reads regions, and makes one row of rows without gaps. */
#include "region.h"

#include <string.h>

#define MOST_BYTES (UINT64_C(1) << 46) /* no device's memory is as large */

struct region region_plain(uint64_t address, uint64_t bytes)
{
    return (struct region){.address = address, .row_bytes = bytes, .rows = 1, .slices = 1};
}

static bool fits(uint64_t count, uint64_t bytes)
{
    return bytes == 0 || count <= MOST_BYTES / bytes;
}

bool region_read(struct region *ret, uint64_t address, const void *numbers)
{
    uint64_t number[5];
    memcpy(number, numbers, sizeof number);
    struct region r = {address, number[0], number[1], number[2], number[3], number[4]};
    if (r.row_bytes == 0 || r.rows == 0 || r.slices == 0) {
        *ret = region_plain(address, 0);
        return true;
    }
    if (r.row_bytes > MOST_BYTES || !fits(r.rows, r.row_bytes) || !fits(r.rows, r.pitch) ||
        !fits(r.slices, r.row_bytes * r.rows) || !fits(r.slices, r.slice_pitch))
        return false;
    if (r.rows == 1 || r.pitch == r.row_bytes) {
        r.row_bytes *= r.rows;
        r.rows = 1;
        r.pitch = 0;
    }
    if (r.slices > 1 && r.rows == 1 && r.slice_pitch == r.row_bytes) {
        r.row_bytes *= r.slices;
        r.slices = 1;
    }
    if (r.slices == 1)
        r.slice_pitch = 0;
    *ret = r;
    return true;
}

bool region_equal(const struct region *a, const struct region *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}
