/* memory.c - memory that NCCL is to know of: here it needs to know nothing, since ranks exchange copies. */
#include "comm.h"

ncclResult_t ncclMemAlloc(void **ret_address, size_t bytes)
{
    return ret_address && cudaMalloc(ret_address, bytes) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclMemFree(void *address)
{
    return cudaFree(address) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclCommRegister(const ncclComm_t c, void *buffer, size_t bytes, void **ret_handle)
{
    if (!c || !buffer || bytes == 0 || !ret_handle)
        return comm_complain(ncclInvalidArgument, "ncclCommRegister: no communicator or no buffer");
    *ret_handle = buffer;
    return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t c, void *handle)
{
    return c && handle ? ncclSuccess
                       : comm_complain(ncclInvalidArgument, "ncclCommDeregister: no communicator or no handle");
}

/* As where no memory can be shared: there is no window, and the buffer is used as any other. */
ncclResult_t ncclCommWindowRegister(ncclComm_t c, void *buffer, size_t bytes, ncclWindow_t *ret_window, int flags)
{
    (void)flags;
    if (!c || !buffer || bytes == 0 || !ret_window)
        return comm_complain(ncclInvalidArgument, "ncclCommWindowRegister: no communicator or no buffer");
    *ret_window = NULL;
    return ncclSuccess;
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t c, ncclWindow_t window)
{
    (void)window;
    return c ? ncclSuccess : comm_complain(ncclInvalidArgument, "ncclCommWindowDeregister: no communicator");
}
