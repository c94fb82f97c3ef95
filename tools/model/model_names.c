/* model_names.c - names operations for people. */
#include "model.h"

const char *model_op_name(const struct model *m, const struct model_op *op)
{
    static const char *const names[SPW_OP_KINDS] = {[SPW_OP_LAUNCH] = "unknown kernel",
                                                    [SPW_OP_GRAPH] = "graph",
                                                    [SPW_OP_COPY_H2D] = "copy host to device",
                                                    [SPW_OP_COPY_D2H] = "copy device to host",
                                                    [SPW_OP_COPY_D2D] = "copy on the device",
                                                    [SPW_OP_COPY_H2H] = "copy on the host",
                                                    [SPW_OP_SET] = "set",
                                                    [SPW_OP_HOST_FUNCTION] = "host function",
                                                    [SPW_OP_VALUE] = "wait for or write a word"};
    const char *readable = op->function != MODEL_NONE ? m->functions[op->function].readable : NULL;
    return readable ? readable : names[op->kind];
}
