/* library_inputs.c - the inputs of the library's call that each thread is in. */
#include "library_inputs.h"

#include <stdbool.h>

static _Thread_local struct spw_library_inputs now;

struct spw_library_inputs spw_library_inputs_enter(const struct spw_library_inputs *inputs)
{
    const struct spw_library_inputs around = now;
    now = *inputs;
    return around;
}

void spw_library_inputs_leave(const struct spw_library_inputs *around)
{
    now = *around;
}

static bool is_input(CUdeviceptr address)
{
    for (int i = 0; i < SPW_LIBRARY_INPUTS; i++)
        if (now.address[i] && now.address[i] == address)
            return true;
    return false;
}

uint64_t spw_library_inputs_among(const CUdeviceptr *hits, unsigned count)
{
    uint64_t found = 0;
    for (unsigned i = 0; i < count && i < 64; i++)
        found |= (uint64_t)is_input(hits[i]) << i;
    return found;
}
