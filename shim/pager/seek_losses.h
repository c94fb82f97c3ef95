/* seek_losses.h - finds out whether everything that a look found was still there when the host read it.
 *
 * A look tells for each part of a range whether it has a word that lies among the addresses (seek_kernel.h). The host reads
 * the words later, when the memory may have been overwritten, or what they lead to may be gone. A part has lost nothing if
 * one of its words accounts for the answer: a word that leads to something alive, to memory that was never given out, or to
 * where memory that is not ours lies. A word that leads to what is gone does not account for it: it may be an address that
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
    uint64_t part; /* the part in which the last word read lies; UINT64_MAX: none */
    bool is_accounted, any;
};

/* Begins for a range of `bytes` at `address` that was searched. */
void spw_seek_losses_begin(struct spw_seek_losses *losses, const struct spw_seek_answer *answer, CUdeviceptr address,
                           uint64_t bytes);

/* Notes `count` words that were read at `at`, which is aligned to 8. Words come in the order of their addresses, and all
 * words of each part in which the look found something. */
void spw_seek_losses_read_locked(struct spw_seek_losses *losses, CUdeviceptr at, const CUdeviceptr *word, uint64_t count);

/* Call when everything is read. Returns true if some part has lost what was found in it. */
bool spw_seek_losses_end(struct spw_seek_losses *losses);
#endif
