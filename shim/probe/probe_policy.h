/* probe_policy.h - how far learning about each class of launches has come, what is to be learned from which launch next, and
 * whether launches of the class can be replayed.
 *
 * A class is what has a write set of its own (launch_class.h, which keeps what is known of it). It is first looked at: what
 * of all that a launch touches is different afterwards? Then it is tried: launched again, with something else where its
 * output was. Each is done twice where there is time, probes with different geometry where there is any. Trials take memory
 * that the program's tensors would use, for as long as any is wanted: so they come last, and in few iterations. A launch
 * that is too large for that memory leaves it to others of its class. All of it takes time of the device, so an iteration
 * gets an allowance, and the whole of learning another. What is known of a class holds until its module is unloaded; each
 * operation that is replayed is watched on top of that. Launches of one class may differ by a parameter that is no address:
 * one that is given other numbers than those looked at is looked at as well.
 *
 *     looked at, `looks` times --it was seen to write--> tried, `tries` times --> replayable, or refused with a verdict
 *             ^                                             |
 *             +--widened: it writes more than that----------+ unless it was refused
 *
 * The verdict is the state: NOT_TRIED as long as `tries` is 0. The counts are no further states, as how many looks and tries
 * are enough depends on the time that is left and on what the next launch is given. A class of whose launches so many were
 * `failures` that gave no answer is let be, with the verdict that it has.
 *
 * Decides only; probe.c carries it out. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_PROBE_POLICY_H
#define SPILLWAY_SHIM_PROBE_POLICY_H
#include <stdbool.h>
#include <stdint.h>

#include "verdicts.h"
#include "launch_class.h"

enum spw_probe_step { SPW_PROBE_NOTHING, SPW_PROBE_OBSERVE, SPW_PROBE_REPLAY };

struct spw_probe_policy {
    struct spw_device *device;
    double allowed_us, spent_us; /* of this iteration, at most and so far; as the durations of operations let expect */
    double left_us;              /* of all iterations */
    double late_left_us;         /* likewise, for copies to the host */
    unsigned iterations;         /* begun */
    bool is_fresh;               /* no iteration has begun yet, since others came */
    bool is_awaited;             /* a launch came in this one of which an answer was awaited: what is next is not known;
                                  * or one was to be tried, and there was no memory yet */
    bool is_complete;            /* for the iterations that came */
};

/* Something is to be learned, of iterations whose operations take so long together. What is known stays. */
void spw_probe_policy_begin(struct spw_probe_policy *policy, double iteration_us);

/* Other iterations came meanwhile; now those of before come again. The one that has ended was none of them. */
void spw_probe_policy_go_on(struct spw_probe_policy *policy);

/* The next iteration begins. True: nothing is left to be learned of what came in the last one, or not with the time that is
 * left. */
bool spw_probe_policy_iteration(struct spw_probe_policy *policy);

/* Trials are wanted, as things are. */
bool spw_probe_policy_wants_probes(const struct spw_probe_policy *policy);

struct spw_probe_launch {
    struct spw_launch_class *class;
    uint64_t geometry;
    double us, late_us; /* that it takes, and that copies to host memory and back take, about */
    bool fits;          /* into the memory for probes */
    bool fits_late;     /* with the help of host memory */
    bool has_memory;    /* that for probes is there */
};

/* What is to be done with this launch. Unless that is nothing, a probe of its class is under way until one of the three
 * below ends it. */
enum spw_probe_step spw_probe_policy_next(struct spw_probe_policy *policy, const struct spw_probe_launch *launch);
void spw_probe_class_observed(struct spw_probed *it);
void spw_probe_class_widened(struct spw_probed *it); /* it writes more than it was tried with */
void spw_probe_class_replayed(struct spw_probed *it, enum spw_replay_verdict verdict);
void spw_probe_class_missed(struct spw_probed *it); /* there was no answer */

/* Of launches of the class on the device; NULL: not tried. */
enum spw_replay_verdict spw_probe_verdict_locked(const struct spw_launch_class *class, const struct spw_device *d);
#endif
