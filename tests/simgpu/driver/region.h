/* region.h - the bytes of a matrix within a tensor: equally spaced slices of equally spaced rows. */
#ifndef SIMGPU_DRIVER_REGION_H
#define SIMGPU_DRIVER_REGION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct region {
    uint64_t address;
    uint64_t row_bytes, rows, pitch; /* rows of a slice, and bytes from one to the next */
    uint64_t slices, slice_pitch;    /* bytes from one to the next */
};

struct region region_plain(uint64_t address, uint64_t bytes);
/* Reads five numbers, the members in order. Returns false if the region is too large. An empty region is one row of no
 * bytes. */
bool region_read(struct region *ret, uint64_t address, const void *numbers);
bool region_equal(const struct region *a, const struct region *b);

static inline uint64_t region_row_count(const struct region *r)
{
    return r->rows * r->slices;
}

/* The bytes without those between the rows. */
static inline uint64_t region_bytes(const struct region *r)
{
    return r->row_bytes * r->rows * r->slices;
}

/* The address of row `i` of all rows, slice after slice. */
static inline uint64_t region_row(const struct region *r, uint64_t i)
{
    return r->address + i / r->rows * r->slice_pitch + i % r->rows * r->pitch;
}

/* The address after the last byte. */
static inline uint64_t region_end(const struct region *r)
{
    return r->address + (r->slices - 1) * r->slice_pitch + (r->rows - 1) * r->pitch + r->row_bytes;
}
#endif
