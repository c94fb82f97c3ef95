/* ask.c - switches the capture mode of a thread for our calls, and notes which refused calls were warned of. */
#include "ask.h"

#include <string.h>

#include "log.h"

enum { CALLS = 64, FIRST_FAULT = 700, LAST_FAULT = 799, FIRST_CAPTURE = 900, LAST_CAPTURE = 908 };

_Thread_local struct spw_relaxed spw_relaxed __attribute__((tls_model("initial-exec")));

/* A driver that lacks the call (before 10.1) has no capture modes either, and no budget is kept with it. */
void spw_relax_thread(void)
{
    spw_relaxed.mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    spw_relaxed.exchanged = spw_driver.cuThreadExchangeStreamCaptureMode &&
                            spw_driver.cuThreadExchangeStreamCaptureMode(&spw_relaxed.mode) == CUDA_SUCCESS;
}

void spw_restore_thread(void)
{
    if (spw_relaxed.exchanged)
        (void)spw_driver.cuThreadExchangeStreamCaptureMode(&spw_relaxed.mode);
    spw_relaxed.exchanged = false;
}

static const char *told[CALLS]; /* filled from the first element on; atomic */

/* Returns true for the first caller with this name. */
static bool is_news(const char *name)
{
    for (int i = 0; i < CALLS; i++) {
        const char *there = NULL;
        if (__atomic_compare_exchange_n(&told[i], &there, name, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return true;
        if (there == name || strcmp(there, name) == 0)
            return false;
    }
    return false;
}

void spw_ask_refused(const char *call, CUresult result)
{
    const int code = (int)result;
    const bool is_fault = code >= FIRST_FAULT && code <= LAST_FAULT;
    const char *name = NULL;
    if (result == CUDA_ERROR_DEINITIALIZED || (code >= FIRST_CAPTURE && code <= LAST_CAPTURE))
        return;
    if (!is_news(is_fault ? "a fault" : call))
        return;
    if (!spw_driver.cuGetErrorName || spw_driver.cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
        name = "unknown";
    spw_warn("the driver refused %s of ours (error %d, %s); the program goes on, maybe slower; %s are not reported" SPW_SEE(
                 "driver-refused"),
             call, (int)result, name, is_fault ? "further faults" : "further refusals of this call");
}

void spw_ask_reset(void)
{
    memset(told, 0, sizeof(told));
}
