/* rebuild.h - finds what it takes to make something again: the operations that wrote to it since it was allocated, in
 * order, and everything that they touch.
 *
 * A launch is a function of its parameters and of the defined contents of what it reads: run again on the same, it writes
 * the same bytes to the same places. Bytes that nobody has written since their allocation are undefined, and no result of a
 * correct program depends on them. So a block that was fresh when its only writer ran is made again by that writer alone.
 * Any other block is made again by all its writers, from the first on (memset and scatter, an activation in place, a sum).
 * That a launch was seen to overwrite its output completely is never relied on.
 *
 * Whatever else these operations write is written again as well, so the same has to hold for it. Small allocations are lent
 * what they held at that time (replay_op.h). The caller holds the engine lock throughout. */
#ifndef SPILLWAY_SHIM_REBUILD_H
#define SPILLWAY_SHIM_REBUILD_H
#include "recorded_op.h"

enum { SPW_REBUILD_OPS = 2 * SPW_RECORDED_OP_DEPTH, SPW_REBUILD_PARTS = 256 };

struct spw_rebuild_part {                      /* one block that the operations touch */
    const struct spw_recorded_op_touch *touch; /* one of the touches that name the block */
    uint64_t version;                          /* the version that it has at the end, or throughout where it is only read */
    uint32_t writers;                          /* number of operations that write it; 0: it is only read */
    bool is_believed;                          /* it is only a belief that some of the operations do not write it */
};

struct spw_rebuild {
    struct spw_recorded_op *ops[SPW_REBUILD_OPS]; /* oldest first; the last is the one asked about; not held */
    struct spw_rebuild_part parts[SPW_REBUILD_PARTS];
    unsigned op_count, part_count;
};

/* Finds what it takes to make again what `maker` made. Returns false if that is not known: something that it wrote to had a
 * content of unknown origin, one of the operations read what another overwrites later, or there are too many operations or
 * blocks. The result depends only on what was kept, so it stays the same as long as the recorded operations are held. */
bool spw_rebuild_find(struct spw_recorded_op *maker, struct spw_rebuild *ret);

/* Returns the part that is this block; NULL if it is none of them, or a slot. */
const struct spw_rebuild_part *spw_rebuild_part_of(const struct spw_rebuild *rebuild, const struct spw_versioned *what);

/* Returns true if one of the operations touches it. */
bool spw_rebuild_touches(const struct spw_rebuild *rebuild, const struct spw_versioned *what);

/* Returns of how many operations the undefined output was filled with the pattern before the program's own launch. */
static inline unsigned spw_rebuild_defined(const struct spw_rebuild *rebuild)
{
    unsigned count = 0;
    for (unsigned i = 0; i < rebuild->op_count; i++)
        count += rebuild->ops[i]->is_defined;
    return count;
}

/* Returns true if every operation is good (recorded_op.h). */
bool spw_rebuild_is_good(const struct spw_rebuild *rebuild);
#endif
