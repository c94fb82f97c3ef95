/* lookup.h - the device's own calls, which cuGetProcAddress() returns besides CUDA's. */
#ifndef SIMGPU_DRIVER_LOOKUP_H
#define SIMGPU_DRIVER_LOOKUP_H

/* Returns one of the functions in ../program.h, by name, or NULL. */
void *program_call(const char *name);
#endif
