/* contexts.c - frees what was allocated in a context, and what each part of the library keeps there. */
#include "contexts.h"

#include "alloc.h"
#include "arrivals.h"
#include "retire.h"
#include "digest.h"
#include "durations.h"
#include "lock.h"
#include "mover.h"
#include "plan_follower.h"
#include "seek.h"
#include "steptime.h"
#include "streams.h"
#include "uses_wait.h"

/* In this order: streams are forgotten after everything that waits for their operations. Engine lock held. */
static void (*const gone_locked[])(CUcontext context) = {
    spw_retained_all_context_gone_locked, spw_seek_context_gone_locked,     spw_mover_context_gone_locked,
    spw_digests_context_gone_locked,      spw_streams_context_gone_locked,  spw_durations_context_gone_locked,
    spw_steptime_context_gone_locked,     spw_arrivals_context_gone_locked,
};

void spw_context_free(CUcontext context)
{
    spw_lock();
    spw_streams_await_waiters_unlocking(context);
    spw_plan_follower_context_gone_locked(context);
    spw_free_of_context_locked(context);
    for (unsigned i = 0; i < sizeof(gone_locked) / sizeof(*gone_locked); i++)
        gone_locked[i](context);
    spw_mover_give_back_host_memory_locked();
    spw_free_unused_devices_locked();
    spw_unlock();
}
