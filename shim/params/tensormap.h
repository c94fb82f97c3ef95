/* tensormap.h - which address is inside a tensor map that does not show it.
 *
 * A CUtensorMap is an opaque 128-byte value that kernels get by value. Where the driver leaves the address readable in
 * one of its words, the scan finds it by itself and nothing is remembered here. Where it does not, the value is
 * remembered with its address when it is made. Values are never forgotten: a program may keep one while it frees and
 * gets the same address again. */
#ifndef SPILLWAY_SHIM_TENSORMAP_H
#define SPILLWAY_SHIM_TENSORMAP_H
#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define SPW_TENSORMAP_BYTES 128
#define SPW_TENSORMAP_MAX   65536 /* values remembered; about 13 MiB */

extern atomic_uint spw_tensormap_count;

/* True once a tensor map was made whose address cannot be read from it. */
static inline bool spw_tensormap_any(void)
{
    return atomic_load_explicit(&spw_tensormap_count, memory_order_relaxed) != 0;
}

/* `map` was made for `base`. -ENOBUFS, -ENOMEM: cannot be remembered; the caller pins what lies at `base`. */
int spw_tensormap_made(const CUtensorMap *map, CUdeviceptr base);

/* The address in the tensor map at `window` (128 readable bytes, any alignment); 0 when it is none that is remembered. */
CUdeviceptr spw_tensormap_base(const void *window);

/* Asks for each window in `bytes` bytes that begins at a multiple of `step`; appends to hits as spw_scan_bytes() does. */
int spw_tensormap_scan(const void *source, size_t bytes, unsigned step, CUdeviceptr *hits, unsigned n, unsigned room);
#endif
