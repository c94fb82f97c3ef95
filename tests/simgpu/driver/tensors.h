/* tensors.h - the device memory that the program holds, as it asked for it itself (../program.h), and which of its bytes the
 * program has had written since. */
#ifndef SIMGPU_DRIVER_TENSORS_H
#define SIMGPU_DRIVER_TENSORS_H
#include <stdbool.h>
#include <stdint.h>

#include "ranges.h"
#include "span.h"

struct tensor {
    struct span span;      /* its addresses */
    uint64_t serial;       /* in the order in which they were made, from 1 */
    uint64_t copied_from;  /* where on the host its first byte came from, of a tensor that was copied whole; else 0 */
    struct ranges written; /* by a launch, a copy or a set of the program's, since it was made */
};

/* False: no memory. What was there before is gone. */
bool tensor_make(uint64_t address, uint64_t bytes);
void tensor_end(uint64_t address);
/* The tensor that holds the address. NULL: there is none. */
struct tensor *tensor_find(uint64_t address);
/* The bytes count as written, as far as they are the tensor's. False: no memory. */
bool tensor_write(struct tensor *tensor, uint64_t address, uint64_t bytes);
/* The same of bytes at `address`, in whatever tensor, that come from `source`: where that is a tensor, too, what nobody has
 * written there nobody has written here. 0: they come from elsewhere. */
bool tensors_copy(uint64_t address, uint64_t bytes, uint64_t source);
/* The word at `address` as the host had it that the program has copied the whole tensor from, and has not written to the
 * tensor since. False: there is none. */
bool tensors_copied(uint64_t address, uint64_t *ret_word);
/* Whether the program's runtime has ever said anything. */
bool tensors_are_told(void);
#endif
