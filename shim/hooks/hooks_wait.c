/* hooks_wait.c - host functions in a stream. They may wait for what the program does after it has submitted them, and
 * everything that the stream does later waits with them. */
#include "hooks.h"
#include "hooks_wait.h"

#include "capture.h"
#include "reclaim.h"
#include "recorded_op.h"
#include "streams.h"

static bool graphs_wait;

static void gate_locked(CUstream stream)
{
    struct spw_stream *s = spw_stream_of_locked(stream);
    struct spw_uses gate = {0};
    if (!s)
        return;
    spw_uses_add_locked(&gate, s, spw_stream_next_locked(s));
    spw_stream_gate_of_program_locked(s);
    if (__atomic_load_n(&spw_reclaim_pressed, __ATOMIC_RELAXED))
        (void)spw_uses_mark_locked(
            &gate); /* else the event is recorded when it is asked for, and covers everything up to then */
}

CUresult spw_waits_for_the_program(CUstream stream, CUresult result)
{
    if (result != CUDA_SUCCESS)
        return result;
    spw_lock();
    if (spw_is_capturing(stream))
        spw_graphs_wait_for_the_program();
    else
        gate_locked(stream);
    spw_unlock();
    return result;
}

void spw_graphs_wait_for_the_program(void)
{
    __atomic_store_n(&graphs_wait, true, __ATOMIC_RELAXED);
}

CUresult spw_graph_waits_for_the_program(CUstream stream, CUresult result)
{
    const bool may_wait = __atomic_load_n(&graphs_wait, __ATOMIC_RELAXED) || spw_recorded_op_order_unseen;
    return may_wait ? spw_waits_for_the_program(stream, result) : result;
}

#define HOST_FUNCTION(symbol, s, parameters, arguments) \
    CUresult spw_on_##symbol parameters \
    { \
        return spw_waits_for_the_program(s, SPW_DRIVER(symbol, arguments)); \
    }

HOST_FUNCTION(cuLaunchHostFunc, hStream, (CUstream hStream, CUhostFn fn, void *userData), (hStream, fn, userData))
HOST_FUNCTION(cuLaunchHostFunc_ptsz, spw_per_thread(hStream), (CUstream hStream, CUhostFn fn, void *userData),
              (hStream, fn, userData))
HOST_FUNCTION(cuLaunchHostFunc_v2, hStream, (CUstream hStream, CUhostFn fn, void *userData, unsigned int syncMode),
              (hStream, fn, userData, syncMode))
HOST_FUNCTION(cuLaunchHostFunc_v2_ptsz, spw_per_thread(hStream),
              (CUstream hStream, CUhostFn fn, void *userData, unsigned int syncMode), (hStream, fn, userData, syncMode))
HOST_FUNCTION(cuStreamAddCallback, hStream,
              (CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags),
              (hStream, callback, userData, flags))
HOST_FUNCTION(cuStreamAddCallback_ptsz, spw_per_thread(hStream),
              (CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags),
              (hStream, callback, userData, flags))

CUresult spw_on_cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                   size_t numDependencies, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    spw_graphs_wait_for_the_program();
    return SPW_DRIVER(cuGraphAddHostNode, (phGraphNode, hGraph, dependencies, numDependencies, nodeParams));
}
