/* outside.h - remembers which tensors hold addresses of outside memory, that is of memory which is not only device memory
 * of the program: pinned, registered and managed host memory, and memory of other processes.
 *
 * The host can change such memory without any call, so a launch that may follow an address to it is not run again. Two
 * things are known: where the host copied such addresses to, and where they were found in device memory (seek.h). Every
 * word counts, though a number may look like an address by chance. A copied range is remembered as a whole, and follows
 * copies on the device. Any thread, with any lock held but that of pointer_tables.h. */
#ifndef SPILLWAY_SHIM_OUTSIDE_H
#define SPILLWAY_SHIM_OUTSIDE_H
#include "ours.h"
#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SPW_OUTSIDE_MAX 1024 /* ranges that are remembered; beyond that, gaps between ranges count as well */

extern atomic_uint spw_outside_count SPW_OURS; /* number of remembered ranges */

static inline bool spw_outside_any(void)
{
    return atomic_load_explicit(&spw_outside_count, memory_order_relaxed) != 0;
}

/* Notes for good that outside memory lies at [address, address + bytes). Without any note, no word counts as an address of
 * such memory. */
void spw_outside_lies_at(CUdeviceptr address, size_t bytes);

/* Returns true if any of `count` words is in [low, low + extent). It has no branch for each word, so it is as fast as
 * memory can be read. */
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

/* Returns in *ret_low and *ret_bytes the range from the first to the last byte of outside memory, or false if there is
 * none. */
bool spw_outside_extent(CUdeviceptr *ret_low, CUdeviceptr *ret_bytes);

/* Returns true if any word at a multiple of 8, once the bytes are copied to `destination`, is an address of outside
 * memory. */
bool spw_outside_among(CUdeviceptr destination, const void *source, size_t bytes);

/* Returns true if the driver knows the word as an address that is not ours. */
bool spw_leads_outside(CUdeviceptr word);

/* Returns true if kernels of the current device can access ordinary host memory (HMM, ATS), and the word is an address of
 * an existing page. Many left-over words are such addresses, so this is for parameters that are nothing but an address. */
bool spw_leads_to_pageable_memory(CUdeviceptr word);

/* Notes that [destination, destination + bytes) of the arena is overwritten with what host memory at `source` holds at this
 * moment. */
void spw_outside_learn(CUdeviceptr destination, const void *source, size_t bytes);

/* The same with what device memory at `source` holds. */
void spw_outside_copied(CUdeviceptr destination, CUdeviceptr source, size_t bytes);

/* Forgets [low, high), which was freed or holds no address any more. */
void spw_outside_forget(CUdeviceptr low, CUdeviceptr high);

/* Returns true if anything in [low, high) may hold an address of outside memory. */
bool spw_outside_has(CUdeviceptr low, CUdeviceptr high);

void spw_outside_reset(void); /* for tests */
#endif
