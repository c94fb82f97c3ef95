/* ask.h - driver calls of our own, whose refusal the program does not hear of: each call that is refused is told of once. */
#ifndef SPILLWAY_SHIM_ASK_H
#define SPILLWAY_SHIM_ASK_H
#include <cuda.h>

#include "driver.h"

/* Logs that `call` was refused, the first time for each call; where a kernel's fault has ended the context, once for all of
 * them, and nothing while the process ends or a stream captures: then calls are refused by nature. From any thread, with
 * any lock held. */
void spw_ask_refused(const char *call, CUresult result);
void spw_ask_reset(void); /* forgets what was told: for tests */

static inline CUresult spw_ask_answer(const char *call, CUresult result)
{
    if (__builtin_expect(result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY, 0))
        spw_ask_refused(call, result);
    return result;
}

/* spw_driver.call(...), told of where it is refused. */
#define SPW_ASK(call, ...) spw_ask_answer(#call, spw_driver.call(__VA_ARGS__))
#endif
