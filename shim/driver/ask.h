/* ask.h - driver calls of our own: no capture ends by them, and the program does not hear of their refusal.
 *
 * Any thread may begin a capture in global mode at any moment, and from then on much of what we ask the driver for would end
 * it, whichever thread asks. So the calling thread is relaxed for as long as the driver has a call of ours (context.h: for a
 * whole stretch of them), and has the program's mode again before the program goes on. What the program calls itself reaches
 * the driver in the program's mode. */
#ifndef SPILLWAY_SHIM_ASK_H
#define SPILLWAY_SHIM_ASK_H
#include <cuda.h>
#include <stdbool.h>

#include "driver.h"
#include "ours.h"

struct spw_relaxed {
    unsigned depth; /* stretches that the thread is in, one within the other */
    bool exchanged; /* `mode` is the program's, to be put back */
    CUstreamCaptureMode mode;
};
extern _Thread_local struct spw_relaxed spw_relaxed SPW_OURS __attribute__((tls_model("initial-exec")));

/* The outermost stretch begins, and has ended. */
void spw_relax_thread(void);
void spw_restore_thread(void);

/* Between the two the calling thread may do what captures forbid. Within another stretch nothing is asked of the driver. */
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

/* spw_driver.call(...), without an end to any capture. */
#define SPW_ASK_QUIETLY(call, ...) (spw_relax(), spw_restore(spw_driver.call(__VA_ARGS__)))

/* The same, told of where it is refused. */
#define SPW_ASK(call, ...) spw_ask_answer(#call, SPW_ASK_QUIETLY(call, __VA_ARGS__))
#endif
