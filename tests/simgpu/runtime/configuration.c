/* configuration.c - the launch configurations between `<<<>>>` and the kernel's host function, a stack per thread. */
#include "runtime.h"
#include "compiler.h"

/* Nested: the arguments of a launch may contain a launch. */
#define DEPTH 16

struct configuration {
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
};

static _Thread_local struct configuration stack[DEPTH];
static _Thread_local unsigned depth;

unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream)
{
    if (depth == DEPTH) {
        rt_leave(cudaErrorMissingConfiguration);
        return 1;
    }
    stack[depth++] = (struct configuration){grid, block, shared_bytes, stream};
    return 0;
}

cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream)
{
    if (depth == 0)
        return rt_leave(cudaErrorMissingConfiguration);
    depth--;
    *grid = stack[depth].grid;
    *block = stack[depth].block;
    *shared_bytes = stack[depth].shared_bytes;
    *(cudaStream_t *)stream = stack[depth].stream;
    return cudaSuccess;
}
