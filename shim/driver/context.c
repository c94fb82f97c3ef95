/* context.c - enters and leaves a context for driver calls of our own, and waits for one. */
#include "context.h"

#include "ask.h"
#include "driver.h"
#include "result.h"

int spw_context_enter(struct spw_context_guard *guard, CUcontext context)
{
    CUcontext current = NULL;
    *guard = (struct spw_context_guard){0};
    if (context && (spw_driver.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current != context)) {
        int r = spw_result(SPW_ASK(cuCtxPushCurrent_v2, context));
        if (r < 0)
            return r;
        guard->pushed = true;
    }
    spw_relax();
    return 0;
}

void spw_context_leave(struct spw_context_guard *guard)
{
    CUcontext popped;
    if (guard->pushed)
        (void)SPW_ASK(cuCtxPopCurrent_v2, &popped);
    (void)spw_restore(CUDA_SUCCESS);
}

int spw_context_synchronize(CUcontext context)
{
    struct spw_context_guard guard;
    int r = spw_context_enter(&guard, context);
    if (r < 0)
        return r;
    r = spw_result(SPW_ASK(cuCtxSynchronize));
    spw_context_leave(&guard);
    return r;
}
