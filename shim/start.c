/* start.c - begins to keep the program within its budget: from here on hooks are called. */
#include "start.h"
#include "access.h"
#include "hooks.h"

/* No memory is managed, so no address is ours and nothing can be pinned. */
CUdeviceptr spw_arena_low, spw_arena_high;
_Thread_local int spw_pin_failure;

void spw_pin_address(CUdeviceptr address, const char *why)
{
}

void spw_pin_everything(const char *why)
{
}

CUresult spw_start(void)
{
    __atomic_store_n(&spw_live, 1, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
}
