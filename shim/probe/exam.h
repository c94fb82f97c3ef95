/* exam.h - one launch that is observed or run again: what it touches, and what is awaited of that.
 *
 * Begun when the probe policy wants the launch probed, ended when its digests were read or will never come. Engine lock
 * throughout. */
#ifndef SPILLWAY_SHIM_EXAM_H
#define SPILLWAY_SHIM_EXAM_H
#include "call_args.h"
#include "ledger.h"
#include "op.h"
#include "probe_policy.h"
#include "slab.h"
#include "launch_class.h"

enum { SPW_EXAM_PASSES = 2 }; /* launches again */

/* What the launch finds in a piece, and what has to be put aside of that: as it was before, and as the launch left it. */
enum spw_exam_content {
    SPW_EXAM_DEFINED,  /* both */
    SPW_EXAM_FRESH,    /* nothing was ever written to it, so that it is undefined: as the launch left it */
    SPW_EXAM_CONSTANT, /* by its type it only reads there, and it was seen to leave it alike: nothing */
};

/* One block or slot that the launch touches. */
struct spw_exam_piece {
    struct spw_block *block;
    struct spw_slot *slot; /* of the two one is NULL */
    uint64_t serial;
    CUdeviceptr address;
    size_t bytes;
    uint64_t hits; /* which of the parameters' addresses lie in it */
    enum spw_exam_content content;
    uint64_t kept, before;                 /* places put aside: as the launch left it; as it was before */
    uint32_t tickets[1 + SPW_EXAM_PASSES]; /* 0: none */
};

struct spw_exam {
    enum spw_probe_step step; /* NOTHING: this one is free */
    uint32_t count;
    struct spw_exam_piece *pieces; /* SPW_CLASS_HITS of them */
    CUfunction function;
    uint64_t places;       /* with it, the class */
    uint32_t number, hits; /* of these; behind them those that are doubted */
    uint32_t doubted_count;
    uint16_t doubted[SPW_CLASS_HITS];        /* their places */
    uint32_t numbers[SPW_CALL_ARGS_NUMBERS]; /* that it was given */
    unsigned number_count;
};

/* One bit for each of the first `hits` addresses. */
static inline uint64_t spw_exam_hits(uint32_t hits)
{
    return hits >= SPW_CLASS_HITS ? UINT64_MAX : (UINT64_C(1) << hits) - 1;
}

static inline struct spw_object *spw_exam_object(const struct spw_exam_piece *p)
{
    return p->block ? &p->block->object : &p->slot->slab->object;
}

/* Lists what the launch touches on the device. False: nothing, too much, or something on another device. */
bool spw_exam_list_locked(struct spw_exam *e, const struct spw_device *d, const struct spw_op *op);

/* All that was listed is what it was, and its bytes are where they were. */
bool spw_exam_is_there_locked(const struct spw_exam *e);

void spw_exam_begin_locked(const struct spw_op *op, enum spw_probe_step step, struct spw_exam *e);

/* The class of launches on the device; NULL: it went with its module. */
struct spw_probed *spw_exam_class_locked(const struct spw_exam *e, struct spw_device *d);

/* The answers are not awaited any more: the exam is free for another launch. */
void spw_exam_end_locked(struct spw_exam *e);
#endif
