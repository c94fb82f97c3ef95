/* rebuild.h - what it takes to make something again: the operations that wrote to it since it was allocated, in order, and
 * all that they touch.
 *
 * A launch is a function of its parameters and of the defined contents of what it reads: run again on the same, it writes
 * the same bytes to the same places. Bytes that nobody has written since they were allocated are undefined, and no result of
 * a correct program depends on them. So a block that was fresh when its one writer ran is made again by that writer alone,
 * and any other by all that wrote to it, from the first on (memset and scatter, an activation in place, a sum). No launch is
 * taken to overwrite its output completely because it was seen to.
 *
 * What else these operations write beside a block is written again as well, so the same has to hold of that. Small
 * allocations are lent what they held then (replay_op.h). Engine lock throughout. */
#ifndef SPILLWAY_SHIM_REBUILD_H
#define SPILLWAY_SHIM_REBUILD_H
#include "recorded_op.h"

enum { SPW_REBUILD_OPS = 2 * SPW_RECORDED_OP_DEPTH, SPW_REBUILD_PARTS = 256 };

struct spw_rebuild_part {                      /* a block that they touch, once */
    const struct spw_recorded_op_touch *touch; /* one of those that say which it is */
    uint64_t version;                          /* that it has in the end, or throughout where it is only read */
    uint32_t writers;                          /* of the operations; 0: it is only read */
    bool is_believed;                          /* that some of them do not write it is only believed */
};

struct spw_rebuild {
    struct spw_recorded_op *ops[SPW_REBUILD_OPS]; /* oldest first, the last is what it is asked of; not held */
    struct spw_rebuild_part parts[SPW_REBUILD_PARTS];
    unsigned op_count, part_count;
};

/* What it takes to make what the operation made. False: it is not known how, since something that it wrote to had a content
 * of which nobody knows how it came about; or since one of the operations read what another one of them overwrites later; or
 * they are too many. That depends on nothing but what was kept, and stays as it is for as long as that is held. */
bool spw_rebuild_find(struct spw_recorded_op *maker, struct spw_rebuild *ret);

/* The part that the block or slot `what` is; NULL: none, or a slot. */
const struct spw_rebuild_part *spw_rebuild_part_of(const struct spw_rebuild *rebuild, const struct spw_versioned *what);

/* Some of the operations touches it. */
bool spw_rebuild_touches(const struct spw_rebuild *rebuild, const struct spw_versioned *what);

/* Of how many of the operations all was filled, before the program's own launch, that they leave undefined. */
static inline unsigned spw_rebuild_defined(const struct spw_rebuild *rebuild)
{
    unsigned count = 0;
    for (unsigned i = 0; i < rebuild->op_count; i++)
        count += rebuild->ops[i]->is_defined;
    return count;
}

/* Each of them is good (recorded_op.h). */
bool spw_rebuild_is_good(const struct spw_rebuild *rebuild);
#endif
