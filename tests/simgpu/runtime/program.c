/* program.c - the driver's functions that want to know of the program's tensors and launches. */
#include "program.h"
#include "../tell.h"
#include "runtime.h"

static struct simgpu_tell tell;

void rt_program_open(CUresult (*resolve)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *))
{
    simgpu_tell_open(&tell, resolve);
}

void rt_tensor_made(const void *address, size_t bytes)
{
    if (tell.made)
        (void)tell.made((uintptr_t)address, bytes);
}

void rt_tensor_gone(const void *address)
{
    if (tell.gone)
        (void)tell.gone((uintptr_t)address);
}

void rt_tensor_written(const void *to, size_t bytes, const void *from)
{
    if (tell.written && to && bytes > 0)
        (void)tell.written((uintptr_t)to, bytes, (uintptr_t)from);
}

void rt_rows_written(const void *to, size_t pitch, const void *from, size_t from_pitch, size_t width, size_t rows)
{
    for (size_t y = 0; to && y < rows; y++)
        rt_tensor_written((const char *)to + y * pitch, width, from ? (const char *)from + y * from_pitch : NULL);
}

cudaError_t rt_launch_coming(CUfunction kernel, dim3 grid, dim3 block, void **args)
{
    const unsigned grids[] = {grid.x, grid.y, grid.z}, blocks[] = {block.x, block.y, block.z};

    return tell.coming ? rt_error((CUresult)tell.coming(kernel, grids, blocks, args)) : cudaSuccess;
}
