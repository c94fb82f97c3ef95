/* nccl.c - keeps memory that is handed to NCCL resident until NCCL's kernel has used it: its kernels find buffers through
 * structures in device memory, and other devices write to the buffers meanwhile. Memory that NCCL knows for longer is
 * pinned: registered buffers and windows, what graphs use, scalars of operators.
 *
 * The calls are those of NCCL's documentation, "NCCL API"; a result is 0 or one of its error numbers. */
#include <cuda.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "capture.h"
#include "handed.h"
#include "pin.h"
#include "log.h"
#include "nccl.h"
#include "stand_ins.h"

enum { UNHANDLED_CUDA_ERROR = 1, SYSTEM_ERROR = 2, IN_PROGRESS = 7 }; /* ncclResult_t */

static const struct spw_other_library other_library = {"/libnccl.so", "NCCL"};
static const char why[] = "it was handed to NCCL";

/* ---- what is handed over ---- */

static _Thread_local struct {
    unsigned depth; /* nesting depth of the open group */
    bool has_lost;  /* its outputs could not be prepared: something that depended on them is lost */
} group;

/* Returns true if NCCL remembers the memory behind addresses from one call to the next, since the user wants that
 * (switches.c). */
static bool is_registered(void)
{
    const char *wanted = getenv("NCCL_LOCAL_REGISTER");
    return wanted && strcmp(wanted, "0") != 0;
}

/* Pins both. Returns false if there is no room: nothing may run on missing memory. */
static bool stay(const void *from, const void *to)
{
    spw_pin_failure = 0;
    if (spw_in_arena((CUdeviceptr)from))
        spw_pin_lasting((CUdeviceptr)from, why);
    if (to != from && spw_in_arena((CUdeviceptr)to))
        spw_pin_lasting((CUdeviceptr)to, why);
    return spw_pin_failure >= 0;
}

/* Keeps both resident until the call's kernel is submitted. */
static bool hand(const char *call, size_t count, CUstream stream, const void *from, const void *to)
{
    const CUdeviceptr read = spw_in_arena((CUdeviceptr)from) ? (CUdeviceptr)from : 0,
                      written = spw_in_arena((CUdeviceptr)to) ? (CUdeviceptr)to : 0;
    if (!read && !written)
        return true;
    return is_registered() || spw_is_capturing(stream) ? stay(from, to)
                                                       : spw_handed_begin(call, count, stream, read, written) == 0;
}

/* In a group that has not ended, kernels are still to come; a communicator that does not block may launch them at any
 * time. */
static int handed(int result)
{
    if (group.depth == 0 && result == IN_PROGRESS)
        spw_handed_keep(why);
    else if (group.depth == 0)
        spw_handed_submitted();
    return result;
}

static int group_begun(int result)
{
    group.depth += result == 0;
    return result;
}

static bool end_group(void)
{
    group.has_lost = group.depth == 1 && spw_handed_renew() < 0;
    return true;
}

static int group_ended(int result)
{
    group.depth -= group.depth > 0;
    result = handed(result);
    return result == 0 && group.has_lost ? UNHANDLED_CUDA_ERROR : result;
}

static int as_it_is(int result)
{
    return result;
}

/* ---- the calls ---- */

/* X(name, parameters, arguments, what must be true before, what becomes of the result); `call` is the name there. What is
 * sent comes first, then what is received. */
#define CALLS(X) \
    X(ncclReduce, (const void *from, void *to, size_t count, int type, int op, int root, void *comm, CUstream s), \
      (from, to, count, type, op, root, comm, s), hand(call, count, s, from, to), handed) \
    X(ncclBcast, (void *buffer, size_t count, int type, int root, void *comm, CUstream s), \
      (buffer, count, type, root, comm, s), hand(call, count, s, buffer, buffer), handed) \
    X(ncclBroadcast, (const void *from, void *to, size_t count, int type, int root, void *comm, CUstream s), \
      (from, to, count, type, root, comm, s), hand(call, count, s, from, to), handed) \
    X(ncclAllReduce, (const void *from, void *to, size_t count, int type, int op, void *comm, CUstream s), \
      (from, to, count, type, op, comm, s), hand(call, count, s, from, to), handed) \
    X(ncclReduceScatter, (const void *from, void *to, size_t count, int type, int op, void *comm, CUstream s), \
      (from, to, count, type, op, comm, s), hand(call, count, s, from, to), handed) \
    X(ncclAllGather, (const void *from, void *to, size_t count, int type, void *comm, CUstream s), \
      (from, to, count, type, comm, s), hand(call, count, s, from, to), handed) \
    X(ncclAlltoAll, (const void *from, void *to, size_t count, int type, void *comm, CUstream s), \
      (from, to, count, type, comm, s), hand(call, count, s, from, to), handed) \
    X(ncclGather, (const void *from, void *to, size_t count, int type, int root, void *comm, CUstream s), \
      (from, to, count, type, root, comm, s), hand(call, count, s, from, to), handed) \
    X(ncclScatter, (const void *from, void *to, size_t count, int type, int root, void *comm, CUstream s), \
      (from, to, count, type, root, comm, s), hand(call, count, s, from, to), handed) \
    X(ncclSend, (const void *from, size_t count, int type, int peer, void *comm, CUstream s), \
      (from, count, type, peer, comm, s), hand(call, count, s, from, NULL), handed) \
    X(ncclRecv, (void *to, size_t count, int type, int peer, void *comm, CUstream s), (to, count, type, peer, comm, s), \
      hand(call, count, s, NULL, to), handed) \
    X(ncclGroupStart, (void), (), true, group_begun) \
    X(ncclGroupEnd, (void), (), end_group(), group_ended) \
    X(ncclGroupSimulateEnd, (void *info), (info), true, group_ended) \
    X(ncclPutSignal, \
      (const void *from, size_t count, int type, int peer, void *window, size_t offset, int signal, int context, \
       unsigned int flags, void *comm, CUstream s), \
      (from, count, type, peer, window, offset, signal, context, flags, comm, s), stay(from, from), as_it_is) \
    X(ncclRedOpCreatePreMulSum, (int *op, void *scalar, int type, int residence, void *comm), \
      (op, scalar, type, residence, comm), stay(scalar, scalar), as_it_is) \
    X(ncclCommRegister, (const void *comm, void *buffer, size_t bytes, void **handle), (comm, buffer, bytes, handle), \
      stay(buffer, buffer), as_it_is) \
    X(ncclCommWindowRegister, (void *comm, void *buffer, size_t bytes, void **window, int flags), \
      (comm, buffer, bytes, window, flags), stay(buffer, buffer), as_it_is)

#define STAND_IN_BODY(name, arguments, before, after) \
    static const char call[] __attribute__((unused)) = #name; \
    return !(before) ? UNHANDLED_CUDA_ERROR : after(real arguments);
#define NOT_THERE SYSTEM_ERROR
#include "stand_ins_table.h"

void *spw_nccl_instead_of(void *function, const char *name)
{
    return spw_stand_in_instead_of(ours, CALL_COUNT, function, name);
}
