/* notes.h - what launches of opaque kernels touch, settled once for all whose parameters are the same as far as they count.
 */
#ifndef SIMGPU_DRIVER_NOTES_H
#define SIMGPU_DRIVER_NOTES_H
#include "layouts.h"
#include "ranges.h"
#include "region.h"

struct touched { /* of one tensor, or of part of it */
    struct region where;
    uint64_t tensor; /* its address */
    uint64_t serial; /* which of all tensors that were ever made there; 0: of the driver's blocks */
    bool reads, writes;
    struct ranges defined; /* what is read is this alone, for nobody had written the rest; none: it is all */
};

struct note {
    struct note *next;
    uint64_t key[2];
    uint64_t seed; /* of the result: all but what is read */
    bool is_announced;
    double flops, bytes;
    uint32_t count;
    struct touched touched[];
};

/* Looks at the parameters with what the program holds now; the note is found from then on, and what it says is written
 * counts as written. NULL: no memory. Notes stay until the process ends. */
const struct note *note_make(const struct layout *layout, const uint32_t grid[3], const uint32_t block[3], const void *image,
                             bool announced);
/* The newest for these parameters. If that was not announced it has to mean what they lead to now: each tensor is the one
 * that it was, or there is none any more. NULL: there is no such note. */
const struct note *note_find(const struct layout *layout, const uint32_t grid[3], const uint32_t block[3],
                             const void *image);

/* One more number in a digest. */
static inline uint64_t note_mix(uint64_t digest, uint64_t number)
{
    digest = (digest ^ number) * 0x9e3779b97f4a7c15u;
    return digest ^ digest >> 29;
}
#endif
