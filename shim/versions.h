/* versions.h - which bytes something holds: each possible write gives it a new version.
 *
 * Versions are numbers of one clock of the process, so equal versions of one thing mean equal bytes. They are kept only
 * while recomputation wants them, of everything in our arenas at once. What may have been written without anybody seeing
 * what exactly raises the epoch, and then no version of before says anything any more. What is pinned is not versioned: by
 * whom it is written no operation tells.
 *
 * Something is *needed* while dropped blocks are made again with what is in it. Whoever is about to write it, or to raise
 * the epoch, has what depends on it made again first: that is asked of the rescuer. */
#ifndef SPILLWAY_SHIM_VERSIONS_H
#define SPILLWAY_SHIM_VERSIONS_H
#include "access.h"
#include "ours.h"
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct spw_rerun;
struct spw_op;
struct spw_stream;

struct spw_versioned {       /* in a block, and in a slot of a slab */
    uint64_t version;        /* of the bytes; 0: written before anybody kept count */
    struct spw_rerun *maker; /* whose operation wrote to it last, where everything that was written to it since it was
                              * allocated is known (rebuild.h); NULL: it is not. It counts as a holder of it */
    uint32_t needed;         /* so many dropped blocks are made again with what is in here */
    bool is_believed;        /* a launch touched it of which it is only believed that it does not write it */
    uint8_t made_by;         /* 1: nobody wrote it since it was allocated; n + 1: n launches did; 0: anything else */
};

enum { SPW_VERSION_MAKERS = 4 }; /* with what is done to it in place; more write what is written all the time */

/* True for what is made by a few launches and then read: an activation, a gradient. What launches use as a workspace lives
 * on, is written again and again, or set: counters in it may go up and back to 0 within a launch that leaves it as it was.
 */
static inline bool spw_version_is_made(const struct spw_versioned *v)
{
    return v->made_by > 1;
}

extern uint64_t spw_version_clock SPW_OURS, spw_version_epoch SPW_OURS; /* the epoch begins at 1; engine lock */
extern uint64_t spw_version_epoch_clock SPW_OURS;                       /* the clock when the epoch began */
extern bool spw_versions_kept SPW_OURS;                                 /* engine lock, or a moment late */

extern uint64_t spw_slots_needed SPW_OURS; /* the `needed` of all slots together; engine lock */

/* Nothing was written to it since it was allocated: its bytes are undefined, and no result of a correct program depends on
 * them. Only while versions are kept. */
static inline bool spw_version_is_fresh(const struct spw_versioned *v)
{
    return v->made_by == 1 && v->version > spw_version_epoch_clock;
}

/* What replay.c does when something dropped would be lost. Slow locks of all devices concerned and the engine lock are held;
 * the latter may be let go of while waiting, but whatever is needed by something dropped when it returns 0 is still as it
 * was. `s` is the stream that what follows is submitted to, NULL: none in particular. Negative: it could not be done, and
 * the operation is refused with that. */
struct spw_rescuer {
    int (*rescue)(struct spw_versioned *needed, struct spw_stream *s); /* so that needed->needed is 0 */
    int (*rescue_all)(struct spw_stream *s);                           /* so that nothing is dropped any more */
    bool (*anything_dropped)(void);                                    /* engine lock only */
    /* An operation that was asked to be kept (op->wish) is: before the driver is told of it, in time to save what it is
     * about to overwrite. Negative: it cannot be replayed, and is void. */
    int (*kept)(struct spw_op *op, struct spw_rerun *rerun);
};
extern const struct spw_rescuer *spw_rescuer SPW_OURS; /* NULL: nothing is ever dropped */

/* Begins to keep versions (with a new epoch), or stops; nothing is dropped then. Engine lock. Places of devices look at it
 * through spw_planned_keep_versions_locked() (planned.h), which is what others call. */
void spw_versions_keep_locked(bool keep);

/* `v` was, or is just about to be, written: a new version, and nobody's making. Engine lock. */
void spw_version_raise_locked(struct spw_versioned *v);

/* It becomes somebody else's: its bytes mean nothing. needed is 0. Engine lock. */
void spw_version_reset_locked(struct spw_versioned *v);

/* The thing at an address, interior addresses too: a block or a slot in use. NULL: nothing versioned lies there (not ours,
 * freed, or pinned). *ret_serial (may be NULL) tells apart who had the address at which time. Engine lock. */
struct spw_versioned *spw_versioned_at_locked(CUdeviceptr address, uint64_t *ret_serial);

/* ---- what the engine asks and tells of each operation while versions are kept; engine lock ---- */

/* Finds out what is known of what the operation writes (op->kind), and whether that holds of it (op->writeset). */
void spw_versions_look_locked(struct spw_op *op);

/* True when the operation has to be begun the slow way: it may write something needed, or everything. */
bool spw_versions_endangers(const struct spw_op *op);

/* With the slow locks of its devices held: what the operation would ruin is made again. 0 or a negative result. */
int spw_versions_before_op_locked(struct spw_op *op);

/* The operation is certain to be submitted next: what it may write gets new versions, and if it is to be kept (op->wish), it
 * is (op->rerun, or op->verdict says why not). */
void spw_versions_op_locked(struct spw_op *op);

/* The driver has answered: what it refused is void. Lets go of op->rerun. No lock held. */
void spw_versions_op_end(struct spw_op *op, bool taken);

/* ---- changes that nobody sees exactly; no lock held ---- */

/* spw_versions_break() (access.h): what is dropped is made again, and the epoch raised. Does nothing while no versions are
 * kept. The same for a write to memory at `address`, which matters when that is outside of our arenas and not the host's. */
int spw_versions_break_for(CUdeviceptr address);

/* The same where a function, kernel or context is told `value` of the matter `what`, unless that is what it was told last
 * (settled.h): 0. 1: it may be something else. */
int spw_versions_settle(const void *whose, unsigned what, uint64_t value);
void spw_versions_unsettle(void); /* the driver refused: what was told last is not known any more */

void spw_versions_reset(void); /* forgets everything: for tests and a forked child */
#endif
