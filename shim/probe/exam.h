/* exam.h - the record of one launch that is observed or launched again: what it touches, and the digests that are awaited.
 *
 * An exam begins when the probe policy wants the launch probed, and ends when its digests were read or will never come.
 * Engine lock throughout. */
#ifndef SPILLWAY_SHIM_EXAM_H
#define SPILLWAY_SHIM_EXAM_H
#include "call_args.h"
#include "ledger.h"
#include "op.h"
#include "probe_policy.h"
#include "slab.h"
#include "launch_class.h"

enum { SPW_EXAM_PASSES = 2 }; /* times that the launch is run again */

/* What the launch finds in a piece, and which of its contents have to be put aside: those before the launch, and those that
 * it left. */
enum spw_exam_content {
    SPW_EXAM_DEFINED,  /* both */
    SPW_EXAM_FRESH,    /* nothing was ever written to it, so it is undefined: put aside what the launch left */
    SPW_EXAM_CONSTANT, /* by its type the launch only reads there, and was seen to leave it unchanged: neither */
};

/* A block or slot that the launch touches. */
struct spw_exam_piece {
    struct spw_block *block;
    struct spw_slot *slot; /* one of the two is NULL */
    uint64_t serial;
    CUdeviceptr address;
    size_t bytes;
    uint64_t hits; /* bit for each of the parameters' addresses that lies in it */
    enum spw_exam_content content;
    uint64_t kept, before; /* places where its contents are put aside: as the launch left them; as they were before */
    uint32_t tickets[1 + SPW_EXAM_PASSES]; /* 0: none */
};

struct spw_exam {
    enum spw_probe_step step; /* NOTHING: this exam is free */
    uint32_t count;
    struct spw_exam_piece *pieces; /* SPW_CLASS_HITS of them */
    CUfunction function;
    uint64_t places;       /* with the function, these identify the class */
    uint32_t number, hits; /* of `hits` that are not doubted; doubted ones come after them */
    uint32_t doubted_count;
    uint16_t doubted[SPW_CLASS_HITS];        /* the places of these */
    uint32_t numbers[SPW_CALL_ARGS_NUMBERS]; /* the numbers among its parameters */
    unsigned number_count;
};

/* Returns one bit for each of the first `hits` addresses. */
static inline uint64_t spw_exam_hits(uint32_t hits)
{
    return hits >= SPW_CLASS_HITS ? UINT64_MAX : (UINT64_C(1) << hits) - 1;
}

static inline struct spw_object *spw_exam_object(const struct spw_exam_piece *p)
{
    return p->block ? &p->block->object : &p->slot->slab->object;
}

/* Lists what the launch touches on the device. Returns false if it touches nothing, too much, or something on another
 * device. */
bool spw_exam_list_locked(struct spw_exam *e, const struct spw_device *d, const struct spw_op *op);

/* Returns true if everything that was listed still exists, with its bytes on the device. */
bool spw_exam_is_there_locked(const struct spw_exam *e);

void spw_exam_begin_locked(const struct spw_op *op, enum spw_probe_step step, struct spw_exam *e);

/* Returns the class of the launch on the device; NULL: it went with its module. */
struct spw_probed *spw_exam_class_locked(const struct spw_exam *e, struct spw_device *d);

/* Forgets the answers that are awaited: the exam is free for another launch. */
void spw_exam_end_locked(struct spw_exam *e);
#endif
