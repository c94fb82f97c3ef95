/* refused.c - calls that programs are linked with, and that this stand-in does not do: it says so. Some of them are newer
 * than the header that it is built with. */
#include "comm.h"

#define CALLS(X) \
    X(ncclCommGetUniqueId) \
    X(ncclCommGrow) \
    X(ncclCommMemStats) \
    X(ncclCommResume) \
    X(ncclCommShrink) \
    X(ncclCommSuspend) \
    X(ncclDevCommCreate) \
    X(ncclDevCommDestroy) \
    X(ncclGetLsaDevicePointer) \
    X(ncclGetLsaMultimemDevicePointer) \
    X(ncclGetMultimemDevicePointer) \
    X(ncclGetPeerDevicePointer) \
    X(ncclPutSignal) \
    X(ncclSignal) \
    X(ncclWaitSignal) \
    X(ncclWinGetUserPtr)

/* Under names of their own, since they don't have the parameters that the header declares. */
#define X(name) \
    ncclResult_t refused_##name(void) __asm__(#name) __attribute__((visibility("default"))); \
    ncclResult_t refused_##name(void) \
    { \
        return comm_complain(ncclInvalidUsage, "%s is not there", #name); \
    }
CALLS(X)
#undef X
