/* closing.h - closes the devices' memory to a kernel, so that what it touches is a fault, and opens it again.
 *
 * Left alone is memory that the host may use at the same time (its own, managed memory, variables of modules), and addresses
 * with nothing behind them. The driver's lock is held throughout. */
#ifndef SIMGPU_DRIVER_CLOSING_H
#define SIMGPU_DRIVER_CLOSING_H
#include <stdint.h>

struct block;

/* As the driver has mapped it; PROT_NONE where the block is left alone. */
int closing_protection(const struct block *block);
void closing_close_all(void);
/* Exactly as it was. */
void closing_open_all(void);
/* Whole pages. Where the system allows no more mappings, that is said, and the process ends. */
void closing_protect(uint64_t address, uint64_t bytes, int protection);
#endif
