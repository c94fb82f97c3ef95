/* outside.h - tensors that hold addresses of memory that is not the program's device memory alone: pinned, registered and
 * managed host memory, memory of other processes.
 *
 * The host changes such memory without any call, so a launch that may follow an address to it is not run again. What is
 * known is where the host copied such addresses to, and where they were found in device memory (seek.h); every word counts,
 * though a number may look like one by chance. What was copied to is remembered as a whole, and goes on from there with
 * copies on the device. Any thread, any lock held but that of pointer_tables.h. */
#ifndef SPILLWAY_SHIM_OUTSIDE_H
#define SPILLWAY_SHIM_OUTSIDE_H
#include "ours.h"
#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SPW_OUTSIDE_MAX 1024 /* places that are remembered; beyond that, what lies between two counts as well */

extern atomic_uint spw_outside_count SPW_OURS; /* of places */

static inline bool spw_outside_any(void)
{
    return atomic_load_explicit(&spw_outside_count, memory_order_relaxed) != 0;
}

/* Memory that is not the program's device memory alone lies at [address, address + bytes), once and for all. Without any
 * nothing counts as an address of such memory. */
void spw_outside_lies_at(CUdeviceptr address, size_t bytes);

/* Whether any of so many words is in [low, low + extent). Without a branch for each of them, which is as fast as memory is
 * read. */
static inline bool spw_any_word_in(const char *from, unsigned count, CUdeviceptr low, CUdeviceptr extent)
{
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++) {
        CUdeviceptr word;
        memcpy(&word, from + (size_t)8 * i, sizeof(word));
        found |= word - low < extent;
    }
    return found;
}

/* From the first byte of such memory to the last. False: there is none. */
bool spw_outside_extent(CUdeviceptr *ret_low, CUdeviceptr *ret_bytes);

/* Whether any of the words that lie at multiples of 8, once so many bytes are at `destination`, is such an address. */
bool spw_outside_among(CUdeviceptr destination, const void *source, size_t bytes);

/* True when the driver knows the word as an address that is none of ours. */
bool spw_leads_outside(CUdeviceptr word);

/* True when kernels of the current device reach what the host allocates in the usual way (HMM, ATS), and the word is an
 * address of something that is there. So is many a word that is left of an old call: this is for parameters that are nothing
 * but an address. */
bool spw_leads_to_pageable_memory(CUdeviceptr word);

/* [destination, destination + bytes) of the arena gets what host memory at `source` holds now. */
void spw_outside_learn(CUdeviceptr destination, const void *source, size_t bytes);

/* The same of what device memory at `source` holds. */
void spw_outside_copied(CUdeviceptr destination, CUdeviceptr source, size_t bytes);

/* [low, high) is freed, or holds no address any more. */
void spw_outside_forget(CUdeviceptr low, CUdeviceptr high);

/* Whether any of [low, high) may hold such an address. */
bool spw_outside_has(CUdeviceptr low, CUdeviceptr high);

void spw_outside_reset(void); /* for tests */
#endif
