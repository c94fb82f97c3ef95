/* architectures.h - tells for which architectures a cubin can run on one of the machine's devices.
 *
 * A cubin for compute capability X.y runs on devices of X.z where z is y or more, and on no other (CUDA C++ Programming
 * Guide, "Binary Compatibility"). Engine lock. */
#ifndef SPILLWAY_SHIM_ARCHITECTURES_H
#define SPILLWAY_SHIM_ARCHITECTURES_H
#include <stdbool.h>

enum { SPW_ARCHITECTURES = 256 }; /* index: 10 X + y */

/* Returns an array by architecture: true if some device runs its cubins. NULL: unknown. */
const bool *spw_architectures_locked(void);

void spw_architectures_reset(void); /* for tests */
#endif
