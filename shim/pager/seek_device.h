/* seek_device.h - looks through device memory for addresses, for seek.c: submits the kernel, and reads back what it found.
 *
 * Engine lock throughout. */
#ifndef SPILLWAY_SHIM_SEEK_DEVICE_H
#define SPILLWAY_SHIM_SEEK_DEVICE_H
#include "ledger.h"
#include "seek_kernel.h"

enum { SPW_SEEK_ANSWERS = 4096 };

/* Answer `index` is forgotten, and `bytes` at `address` are looked through in the order of `stream`, for addresses of
 * tensors and of memory that is not ours (outside.h). Where the driver does not have it, every part counts as one with an
 * address. */
void spw_seek_submit_locked(int device, CUcontext context, CUstream stream, CUdeviceptr address, uint64_t bytes,
                            unsigned index);

/* When the stream has come so far: whether an address is in the part that begins `offset` bytes behind the address. */
bool spw_seek_found_locked(unsigned index, uint64_t bytes, uint64_t offset);
bool spw_seek_found_any_locked(unsigned index);
const struct spw_seek_answer *spw_seek_answer_locked(unsigned index); /* NULL: every part counts as one with an address */

/* Copies to the host, behind nothing, and waits for that with the lock held: nobody else is at these bytes.
 * *ret_bytes: what came of `bytes`, at *ret_data, until the next call. 0 or a failure of the driver. */
int spw_seek_read_locked(struct spw_device *d, CUcontext context, CUdeviceptr address, uint64_t bytes, void **ret_data,
                         uint64_t *ret_bytes);

/* Page-locked memory of the host that is held. */
uint64_t spw_seek_host_bytes_locked(void);

void spw_seek_device_gone_locked(CUcontext context);
void spw_seek_device_reset(void); /* without a driver call: for tests */
#endif
