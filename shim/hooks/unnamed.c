/* unnamed.c - begins and ends operations that touch pinned memory and do not list it. */
#include "unnamed.h"

#include "capture.h"
#include "durations.h"
#include "engine.h"

bool spw_unnamed_begin(struct spw_op *op, const char *name, struct spw_signature signature, CUstream stream)
{
    *op = (struct spw_op){.handle = stream, .follows_no_tables = true, .name = name, .signature = signature};
    if (spw_is_capturing(stream) || spw_op_begin(op) < 0)
        return false;
    spw_duration_before(op->timed);
    return true;
}

CUresult spw_unnamed_end(struct spw_op *op, CUresult result)
{
    spw_duration_after(op->timed, result == CUDA_SUCCESS);
    spw_op_answered(op, result == CUDA_SUCCESS);
    return result;
}
