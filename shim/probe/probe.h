/* probe.h - finds out on the device what a launch writes, and whether running it again gives the same bytes. It does so on
 * the program's own stream, and leaves everything as the program's launch left it.
 *
 *     observation  hash of everything it touches | the launch | hash again: what differs was written
 *     trial        put aside everything it touches (probe_snapshot.h), or fill it with a pattern if nothing was ever
 *                  written to it | the launch | hash, and put everything aside once more | twice: restore what was
 *                  before the launch, launch again in the twin of its module (twins.h), hash | copy everything back.
 *                  Equal hashes: the launch depends on nothing that is not known, and gives the same every time
 *
 * So a launch never meets an index, address, flag or counter that the program did not show it.
 *
 * Nothing waits for answers: hashes are read when they are there. What is known is kept in launch_class.h. Engine lock,
 * except where it says otherwise. */
#ifndef SPILLWAY_SHIM_PROBE_H
#define SPILLWAY_SHIM_PROBE_H
#include "op.h"
#include "probe_policy.h"

struct spw_course;

struct spw_probe; /* the probes of one device */

/* NULL: no memory. */
struct spw_probe *spw_probe_create(struct spw_device *d);
void spw_probe_destroy(struct spw_probe *probe); /* NULL is fine; makes no driver call */

/* Begins to learn from iterations of the course, with the next one. */
void spw_probe_begin(struct spw_probe *probe, const struct spw_course *course, double iteration_us);

/* Call when the next iteration begins. Returns true if there is nothing more to be learned. Takes scratch memory if there
 * is room, and gives it back when it returns true. The device's slow lock is held too; the engine lock is released while
 * room is made. */
bool spw_probe_iteration_unlocking(struct spw_probe *probe);

/* Call when iterations of the same course come again after others: what is known of it stays known. */
void spw_probe_go_on(struct spw_probe *probe);

/* Ends learning where it stands and gives scratch memory back. Slow lock and engine lock held. */
void spw_probe_end(struct spw_probe *probe);

/* Gives scratch memory back because an operation lacks memory; the next iteration takes some again. Returns 1 if it was
 * given back; 0 if there is none; -EAGAIN if a launch is being tried just now. */
int spw_probe_give_up_scratch_locked(struct spw_probe *probe);

/* The same for host memory that probes have taken, because the host lacks memory; -EAGAIN: the device still uses it. */
int spw_probe_give_up_host_memory_locked(struct spw_probe *probe);

/* Call when an operation was begun, with everything that it touches in place; it takes about `us` microseconds. Submits
 * what has to come before it. Sets op->probe if spw_probe_after() has to be called after the driver call. Returns true if
 * it will be launched again then, so that it has to be recorded as well (op->wish). Needs op->class. */
bool spw_probe_before(struct spw_probe *probe, struct spw_op *op, double us);

/* Reads the answers that are there. */
void spw_probe_poll(struct spw_probe *probe);

struct spw_probe_counts {
    uint64_t looks, trials, failures; /* observations, trials and failures since the start */
};
struct spw_probe_counts spw_probe_counts_of(const struct spw_probe *probe);

/* ---- no lock held ---- */

/* Call with the driver's `result`, before the operation is ended: submits what has to come after it. Returns the result for
 * the program: `result`, unless the bytes could not be copied back. */
CUresult spw_probe_after(struct spw_op *op, CUresult result);
#endif
