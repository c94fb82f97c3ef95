/* calls.c - the calls that move elements: each is checked, and is a work of the thread's group. */
#include "elements.h"
#include "group.h"

/* NULL: all is well with what is the same in all of them. */
static const char *wrong_with(const struct ncclComm *c, const struct work *w)
{
    if (!c || !c->board)
        return "there is no such communicator";
    if (element_bytes(w->type) == 0)
        return "there is no such type";
    if (w->root >= c->ranks)
        return "there is no such rank";
    if ((work_reads(c, w) > 0 && !w->from) || (work_writes(c, w) > 0 && !w->to))
        return "there is no buffer";
    return NULL;
}

/* An operator of the program's is a sum of what is multiplied first. */
static bool resolve_operator(const struct ncclComm *c, struct work *w, int op)
{
    w->scale = 1;
    if (op >= 0 && op < ncclNumOps) {
        w->op = (ncclRedOp_t)op;
        return true;
    }
    const int own = op - ncclNumOps;
    if (own < 0 || own >= COMM_OPERATORS || !c->operators[own].is_taken || c->operators[own].type != w->type)
        return false;
    w->op = ncclSum;
    w->scale = c->operators[own].scale;
    w->scale_at = c->operators[own].scale_at;
    return true;
}

static ncclResult_t begin(const char *name, struct ncclComm *c, struct work work, int op, cudaStream_t stream)
{
    const char *wrong = wrong_with(c, &work);
    if (!wrong && !resolve_operator(c, &work, op))
        wrong = "there is no such operator";
    return wrong ? comm_complain(ncclInvalidArgument, "%s: %s", name, wrong) : group_do(c, &work, stream);
}

#define WORK(kind, from, to, count, type, root) \
    (struct work) \
    { \
        kind, type, ncclSum, (unsigned)(root), from, to, count, 1, NULL, 0 \
    }

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t c,
                           cudaStream_t stream)
{
    return begin("ncclAllReduce", c, WORK(WORK_ALL_REDUCE, from, to, count, type, 0), (int)op, stream);
}

ncclResult_t ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t c, cudaStream_t stream)
{
    return begin("ncclReduce", c, WORK(WORK_REDUCE, from, to, count, type, root), (int)op, stream);
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t c,
                           cudaStream_t stream)
{
    return begin("ncclBroadcast", c, WORK(WORK_BROADCAST, from, to, count, type, root), ncclSum, stream);
}

ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t c, cudaStream_t stream)
{
    return begin("ncclBcast", c, WORK(WORK_BROADCAST, buffer, buffer, count, type, root), ncclSum, stream);
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t c, cudaStream_t stream)
{
    return begin("ncclAllGather", c, WORK(WORK_ALL_GATHER, from, to, count, type, 0), ncclSum, stream);
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t c,
                               cudaStream_t stream)
{
    return begin("ncclReduceScatter", c, WORK(WORK_REDUCE_SCATTER, from, to, count, type, 0), (int)op, stream);
}

ncclResult_t ncclAlltoAll(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t c, cudaStream_t stream)
{
    return begin("ncclAlltoAll", c, WORK(WORK_ALL_TO_ALL, from, to, count, type, 0), ncclSum, stream);
}

ncclResult_t ncclGather(const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t c,
                        cudaStream_t stream)
{
    return begin("ncclGather", c, WORK(WORK_GATHER, from, to, count, type, root), ncclSum, stream);
}

ncclResult_t ncclScatter(const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t c,
                         cudaStream_t stream)
{
    return begin("ncclScatter", c, WORK(WORK_SCATTER, from, to, count, type, root), ncclSum, stream);
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t stream)
{
    return begin("ncclSend", c, WORK(WORK_SEND, from, NULL, count, type, peer), ncclSum, stream);
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t stream)
{
    return begin("ncclRecv", c, WORK(WORK_RECEIVE, NULL, to, count, type, peer), ncclSum, stream);
}

/* ---- operators of the program's ---- */

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *ret_op, void *scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t c)
{
    if (!c || !ret_op || !scalar || element_bytes(type) == 0)
        return comm_complain(ncclInvalidArgument, "ncclRedOpCreatePreMulSum: no communicator, scalar or type");
    for (int i = 0; i < COMM_OPERATORS; i++) {
        if (c->operators[i].is_taken)
            continue;
        const bool is_here = residence == ncclScalarHostImmediate;
        c->operators[i] = (struct comm_operator){.is_taken = true,
                                                 .scale = is_here ? element_value(type, scalar) : 1,
                                                 .scale_at = is_here ? NULL : scalar,
                                                 .type = type};
        *ret_op = (ncclRedOp_t)(ncclNumOps + i);
        return ncclSuccess;
    }
    return comm_complain(ncclInternalError, "ncclRedOpCreatePreMulSum: too many operators");
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t c)
{
    const int own = (int)op - ncclNumOps;
    if (!c || own < 0 || own >= COMM_OPERATORS || !c->operators[own].is_taken)
        return comm_complain(ncclInvalidArgument, "ncclRedOpDestroy: there is no such operator");
    c->operators[own].is_taken = false;
    return ncclSuccess;
}
