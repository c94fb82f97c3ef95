/* edge.c - the calls that have to work before cuInit() and without a driver: start, look-ups, messages. */
#include "api.h"
#include "count.h"
#include "driver.h"
#include "life.h"
#include "open.h"
#include "resolve.h"
#include <limits.h>
#include <stddef.h>
#include <string.h>

static CUresult counted(enum spw_call call, CUresult result)
{
    if (result == CUDA_SUCCESS)
        spw_count(call, 0);
    return result;
}

CUresult CUDAAPI cuInit(unsigned int Flags)
{
    return counted(SPW_CALL_cuInit, spw_life_init(Flags));
}

CUresult CUDAAPI cuDriverGetVersion(int *driverVersion)
{
    return counted(SPW_CALL_cuDriverGetVersion, SPW_PASS(cuDriverGetVersion, (driverVersion)));
}

/* ---- look-ups ---- */

static CUresult looked_up(CUresult result, const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    /* Another thread may be opening the driver at this moment: once that is done it is known what to exchange. */
    if (result == CUDA_SUCCESS && symbol && pfn && *pfn && spw_driver_open())
        *pfn = spw_resolve_exchange(*pfn, symbol, version, flags);
    return result;
}

CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    CUresult result = SPW_PASS(cuGetProcAddress, (symbol, pfn, cudaVersion, flags));
    return counted(SPW_CALL_cuGetProcAddress, looked_up(result, symbol, pfn, cudaVersion, flags));
}

/* Returns true if the driver has `symbol` in a newer form than the program asked for. */
static bool has_newer_form(const char *symbol, cuuint64_t flags)
{
    void *function;
    return SPW_PASS(cuGetProcAddress, (symbol, &function, INT_MAX, flags)) == CUDA_SUCCESS;
}

/* A driver before 12.0 has only the first form of cuGetProcAddress(), and one before 11.3 has none. A program recognises
 * its age by that, but finds our second form. So that form is answered through the first, and the program learns the age as
 * it would have. Like the drivers that have it, the second form succeeds if it finds nothing, and the status says why. */
static CUresult ask_older_driver(const char *symbol, void **pfn, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult *status)
{
    void *function = NULL;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult result = CUDA_SUCCESS;
    if (!symbol || !pfn)
        return CUDA_ERROR_INVALID_VALUE;
    if (version >= 12000 && !strcmp(symbol, "cuGetProcAddress"))
        function = (void *)cuGetProcAddress_v2; /* a program that asks for this version will pass a status */
    else if (!spw_driver.cuGetProcAddress && !strcmp(symbol, "cuDriverGetVersion"))
        function = (void *)cuDriverGetVersion; /* with which a newer runtime says that the driver is too old */
    else
        result =
            looked_up(SPW_PASS(cuGetProcAddress, (symbol, &function, version, flags)), symbol, &function, version, flags);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_FOUND)
        return result;
    if (result == CUDA_ERROR_NOT_FOUND)
        found = has_newer_form(symbol, flags) ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                              : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    *pfn = function;
    if (status)
        *status = found;
    return CUDA_SUCCESS;
}

static CUresult ask_driver(const char *symbol, void **pfn, int version, cuuint64_t flags,
                           CUdriverProcAddressQueryResult *status)
{
    return looked_up(SPW_PASS(cuGetProcAddress_v2, (symbol, pfn, version, flags, status)), symbol, pfn, version, flags);
}

CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *symbolStatus)
{
    CUresult result = spw_driver_open() && !spw_driver.cuGetProcAddress_v2
                          ? ask_older_driver(symbol, pfn, cudaVersion, flags, symbolStatus)
                          : ask_driver(symbol, pfn, cudaVersion, flags, symbolStatus);
    return counted(SPW_CALL_cuGetProcAddress_v2, result);
}

/* The form for programs compiled for per-thread default streams (13.3): its default flags mean those. */
CUresult CUDAAPI cuGetProcAddress_v2_ptsz(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                          CUdriverProcAddressQueryResult *symbolStatus)
{
    CUresult result = SPW_PASS(cuGetProcAddress_v2_ptsz, (symbol, pfn, cudaVersion, flags, symbolStatus));
    if (flags == CU_GET_PROC_ADDRESS_DEFAULT)
        flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    return counted(SPW_CALL_cuGetProcAddress_v2_ptsz, looked_up(result, symbol, pfn, cudaVersion, flags));
}

/* ---- messages ---- */

/* Our own answers when there is no driver, so that a program can say what is wrong. */
static const struct message {
    CUresult error;
    const char *name, *text;
} messages[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
};

static const struct message *find_message(CUresult error)
{
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
        if (messages[i].error == error)
            return &messages[i];
    return NULL;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **pStr)
{
    const struct message *message = find_message(error);
    if (spw_driver_open())
        return counted(SPW_CALL_cuGetErrorName, SPW_PASS(cuGetErrorName, (error, pStr)));
    *pStr = message ? message->name : NULL;
    return message ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **pStr)
{
    const struct message *message = find_message(error);
    if (spw_driver_open())
        return counted(SPW_CALL_cuGetErrorString, SPW_PASS(cuGetErrorString, (error, pStr)));
    *pStr = message ? message->text : NULL;
    return message ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
