/* architectures.c - asks once for the compute capability of each device. */
#include "architectures.h"

#include <string.h>

#include "ask.h"
#include "lock.h"

static bool taken[SPW_ARCHITECTURES];
static enum { NOT_ASKED, KNOWN, UNKNOWN } state;

static bool ask_of(int ordinal)
{
    CUdevice device;
    int major, minor;
    if (SPW_ASK_QUIETLY(cuDeviceGet, &device, ordinal) != CUDA_SUCCESS ||
        SPW_ASK_QUIETLY(cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) !=
            CUDA_SUCCESS ||
        SPW_ASK_QUIETLY(cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) !=
            CUDA_SUCCESS ||
        major < 1 || minor < 0 || minor > 9 || 10 * major + minor >= SPW_ARCHITECTURES)
        return false;
    memset(taken + 10 * major, true, (size_t)minor + 1);
    return true;
}

static bool ask_of_all(void)
{
    int count = 0;
    if (SPW_ASK_QUIETLY(cuDeviceGetCount, &count) != CUDA_SUCCESS)
        return false;
    for (int i = 0; i < count; i++)
        if (!ask_of(i))
            return false;
    return count > 0;
}

const bool *spw_architectures_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (state == NOT_ASKED)
        state = ask_of_all() ? KNOWN : UNKNOWN;
    return state == KNOWN ? taken : NULL;
}

void spw_architectures_reset(void)
{
    memset(taken, 0, sizeof(taken));
    state = NOT_ASKED;
}
