/* architectures.h - which cubins the machine's devices take.
 *
 * A cubin for compute capability X.y runs on devices of X.z where z is y or more, and on no other (CUDA C++ Programming
 * Guide, "Binary Compatibility"). Engine lock. */
#ifndef SPILLWAY_SHIM_ARCHITECTURES_H
#define SPILLWAY_SHIM_ARCHITECTURES_H
#include <stdbool.h>

enum { SPW_ARCHITECTURES = 256 }; /* 10 X + y */

/* By architecture: some device takes it. NULL: that is not known. */
const bool *spw_architectures_locked(void);

void spw_architectures_reset(void); /* for tests */
#endif
