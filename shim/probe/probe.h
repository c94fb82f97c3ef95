/* probe.h - finds out on the device what a launch writes and whether running it again gives the same bytes, on the program's
 * own stream, and leaves everything as the program's launch left it.
 *
 *     a look   hash of all that it touches | the launch | hash of it again: what differs was written
 *     a probe  all that it touches put aside (probe_snapshot.h), or, where nothing was ever written to it, filled with a
 * pattern | the launch | hash, and all that it touches put aside once more | twice: everything as it was before the launch,
 * the launch again in the twin of its module (twins.h), hash | everything copied back. Equal hashes: it depends on nothing
 * that is not told, and gives the same every time
 *
 * So a launch is never shown anything that the program did not show it: no index, address, flag or counter is made up.
 *
 * Nobody waits: hashes are read when they are there. What is known is kept in launch_class.h. Engine lock, but where it says
 * otherwise. */
#ifndef SPILLWAY_SHIM_PROBE_H
#define SPILLWAY_SHIM_PROBE_H
#include "op.h"
#include "probe_policy.h"

struct spw_course;

struct spw_probe; /* of one device */

/* NULL: no memory. */
struct spw_probe *spw_probe_create(struct spw_device *d);
void spw_probe_destroy(struct spw_probe *probe); /* NULL is fine; of the driver it asks nothing */

/* Iterations of the course are to be learned from, beginning with the next one. */
void spw_probe_begin(struct spw_probe *probe, const struct spw_course *course, double iteration_us);

/* The next iteration begins. True: there is nothing more to be learned. Scratch memory is taken here, where there can be
 * any, and given back with the last one: the device's slow lock is held too, and the engine lock is let go of while room is
 * made. */
bool spw_probe_iteration_unlocking(struct spw_probe *probe);

/* Iterations of the same course come again after others: what is known of it is known still. */
void spw_probe_go_on(struct spw_probe *probe);

/* Learning ends where it stands; scratch memory goes back. Slow lock and engine lock held. */
void spw_probe_end(struct spw_probe *probe);

/* An operation lacks memory: scratch memory goes. The next iteration takes some again. 1: it went; 0: there is none;
 * -EAGAIN: a launch is just being tried. */
int spw_probe_give_up_scratch_locked(struct spw_probe *probe);

/* The host lacks memory: what probes took of it goes. As above; -EAGAIN: the device is not done with it. */
int spw_probe_give_up_host_memory_locked(struct spw_probe *probe);

/* The operation was begun, it takes about `us`: everything that it touches is there. Submits what has to come before it, and
 * sets op->probe where spw_probe_after() has to be called behind the driver's call. True: it is to be launched again then,
 * so that it has to be kept as well (op->wish). Needs op->class. */
bool spw_probe_before(struct spw_probe *probe, struct spw_op *op, double us);

/* Reads the answers that are there. */
void spw_probe_poll(struct spw_probe *probe);

struct spw_probe_counts {
    uint64_t looks, trials, failures; /* since the start */
};
struct spw_probe_counts spw_probe_counts_of(const struct spw_probe *probe);

/* ---- no lock held ---- */

/* The driver has answered `result`: submits what has to come behind the operation, which is not ended yet. What the program
 * is to be answered: `result`, unless its bytes could not be put back. */
CUresult spw_probe_after(struct spw_op *op, CUresult result);
#endif
