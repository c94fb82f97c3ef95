/* closing.h - closes the devices' memory to a kernel, so that every access is a fault, and opens it again.
 *
 * Memory that the host may use at the same time (its own, managed memory, variables of modules) is not closed, nor are
 * addresses without memory. The driver's lock is held throughout. */
#ifndef SIMGPU_DRIVER_CLOSING_H
#define SIMGPU_DRIVER_CLOSING_H
#include <stdint.h>

struct block;

/* Returns the protection with which the driver has mapped the block; PROT_NONE if the block is not closed. */
int closing_protection(const struct block *block);
void closing_close_all(void);
/* Restores everything exactly. */
void closing_open_all(void);
/* Protects whole pages. If the system allows no more mappings, it says so, and the process ends. */
void closing_protect(uint64_t address, uint64_t bytes, int protection);
#endif
