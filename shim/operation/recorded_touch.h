/* recorded_touch.h - a recorded operation as data, and what it has to do with each block or slot: read and changed by
 * recorded_op.c, versions.c and read_check.c. */
#ifndef SPILLWAY_SHIM_RECORDED_TOUCH_H
#define SPILLWAY_SHIM_RECORDED_TOUCH_H
#include "ledger.h"
#include "library_inputs.h"
#include "saved_variables.h"

struct spw_kept_call_args;

enum spw_recorded_op_access { SPW_RECORDED_OP_READS = 1, SPW_RECORDED_OP_WRITES = 2 };

struct spw_recorded_op_touch {  /* each block or slot once, in the order of the hits */
    struct spw_versioned *what; /* to be looked at only after spw_recorded_op_touch_is_there() */
    struct spw_block *block;    /* NULL: a slot; the same holds */
    CUdeviceptr address;        /* where it begins */
    uint64_t bytes, serial;     /* a serial that differs means that it is somebody else by now */
    uint64_t before, after;     /* versions; equal where it is only read */
    uint64_t hits;              /* bit per hit of the launch that lies in it; those from the 64th on: none */
    uint8_t access; /* enum spw_recorded_op_access, or-ed. A launch reads all it is given, a copy or set what it says */
    bool whole;     /* what it held before does not matter: nothing was ever written to it (versions.h), or a copy or set
                     * says that it overwrites all of it */
    struct spw_recorded_op *previous; /* of a block that is written and not `whole`: what wrote to it last, held, where that
                                       * is known; NULL: it is not, so that what it held cannot be made again */
    struct spw_read_check since; /* whether what `previous` left was as it was when this operation wrote it (read_check.h) */
    bool believed;  /* the kernel's type does not say that it only reads it, but that is what it was seen to do */
    bool lent;      /* a slot that is written, or of which no type says that it is not: while the launch runs again it holds
                     * what it held then, and afterwards what it held before that */
    uint32_t saved; /* of a slot that is lent and was read: what it held, offset in the stash plus 1; 0: none */
};

struct spw_recorded_op {
    uint64_t epoch;
    uint64_t order;     /* grows from one that is kept to the next */
    uint32_t operation; /* of the course */
    uint32_t holders;
    uint16_t depth;  /* the longest way along `previous`, itself included */
    bool is_void;    /* it cannot be run again: the driver refused it, or nobody knows what it reads */
    bool is_defined; /* what it leaves of fresh blocks was filled with a pattern before (kept_ops.c) */
    uint8_t compare; /* verify.c: whether what it makes again will be compared, once that is decided */
    uint64_t form;   /* its geometry, and the sizes of what it writes: the same operation of a course may have others */
    uint64_t course; /* that it is an operation of (verify_records.h); 0: none, and nobody compares */
    CUcontext context;
    struct spw_stream *stream; /* where it ran */
    CUfunction function;       /* NULL: a copy or set */
    uint16_t touch_count;
    struct spw_recorded_op_touch *touches;
    struct spw_saved_variables variables; /* of its module, as they were before */
    size_t bytes;                         /* that it takes of SPW_RECORDED_OPS_MAX_BYTES */
    struct spw_kept_call_args *submission;
    struct spw_device *elsewhere; /* its workspace is this device's own (library_inputs.h), of which it takes these sets
                                   * first; NULL: it has none */
    uint8_t set_count;
    struct spw_kept_call_args *sets[SPW_LIBRARY_SETS];
};

/* A launch is taken to read whatever it is given and has a content. */
static inline bool spw_touch_reads(const struct spw_recorded_op_touch *touch)
{
    return touch->access & SPW_RECORDED_OP_READS && !touch->whole;
}
static inline bool spw_touch_writes(const struct spw_recorded_op_touch *touch)
{
    return touch->access & SPW_RECORDED_OP_WRITES;
}
static inline bool spw_touch_makes(const struct spw_recorded_op_touch *touch)
{
    return spw_touch_writes(touch) && touch->whole;
}
#endif
