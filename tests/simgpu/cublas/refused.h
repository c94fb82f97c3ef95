/* refused.h - the calls that the headers declare and the stand-ins don't carry out; the list is made by list-calls.py, which
 * lists all of them: those that are carried out are defined elsewhere, and what is here is weak. */
#ifndef SIMGPU_CUBLAS_REFUSED_H
#define SIMGPU_CUBLAS_REFUSED_H

int blas_refuse(const char *what,
                int *told); /* status.h; here without cuBLAS's headers, which declare the real parameters */

#define BLAS_REFUSED(symbol) \
    __attribute__((weak)) int symbol(void); \
    int symbol(void) \
    { \
        static int told; \
        return blas_refuse(#symbol, &told); \
    }
#endif
