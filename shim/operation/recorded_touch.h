/* recorded_touch.h - a recorded operation as data, with its touches: what it does to each block or slot. recorded_op.c,
 * versions.c and read_check.c read and change these. */
#ifndef SPILLWAY_SHIM_RECORDED_TOUCH_H
#define SPILLWAY_SHIM_RECORDED_TOUCH_H
#include "ledger.h"
#include "library_inputs.h"
#include "saved_variables.h"

struct spw_kept_call_args;

enum spw_recorded_op_access { SPW_RECORDED_OP_READS = 1, SPW_RECORDED_OP_WRITES = 2 };

struct spw_recorded_op_touch {        /* one for each block or slot, in the order of the hits */
    struct spw_versioned *what;       /* may only be used after spw_recorded_op_touch_is_there() */
    struct spw_block *block;          /* NULL: it is a slot; may be used as `what` */
    CUdeviceptr address;              /* the beginning of the block or slot */
    uint64_t bytes, serial;           /* another serial means that the memory belongs to another allocation */
    uint64_t before, after;           /* versions; equal if it is only read */
    uint64_t hits;                    /* bit per hit of the launch that lies in it; hits from the 64th on have none */
    uint8_t access;                   /* enum spw_recorded_op_access, or-ed. A launch is taken to read all that it is given;
                                       * a copy or set says what it reads */
    bool whole;                       /* what it held before does not matter: nothing was ever written to it (versions.h), or
                                       * a copy or set overwrites all of it */
    struct spw_recorded_op *previous; /* of a block that is written and not `whole`: the operation that wrote to it last,
                                       * held. NULL: it is not known, so what the block held before cannot be made again */
    struct spw_read_check since;      /* whether that content was unchanged until this operation wrote to it
                                       * (read_check.h) */
    bool believed;                    /* it is only read as far as was seen; the kernel's type does not say so */
    bool lent;                        /* a slot that is written, or that no type says is only read. While the launch runs
                                       * again the slot holds what it held at the first run; afterwards it gets back what it
                                       * held before the replay */
    uint32_t saved;                   /* of a lent slot that was read: offset in the stash of what it held, plus 1; 0:
                                       * none */
};

struct spw_recorded_op {
    uint64_t epoch;
    uint64_t order;     /* grows from each kept operation to the next */
    uint32_t operation; /* its ordinal in the course */
    uint32_t holders;
    uint16_t depth;  /* length of the longest chain along `previous`, this operation included */
    bool is_void;    /* it cannot be run again: the driver refused it, or it is not known what it reads */
    bool is_defined; /* fresh blocks that it writes were filled with a pattern before, so that what it leaves undefined is
                      * the same every time (kept_ops.c) */
    uint8_t compare; /* verify.c: whether what it makes again will be compared; 0: undecided */
    uint64_t form;   /* hash of its geometry and of the sizes of what it makes: the same operation of a course may differ in
                      * these */
    uint64_t course; /* number of the course that it is an operation of (verify_records.h); 0: none, and nothing is
                      * compared */
    CUcontext context;
    struct spw_stream *stream; /* the stream on which it ran */
    CUfunction function;       /* NULL: a copy or set */
    uint16_t touch_count;
    struct spw_recorded_op_touch *touches;
    struct spw_saved_variables variables; /* the variables of its module, as they were before the operation */
    size_t bytes;                         /* its share of SPW_RECORDED_OPS_MAX_BYTES */
    struct spw_kept_call_args *submission;
    struct spw_device *elsewhere; /* the device whose own workspace it uses instead of the library call's (library_inputs.h),
                                   * after running `sets` there; NULL: none */
    uint8_t set_count;
    struct spw_kept_call_args *sets[SPW_LIBRARY_SETS];
};

/* Returns true if the touch reads. A launch is taken to read everything that it is given, unless its content is
 * undefined. */
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
