/* seek_losses.h - whether all that a look has found was still there when the host read it.
 *
 * A look tells for each part of a range that there is a word in it which lies among the addresses (seek_kernel.h). The host
 * reads the words later, when the memory may have been written over, or what they lead to may be gone. A part whose words
 * account for the answer has lost nothing. A word accounts for it that leads to something alive, to memory that was never
 * given out, or to where memory that is not ours lies. A word that leads to what is gone does not: it may be an address that
 * was stored and followed.
 *
 * Engine lock. */
#ifndef SPILLWAY_SHIM_SEEK_LOSSES_H
#define SPILLWAY_SHIM_SEEK_LOSSES_H
#include "ours.h"
#include "seek_kernel.h"
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct spw_seek_losses {
    const struct spw_seek_answer *answer; /* NULL: there is none, and every part counts as one that holds an address */
    CUdeviceptr address;                  /* of the range */
    unsigned shift;
    uint64_t part; /* in which the last word lies that was read; UINT64_MAX: none */
    bool is_accounted, any;
};

/* `bytes` at `address` were looked through. */
void spw_seek_losses_begin(struct spw_seek_losses *losses, const struct spw_seek_answer *answer, CUdeviceptr address,
                           uint64_t bytes);

/* `count` words were read at `at`, aligned to 8. In order of addresses, and all words of each part of which the answer
 * tells. */
void spw_seek_losses_read_locked(struct spw_seek_losses *losses, CUdeviceptr at, const CUdeviceptr *word, uint64_t count);

/* Everything is read. True: some part has lost what was found in it. */
bool spw_seek_losses_end(struct spw_seek_losses *losses);
#endif
