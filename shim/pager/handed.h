/* handed.h - memory that the program hands to a library, NCCL, whose kernels run later than the call and find the memory
 * without a parameter that leads to it.
 *
 *     handed ──spw_handed_begin()──▶ held ──the library launches──▶ submitted ──spw_handed_submitted()──▶ let go
 *              └─ refused: there is no room for it
 *
 * What a call is handed counts as one operation of the stream that the call names. From then on its blocks are held, until
 * everything that was handed over has been submitted: at once, or, in a group, at the end of the group. The stream's next
 * number then stands for their use. The list of what is handed belongs to the calling thread. Call with no lock held. */
#ifndef SPILLWAY_SHIM_HANDED_H
#define SPILLWAY_SHIM_HANDED_H
#include <cuda.h>
#include <stdint.h>

/* Makes the memory at two addresses ready, of which the first is read and the second written; either may be 0. `name` is
 * the name of the library's function, a static text; `number` tells one such call from another. Returns 0, or a negative
 * result: then the library must not be called. */
int spw_handed_begin(const char *name, uint64_t number, CUstream stream, CUdeviceptr read, CUdeviceptr written);

/* Call before the memory of several calls is submitted at once, as a group: begins an operation again for each address that
 * is written, since what was done meanwhile relied on the former contents. Returns 0, or a negative result if some of the
 * memory is lost. */
int spw_handed_renew(void);

/* Call when the library has submitted its kernels: everything that the thread has handed over is used by what its streams
 * have got by now, and by nothing later. */
void spw_handed_submitted(void);

/* For when nobody will tell when the memory is submitted: pins it (pin.h). */
void spw_handed_keep(const char *why);
#endif
