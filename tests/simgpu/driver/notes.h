/* notes.h - what launches of opaque kernels touch, determined once for all launches with the same relevant parameters. */
#ifndef SIMGPU_DRIVER_NOTES_H
#define SIMGPU_DRIVER_NOTES_H
#include "layouts.h"
#include "ranges.h"
#include "region.h"

struct touched { /* one touched tensor, or a part of it */
    struct region where;
    uint64_t tensor; /* its address */
    uint64_t serial; /* its number among all tensors ever made; 0: one of the driver's blocks */
    bool reads, writes;
    struct ranges defined; /* only these bytes are read, since the rest was unwritten; empty: all are read */
};

struct note {
    struct note *next;
    uint64_t key[2];
    uint64_t seed; /* digest for the result, of everything but what is read */
    bool is_announced;
    double flops, bytes;
    uint32_t count;
    struct touched touched[];
};

/* Examines the parameters together with what the program holds now. The note can be found from then on, and what it says
 * is written counts as written. NULL: no memory. Notes stay until the process ends. */
const struct note *note_make(const struct layout *layout, const uint32_t grid[3], const uint32_t block[3], const void *image,
                             bool announced);
/* Returns the newest note for these parameters. If it was not announced, the parameters have to lead to the same tensors
 * as then, unless a tensor no longer exists. NULL: there is no such note. */
const struct note *note_find(const struct layout *layout, const uint32_t grid[3], const uint32_t block[3],
                             const void *image);

/* Adds a number to a digest. */
static inline uint64_t note_mix(uint64_t digest, uint64_t number)
{
    digest = (digest ^ number) * 0x9e3779b97f4a7c15u;
    return digest ^ digest >> 29;
}
#endif
