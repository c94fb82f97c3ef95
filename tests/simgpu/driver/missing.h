/* missing.h - calls that cuda.h declares and the device doesn't carry out; the list is made by list-missing.py. */
#ifndef SIMGPU_DRIVER_MISSING_H
#define SIMGPU_DRIVER_MISSING_H

struct missing {
    const char *name; /* as cuGetProcAddress() is asked for it */
    void *symbol;
    int version;
};

extern const struct missing missing[]; /* ends with a NULL name */

/* Says so once for each call; answers CUDA_ERROR_NOT_SUPPORTED. */
int missing_call(const char *name, int *told);

#define SIMGPU_MISSING(symbol) \
    __attribute__((visibility("default"))) int symbol(void); \
    int symbol(void) \
    { \
        static int told; \
        return missing_call(#symbol, &told); \
    }
#endif
