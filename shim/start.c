/* start.c - begins to keep the program within its budget: from here on hooks are called. */
#include "start.h"
#include "hooks.h"

CUresult spw_start(void)
{
    __atomic_store_n(&spw_live, 1, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
}
