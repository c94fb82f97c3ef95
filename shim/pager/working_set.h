/* working_set.h - lists the objects that an operation touches, each once, for when they have to be known exactly.
 *
 * The engine lists them on the slow path, from the operation's hits (the addresses among its parameters) and from what
 * pointer tables lead to. It holds them while the operation is begun, so that none of them is evicted. Engine lock
 * throughout. */
#ifndef SPILLWAY_SHIM_WORKING_SET_H
#define SPILLWAY_SHIM_WORKING_SET_H
#include "ledger.h"
#include "op.h"
#include "pointer_tables.h"

struct spw_touched_object {
    struct spw_object *object;
    bool writes;    /* as far as is known: a kernel is believed not to write what it has never been seen to write */
    bool may_write; /* false: it certainly does not, since the call, the kernel's type or its library says that it only reads
                     */
    bool is_known;  /* the operation is recognised by it, and it is not doubtful that the operation is passed it (scan.h) */
};

struct spw_working_set {
    struct spw_touched_object *list; /* each object once */
    unsigned count, held;            /* blocks and slabs among the first `held` are held */
    uint64_t devices;                /* bit per device */
    bool is_closer; /* the list has more than the operation's hits: what tables led to, or everything there is */
    const struct spw_device *full; /* the device on which no room could be made for it; NULL: none yet */
};

/* Returns true if addresses in device memory are followed from the operation's hits. */
static inline bool spw_op_follows_tables(const struct spw_op *op)
{
    return spw_pointer_tables_any() && !op->follows_no_tables;
}

/* Lists what the operation touches and holds it; lists everything there is if its parameters cannot be parsed. An empty
 * slab may be among it, by an address that the program has freed and left among the parameters. Returns 0, -ENOMEM or
 * another failure. */
int spw_working_set_gather_locked(struct spw_op *op, struct spw_working_set *set);

/* Releases all holds and empties the set. */
void spw_working_set_let_go_locked(struct spw_working_set *set);
#endif
