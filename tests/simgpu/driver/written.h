/* written.h - tracks at which address the bytes of mapped memory were last written, in the order of submission. */
#ifndef SIMGPU_DRIVER_WRITTEN_H
#define SIMGPU_DRIVER_WRITTEN_H
#include <stdbool.h>
#include <stdint.h>

/* Notes a write at this address. Not certain: the bytes may also stay as they are, so bytes that were last written at
 * another address become unknown. */
void written_note(uint64_t address, uint64_t bytes, bool certain);
/* Returns how many of the bytes were last written at another address of the same memory; *ret_where: the address for the
 * first of them. */
uint64_t written_elsewhere(uint64_t address, uint64_t bytes, uint64_t *ret_where);
/* The memory is freed. `key` is that of its first byte. */
void written_forget(uint64_t key, uint64_t bytes);
#endif
