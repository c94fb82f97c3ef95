/* seek_device.h - searches device memory for addresses, for seek.c: submits the kernel, and reads back what it found.
 *
 * Engine lock throughout. */
#ifndef SPILLWAY_SHIM_SEEK_DEVICE_H
#define SPILLWAY_SHIM_SEEK_DEVICE_H
#include "ledger.h"
#include "seek_kernel.h"

enum { SPW_SEEK_ANSWERS = 4096 };

/* Clears answer `index`, and submits a search of `bytes` at `address`, in the order of `stream`, for addresses of
 * tensors and of memory that is not ours (outside.h). If the driver does not accept it, every part counts as one with
 * an address. */
void spw_seek_submit_locked(int device, CUcontext context, CUstream stream, CUdeviceptr address, uint64_t bytes,
                            unsigned index);

/* Call when the stream has come so far. Returns true if an address is in the part that begins `offset` bytes after the
 * address; the second, if one is in any part. */
bool spw_seek_found_locked(unsigned index, uint64_t bytes, uint64_t offset);
bool spw_seek_found_any_locked(unsigned index);
const struct spw_seek_answer *spw_seek_answer_locked(unsigned index); /* NULL: every part counts as one with an address */

/* Copies device memory to the host, ordered after nothing, and waits for that with the lock held: nobody else uses these
 * bytes. Stores the address of the data in *ret_data, good until the next call, and in *ret_bytes how many of `bytes` it
 * has. Returns 0 or a failure of the driver. */
int spw_seek_read_locked(struct spw_device *d, CUcontext context, CUdeviceptr address, uint64_t bytes, void **ret_data,
                         uint64_t *ret_bytes);

/* Returns the bytes of page-locked host memory that are held. */
uint64_t spw_seek_host_bytes_locked(void);

void spw_seek_device_gone_locked(CUcontext context);
void spw_seek_device_reset(void); /* without a driver call: for tests */
#endif
