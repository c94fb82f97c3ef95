/* hash.h - a hash of 128 bits that tells whether bytes are unchanged, computed in the same way on the host and on a device.
 *
 * It consists of two independent sums, modulo 2^64, over the 8-byte words of the bytes (little-endian, the last one filled
 * up with zeros) and their length: of each word and its index, mixed. A sum takes its terms in any order, so threads need
 * no order. Because of the mixing the sum changes if bytes are moved, exchanged or changed in any bit. It is meant for
 * programs that err, not for adversaries: whoever knows the constants can make two buffers with the same hash.
 *
 * Its device side is hash.ptx; digest.h submits that. The simulated device has its own (tests/simgpu/driver/twins.c).
 *
 * The term of word w at index i is, with all arithmetic modulo 2^64, fold(x) = x ^ (x >> 32) and swap() exchanging the
 * halves of its argument:
 *
 *     key = i * SPW_HASH_STEP + SPW_HASH_SEED          the length counts as one more word, at index 2^64 - 1
 *     y = fold((w ^ key) * SPW_HASH_FIRST)
 *     in sum 0: fold(fold(y * SPW_HASH_A) * SPW_HASH_B)
 *     in sum 1: fold(fold((y + swap(key)) * SPW_HASH_C) * SPW_HASH_D) */
#ifndef SPILLWAY_SHIM_HASH_H
#define SPILLWAY_SHIM_HASH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* hash.ptx has the same numbers. */
#define SPW_HASH_STEP  UINT64_C(0x9E3779B97F4A7C15)
#define SPW_HASH_SEED  UINT64_C(0x243F6A8885A308D3)
#define SPW_HASH_FIRST UINT64_C(0xBF58476D1CE4E5B9)
#define SPW_HASH_A     UINT64_C(0x94D049BB133111EB)
#define SPW_HASH_B     UINT64_C(0xFF51AFD7ED558CCD)
#define SPW_HASH_C     UINT64_C(0xC4CEB9FE1A85EC53)
#define SPW_HASH_D     UINT64_C(0xD6E8FEB86659FD93)

struct spw_hash {
    uint64_t word[2];
};

static inline bool spw_hash_equal(struct spw_hash a, struct spw_hash b)
{
    return a.word[0] == b.word[0] && a.word[1] == b.word[1];
}

/* Hashes `size` bytes, of any alignment and number; `bytes` may be NULL if `size` is 0. */
void spw_hash_host(const void *bytes, size_t size, struct spw_hash *ret_hash);
#endif
