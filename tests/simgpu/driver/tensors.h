/* tensors.h - tracks the device memory that the program itself asked for (../program.h), and which of its bytes the
 * program has written since. */
#ifndef SIMGPU_DRIVER_TENSORS_H
#define SIMGPU_DRIVER_TENSORS_H
#include <stdbool.h>
#include <stdint.h>

#include "ranges.h"
#include "span.h"

struct tensor {
    struct span span; /* its addresses */
    uint64_t serial;  /* in the order in which they were made, from 1 */
    /* Of a tensor that was copied as a whole: where its first byte came from on the host; else 0. */
    uint64_t copied_from;
    struct ranges written; /* by a launch, a copy or a set of the program, since its creation */
};

/* Creates a tensor in place of any that were there. Returns false without memory. */
bool tensor_make(uint64_t address, uint64_t bytes);
void tensor_end(uint64_t address);
/* Returns the tensor that contains the address, or NULL. */
struct tensor *tensor_find(uint64_t address);
/* Marks the bytes as written, as far as they belong to the tensor. Returns false without memory. */
bool tensor_write(struct tensor *tensor, uint64_t address, uint64_t bytes);
/* Does the same for bytes at `address`, in any tensor, that come from `source`: if that is in a tensor too, bytes that
 * are unwritten there remain unwritten here. 0: they come from elsewhere. */
bool tensors_copy(uint64_t address, uint64_t bytes, uint64_t source);
/* Gets the word at `address` from the host memory from which the program has copied the whole tensor, if it has not
 * written to the tensor since. Returns false if there is none. */
bool tensors_copied(uint64_t address, uint64_t *ret_word);
/* Returns true if the program's runtime has ever reported anything. */
bool tensors_are_told(void);
#endif
