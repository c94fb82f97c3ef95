/* probe_policy.h - decides what is to be learned from which launch next, keeps how far learning about each class of
 * launches has come, and tells whether launches of a class can be replayed.
 *
 * A class has a write set of its own (launch_class.h, which keeps what is known of it). A class is first *observed*: which
 * of the things that a launch touches are different afterwards? Then it is *tried*: launched again, with other contents
 * where its output was. Each is done twice if there is time, and trials with different geometry if there are any. Trials
 * take memory that the program's tensors would use as long as any are wanted, so they come last, and in few iterations. A
 * launch that is too large for that memory leaves the trial to others of its class. All of this takes device time, so there
 * is an allowance for an iteration, and one for all learning. What is known of a class holds until its module is unloaded;
 * in addition, replayed operations are verified. Launches of one class may differ in a parameter that is not an address: a
 * launch that is passed other numbers than those observed is observed as well.
 *
 *     looked at, `looks` times --it was seen to write--> tried, `tries` times --> replayable, or refused with a verdict
 *             ^                                             |
 *             +--widened: it writes more than that----------+ unless it was refused
 *
 * The verdict is the state: NOT_TRIED as long as `tries` is 0. The counts are no further states, since how many
 * observations and trials are enough depends on the time that is left and on what the next launch is passed. A class with
 * too many `failures` (launches that gave no answer) is left alone, with the verdict that it has.
 *
 * This file only decides; probe.c carries out. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_PROBE_POLICY_H
#define SPILLWAY_SHIM_PROBE_POLICY_H
#include <stdbool.h>
#include <stdint.h>

#include "verdicts.h"
#include "launch_class.h"

enum spw_probe_step { SPW_PROBE_NOTHING, SPW_PROBE_OBSERVE, SPW_PROBE_REPLAY };

struct spw_probe_policy {
    struct spw_device *device;
    double allowed_us, spent_us; /* limit and use in this iteration, by the known durations of operations */
    double left_us;              /* limit left for all iterations */
    double late_left_us;         /* the same for copies to the host */
    unsigned iterations;         /* iterations begun */
    bool is_fresh;               /* no iteration has begun yet since others came */
    bool is_awaited;  /* in this iteration a launch came whose class was waiting for an answer, so what is next is not known;
                         or a launch was to be tried and there was no memory yet */
    bool is_complete; /* for the iterations that came */
};

/* Begins to learn from iterations whose operations take so long together. What is known stays. */
void spw_probe_policy_begin(struct spw_probe_policy *policy, double iteration_us);

/* Call when the former iterations come again after others. The iteration that has just ended was none of them. */
void spw_probe_policy_go_on(struct spw_probe_policy *policy);

/* Call when the next iteration begins. Returns true if nothing is left to be learned of what came in the last one, or not
 * in the time that is left. */
bool spw_probe_policy_iteration(struct spw_probe_policy *policy);

/* Returns true if trials are wanted as things are. */
bool spw_probe_policy_wants_probes(const struct spw_probe_policy *policy);

struct spw_probe_launch {
    struct spw_launch_class *class;
    uint64_t geometry;
    double us, late_us; /* time that it takes, and that copies to host memory and back take, estimated */
    bool fits;          /* what it puts aside fits into the memory for probes */
    bool fits_late;     /* it does with the help of host memory */
    bool has_memory;    /* the memory for probes is there */
};

/* Returns what to do with this launch. Unless that is nothing, a probe of its class is under way until
 * spw_probe_class_observed(), _replayed() or _missed() ends it. */
enum spw_probe_step spw_probe_policy_next(struct spw_probe_policy *policy, const struct spw_probe_launch *launch);
void spw_probe_class_observed(struct spw_probed *it);
void spw_probe_class_widened(struct spw_probed *it); /* it writes more than it was tried with */
void spw_probe_class_replayed(struct spw_probed *it, enum spw_replay_verdict verdict);
void spw_probe_class_missed(struct spw_probed *it); /* there was no answer */

/* Returns the verdict on launches of the class on the device; with class NULL: not tried. */
enum spw_replay_verdict spw_probe_verdict_locked(const struct spw_launch_class *class, const struct spw_device *d);
#endif
