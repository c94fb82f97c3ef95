/* starter.c - a library whose constructor starts CUDA, with the loader's lock held; a little late, so that others are on the
 * way. */
#include <cuda.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void start(void)
{
    usleep(20000);
    if (cuInit(0) != CUDA_SUCCESS)
        abort();
}
