/* working_set.h - the objects that an operation touches, each once, when they have to be known exactly.
 *
 * The engine lists them on the slow way, from the operation's hits and from what pointer tables lead to, and holds them
 * while the operation is begun: a held block is nobody's victim. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_WORKING_SET_H
#define SPILLWAY_SHIM_WORKING_SET_H
#include "ledger.h"
#include "op.h"
#include "pointer_tables.h"

struct spw_touched_object {
    struct spw_object *object;
    bool writes;    /* as far as is known: what a kernel has never been seen to write, it is believed not to */
    bool may_write; /* for certain not, where this is false: the call, the kernel's type or its library says that it reads */
    bool is_known;  /* the operation is known by it, and not doubted to be given it (scan.h) */
};

struct spw_working_set {
    struct spw_touched_object *list; /* each object once */
    unsigned count, held;            /* blocks among the first `held` are held */
    uint64_t devices;                /* bit per device */
    bool is_closer;                  /* more than the operation's hits: what tables led to, or all that there is */
    const struct spw_device *full;   /* where no room could be made for it; NULL: nowhere yet */
};

/* Addresses that lie in device memory are looked for behind the operation's hits. */
static inline bool spw_op_follows_tables(const struct spw_op *op)
{
    return spw_pointer_tables_any() && !op->follows_no_tables;
}

/* Lists what the operation touches and holds it; all that there is, where its parameters cannot be parsed. Also an empty
 * slab may be in it: by an address that the program has given back and left standing among the parameters. */
int spw_working_set_gather_locked(struct spw_op *op, struct spw_working_set *set);

/* Nothing is held any more, and the set is empty. */
void spw_working_set_let_go_locked(struct spw_working_set *set);
#endif
