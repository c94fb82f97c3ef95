/* ask.h - makes driver calls of our own that end no capture and whose failures the program does not see.
 *
 * Any thread may begin a capture in global mode at any moment; from then on many of our driver calls would end it,
 * whichever thread makes them. So the calling thread is in relaxed mode for as long as the driver executes a call of ours,
 * or a whole series of them (context.h). It has the program's mode again before the program continues. Calls that the
 * program makes itself reach the driver in the program's mode. */
#ifndef SPILLWAY_SHIM_ASK_H
#define SPILLWAY_SHIM_ASK_H
#include <cuda.h>
#include <stdbool.h>

#include "driver.h"
#include "ours.h"

struct spw_relaxed {
    unsigned depth; /* nested spw_relax() calls of the thread */
    bool exchanged; /* `mode` is the program's, and has to be put back */
    CUstreamCaptureMode mode;
};
extern _Thread_local struct spw_relaxed spw_relaxed SPW_OURS __attribute__((tls_model("initial-exec")));

/* Enter and leave relaxed mode, at the outermost level. */
void spw_relax_thread(void);
void spw_restore_thread(void);

/* Between these two calls the thread may do what captures forbid. Nested calls do not ask the driver. */
static inline void spw_relax(void)
{
    if (spw_relaxed.depth++ == 0)
        spw_relax_thread();
}

static inline CUresult spw_restore(CUresult result)
{
    if (--spw_relaxed.depth == 0)
        spw_restore_thread();
    return result;
}

/* Warns that the driver refused `call`, once for each call. Faults of kernels, which end the context, are warned of once
 * for all calls. While the process ends or a stream captures, calls are refused by nature, and nothing is logged. Any
 * thread may call this, with any lock held. */
void spw_ask_refused(const char *call, CUresult result);
void spw_ask_reset(void); /* forgets what was warned of: for tests */

static inline CUresult spw_ask_answer(const char *call, CUresult result)
{
    if (__builtin_expect(result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY, 0))
        spw_ask_refused(call, result);
    return result;
}

/* Calls spw_driver.call(...) in relaxed mode. */
#define SPW_ASK_QUIETLY(call, ...) (spw_relax(), spw_restore(spw_driver.call(__VA_ARGS__)))

/* The same, with a warning if the driver refuses the call. */
#define SPW_ASK(call, ...) spw_ask_answer(#call, SPW_ASK_QUIETLY(call, __VA_ARGS__))
#endif
