/* sample.h - chooses pages of a range of device memory that are hashed in place of the whole range.
 *
 * The hash of the pages can be compared with an earlier hash of the same pages. If a kernel leaves a part of them
 * undefined, they are filled with a pattern before each run, so that this part is the same both times. */
#ifndef SPILLWAY_SHIM_SAMPLE_H
#define SPILLWAY_SHIM_SAMPLE_H
#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#define SPW_SAMPLE_PAGE ((size_t)4 << 10) /* bytes */

/* One page in `step` is taken; `step` is at most SPW_SAMPLE_SHARE. */
enum { SPW_SAMPLE_SHARE = 32 };

/* The value of each byte that is filled. */
enum { SPW_SAMPLE_PATTERN = 0xb7 };

struct spw_sample {
    CUdeviceptr address; /* a multiple of 16 */
    uint64_t pages;      /* of 4096 bytes */
    uint64_t pitch;      /* bytes from the beginning of one page to that of the next; a multiple of 16 */
    uint64_t pattern;
};

/* Returns one page in `step` of the `bytes` bytes at the address. `choice` selects which ones. */
struct spw_sample spw_sample_of(CUdeviceptr address, size_t bytes, uint64_t choice, size_t step);
#endif
