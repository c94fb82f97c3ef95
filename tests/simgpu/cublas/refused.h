/* refused.h - defines the calls that the headers declare and the stand-ins refuse. list-calls.py makes the list, which
 * contains all calls: those that are implemented are defined elsewhere, and the definitions here are weak. */
#ifndef SIMGPU_CUBLAS_REFUSED_H
#define SIMGPU_CUBLAS_REFUSED_H

/* As in status.h; declared here without cuBLAS's headers, which declare the real parameters. */
int blas_refuse(const char *what, int *told);

#define BLAS_REFUSED(symbol) \
    __attribute__((weak)) int symbol(void); \
    int symbol(void) \
    { \
        static int told; \
        return blas_refuse(#symbol, &told); \
    }
#endif
