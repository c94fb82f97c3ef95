/* start.h - begins to keep the program within its budget. */
#ifndef SPILLWAY_SHIM_START_H
#define SPILLWAY_SHIM_START_H
#include <cuda.h>

/* Called once, after the driver's cuInit() has succeeded and the settings were read. Sets spw_live. On failure the
 * program's cuInit() fails with this result. */
CUresult spw_library_start(void);
#endif
