/* open.h - finds and opens the real driver, and fills the table of its functions (driver.h). */
#ifndef SPILLWAY_SHIM_OPEN_H
#define SPILLWAY_SHIM_OPEN_H
#include <cuda.h>
#include <stdbool.h>

/* Finds and opens the real driver, once; any thread, any time outside of constructors. Returns false if there is none. */
bool spw_driver_open(void);

/* Returns the path that was opened, for people; NULL while none is. */
const char *spw_driver_path(void);

/* Returns a symbol of the real driver, whether it is in the table or not; NULL if the driver has none of that name. Opens
 * the driver. */
void *spw_driver_symbol(const char *name);

/* Returns the answer of a call that the driver lacks: CUDA_ERROR_NOT_FOUND, or CUDA_ERROR_NO_DEVICE if there is no
 * driver. */
CUresult spw_driver_lacks(void);
#endif
