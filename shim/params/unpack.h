/* unpack.h - takes compressed parts of images apart: Zstandard frames and LZ4 blocks, as their public descriptions say.
 *
 * What is damaged is refused, and nothing outside of what is given is read or written. No state, any thread. */
#ifndef SPILLWAY_SHIM_UNPACK_H
#define SPILLWAY_SHIM_UNPACK_H
#include <stdbool.h>
#include <stddef.h>

/* True: `from` is one frame or block that holds exactly `bytes` bytes, which are in `to`. */
bool spw_unpack_zstd(const void *from, size_t from_bytes, void *to, size_t bytes);
bool spw_unpack_lz4(const void *from, size_t from_bytes, void *to, size_t bytes);
#endif
