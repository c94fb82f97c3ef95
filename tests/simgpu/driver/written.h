/* written.h - at which address the bytes of mapped memory were written last, in the order of submission. */
#ifndef SIMGPU_DRIVER_WRITTEN_H
#define SIMGPU_DRIVER_WRITTEN_H
#include <stdbool.h>
#include <stdint.h>

/* The bytes are written at this address. Not certain: or they stay what they are, and nothing is known of those that were
 * written last at another one. */
void written_note(uint64_t address, uint64_t bytes, bool certain);
/* How many of the bytes were written last at another address of the same memory; *ret_where: that of the first of them. */
uint64_t written_elsewhere(uint64_t address, uint64_t bytes, uint64_t *ret_where);
/* The memory is given back. `key` is that of its first byte. */
void written_forget(uint64_t key, uint64_t bytes);
#endif
