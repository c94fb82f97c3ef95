/* lookup.h - the device's own calls, which cuGetProcAddress() answers beside CUDA's. */
#ifndef SIMGPU_DRIVER_LOOKUP_H
#define SIMGPU_DRIVER_LOOKUP_H

/* One of those in ../program.h, by name; NULL: it is none of them. */
void *program_call(const char *name);
#endif
