/* tensors.h - the device memory that the program holds, as it asked for it itself (../program.h). */
#ifndef SIMGPU_DRIVER_TENSORS_H
#define SIMGPU_DRIVER_TENSORS_H
#include <stdbool.h>
#include <stdint.h>

#include "span.h"

struct tensor {
    struct span span; /* its addresses */
    uint64_t serial;  /* in the order in which they were made, from 1 */
    bool is_written;  /* by a launch, a copy or a set of the program's */
};

/* False: no memory. What was there before is gone. */
bool tensor_make(uint64_t address, uint64_t bytes);
void tensor_end(uint64_t address);
/* The tensor that holds the address. NULL: there is none. */
struct tensor *tensor_find(uint64_t address);
/* Whether the program's runtime has ever said anything. */
bool tensors_are_told(void);
#endif
