/* handed.h - memory that the program hands to a library whose kernels find it where no parameter leads, and run later than
 * the call: NCCL's.
 *
 *     handed ──spw_handed_begin()──▶ held ──the library launches──▶ submitted ──spw_handed_submitted()──▶ let go
 *              └─ refused: there is no room for it
 *
 * What a call is handed is an operation of the stream that it names. Its blocks stay from then on, until all that was handed
 * has been submitted: at once, or, in a group, when that ends. The stream's next number then stands for their use. The list
 * is the calling thread's. No lock held. */
#ifndef SPILLWAY_SHIM_HANDED_H
#define SPILLWAY_SHIM_HANDED_H
#include <cuda.h>
#include <stdint.h>

/* Makes ready what lies at the two addresses; the one is read, the other written; either may be 0. `name` is the call's, a
 * static text. `number` tells one such call from another. 0 or a negative result: it must not be called. */
int spw_handed_begin(const char *name, uint64_t number, CUstream stream, CUdeviceptr read, CUdeviceptr written);

/* Before all that was handed over in several calls is submitted at once: what was done since it was handed over counted on
 * what it held then. 0 or a negative result: some of that is lost. */
int spw_handed_renew(void);

/* All that the thread has handed over is used by what its streams have got by now, and by nothing else later. */
void spw_handed_submitted(void);

/* Nobody tells when it is submitted: it is pinned (pin.h). */
void spw_handed_keep(const char *why);
#endif
