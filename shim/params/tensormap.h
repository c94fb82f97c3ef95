/* tensormap.h - remembers the addresses of tensor maps from which they cannot be read.
 *
 * A CUtensorMap is an opaque 128-byte value that kernels get by value. If the driver leaves the address readable in one of
 * its words, the scan finds it without help, and nothing is remembered here. Otherwise the value is remembered with its
 * address when it is made. Values are never forgotten: a program may keep one, free the memory, and get the same address
 * again. */
#ifndef SPILLWAY_SHIM_TENSORMAP_H
#define SPILLWAY_SHIM_TENSORMAP_H
#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define SPW_TENSORMAP_BYTES 128
#define SPW_TENSORMAP_MAX   65536 /* values that are remembered; about 13 MiB */

extern atomic_uint spw_tensormap_count;

/* Returns true once a tensor map was made from which the address cannot be read. */
static inline bool spw_tensormap_any(void)
{
    return atomic_load_explicit(&spw_tensormap_count, memory_order_relaxed) != 0;
}

/* Notes that `map` was made for `base`. Returns 0, or -ENOBUFS or -ENOMEM if it cannot be remembered; then the caller pins
 * what lies at `base`. */
int spw_tensormap_made(const CUtensorMap *map, CUdeviceptr base);

/* Returns the address of the tensor map at `window` (128 readable bytes, any alignment), or 0 if it is not remembered. */
CUdeviceptr spw_tensormap_base(const void *window);

/* Looks up every window in the `bytes` bytes that begins at a multiple of `step`, and appends the addresses to `hits` as
 * spw_scan_bytes() does. */
int spw_tensormap_scan(const void *source, size_t bytes, unsigned step, CUdeviceptr *hits, unsigned n, unsigned room);
#endif
