/* missing.h - lists calls that cuda.h declares and the device does not implement; list-missing.py makes the list. */
#ifndef SIMGPU_DRIVER_MISSING_H
#define SIMGPU_DRIVER_MISSING_H

struct missing {
    const char *name; /* as cuGetProcAddress() looks it up */
    void *symbol;
    int version;
};

extern const struct missing missing[]; /* ends with a NULL name */

/* Reports the call on stderr once. Returns CUDA_ERROR_NOT_SUPPORTED. */
int missing_call(const char *name, int *told);

#define SIMGPU_MISSING(symbol) \
    __attribute__((visibility("default"))) int symbol(void); \
    int symbol(void) \
    { \
        static int told; \
        return missing_call(#symbol, &told); \
    }
#endif
