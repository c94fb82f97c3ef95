/* driver.c - opens the driver and looks up its functions the way the real runtime does: one dlsym(), then
 * cuGetProcAddress(). */
#include "driver.h"
#include "program.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

struct rt_driver rt_legacy, rt_per_thread;

static pthread_once_t open_once = PTHREAD_ONCE_INIT, init_once = PTHREAD_ONCE_INIT;
static int open_result;
static CUresult init_result;

/* Stands in for every function that the driver lacks, whatever its parameters: the caller cleans up the stack on all
 * machines that CUDA runs on. The value is cudaErrorCallRequiresNewerDriver, which has no name among the driver's. */
static CUresult missing(void)
{
    return (CUresult)36;
}

static void find(PFN_cuGetProcAddress_v12000 resolve, const char *name, cuuint64_t flags, void *ret_function)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    void *function = NULL;

    if (resolve(name, &function, CUDA_VERSION, flags, &status) != CUDA_SUCCESS || status != CU_GET_PROC_ADDRESS_SUCCESS)
        function = NULL;
    *(void **)ret_function = function ? function : (void *)missing;
}

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    PFN_cuGetProcAddress_v12000 resolve =
        library ? (PFN_cuGetProcAddress_v12000)dlsym(library, "cuGetProcAddress_v2") : NULL;

    void *init = NULL; /* whoever stands in for a driver that is not there answers no look-up */
    CUdriverProcAddressQueryResult status;
    if (!resolve || resolve("cuInit", &init, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &status) != CUDA_SUCCESS || !init) {
        open_result = -ENOENT;
        return;
    }
#define X(name) \
    find(resolve, #name, CU_GET_PROC_ADDRESS_DEFAULT, &rt_legacy.name); \
    find(resolve, #name, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &rt_per_thread.name);
    RT_DRIVER_CALLS(X)
    RT_DRIVER_CALLS_OF_CONTEXTS(X)
#undef X
    rt_program_open(resolve);
}

int rt_driver_open(void)
{
    pthread_once(&open_once, open_driver);
    return open_result;
}

static void init_driver(void)
{
    init_result = rt_legacy.cuInit(0);
}

CUresult rt_driver_init(void)
{
    pthread_once(&init_once, init_driver);
    return init_result;
}
