/* own-twin.c - for tests that load no modules: every function is its own twin. Stands in the way of twins.c, by way of the
 * linker. */
#include "twins.h"

enum spw_replay_verdict __wrap_spw_twin_verdict_locked(CUfunction f, CUcontext context);
enum spw_replay_verdict __wrap_spw_twin_verdict_locked(CUfunction f, CUcontext context)
{
    (void)f;
    (void)context;
    return SPW_REPLAYABLE;
}

int __wrap_spw_twin_make_locked(CUfunction f, CUcontext context);
int __wrap_spw_twin_make_locked(CUfunction f, CUcontext context)
{
    (void)f;
    (void)context;
    return 0;
}

int __wrap_spw_twin_use_locked(CUfunction f, CUcontext context, struct spw_stream *s, CUfunction *ret_twin);
int __wrap_spw_twin_use_locked(CUfunction f, CUcontext context, struct spw_stream *s, CUfunction *ret_twin)
{
    (void)context;
    (void)s;
    *ret_twin = f;
    return 0;
}
