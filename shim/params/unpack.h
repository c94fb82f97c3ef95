/* unpack.h - decompresses parts of images: Zstandard frames and LZ4 blocks, as their public specifications describe them.
 *
 * Damaged input is rejected, and nothing outside the given memory is read or written. No state; any thread. */
#ifndef SPILLWAY_SHIM_UNPACK_H
#define SPILLWAY_SHIM_UNPACK_H
#include <stdbool.h>
#include <stddef.h>

/* Return true if `from` is one frame or block that holds exactly `bytes` bytes, which are then in `to`. */
bool spw_unpack_zstd(const void *from, size_t from_bytes, void *to, size_t bytes);
bool spw_unpack_lz4(const void *from, size_t from_bytes, void *to, size_t bytes);
#endif
