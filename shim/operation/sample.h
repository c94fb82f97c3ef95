/* sample.h - some pages of a range of device memory, which stand for all of it.
 *
 * What is hashed of the pages can be held against what was hashed of the same pages before. Where what a kernel leaves
 * undefined is to be the same both times, the pages are filled with a pattern before. */
#ifndef SPILLWAY_SHIM_SAMPLE_H
#define SPILLWAY_SHIM_SAMPLE_H
#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#define SPW_SAMPLE_PAGE ((size_t)4 << 10) /* bytes */

/* At least one page in SPW_SAMPLE_SHARE is taken. */
enum { SPW_SAMPLE_SHARE = 32 };

/* Each byte of what is filled. */
enum { SPW_SAMPLE_PATTERN = 0xb7 };

struct spw_sample {
    CUdeviceptr address; /* a multiple of 16 */
    uint64_t pages;      /* of 4096 bytes */
    uint64_t pitch;      /* bytes from the beginning of one to that of the next; a multiple of 16 */
    uint64_t pattern;
};

/* One page in `step` of so many bytes at the address, another one for each `choice`. */
struct spw_sample spw_sample_of(CUdeviceptr address, size_t bytes, uint64_t choice, size_t step);
#endif
