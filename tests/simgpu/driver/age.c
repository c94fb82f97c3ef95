/* age.c - which version of the driver this is: the headers', unless it is built as another one. */
#include "driver.h"

#ifndef SIMGPU_AGE
#define SIMGPU_AGE CUDA_VERSION
#endif

const int driver_age = SIMGPU_AGE;
