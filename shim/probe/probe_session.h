/* probe_session.h - learns about the operations of an iteration while the program goes through it: what each reads and
 * writes, and whether it can be replayed; and writes that into its course.
 *
 * Launches are looked at and tried (probe.h) in a few iterations, copies and sets say themselves what they do. The course
 * then tells reads from writes, and which operations can be replayed. One course of a device at a time; what is known about
 * a class of launches holds for all. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_PROBE_SESSION_H
#define SPILLWAY_SHIM_PROBE_SESSION_H
#include "course/course.h"
#include "op.h"
#include "verdicts.h"

/* Where a session is. `begin()` leads to LOOKING where an iteration begins now, and to AWAITING otherwise:
 *
 *     IDLE --begin()--> AWAITING --iteration()--> LOOKING --iteration()--> PROBING --iteration(): all is known--> IDLE
 *      |                  ^ |                      ^ | ^                     ^ |
 *      | hear()   begin() | | pause()      begin() | | | pause()     begin() | | pause()
 *      v                  | v                      | v |                     | v
 *     HEARING            PAUSED_EARLY           PAUSED_EARLY                PAUSED
 *      |                                               |
 *      +--heard(): all of the course-------------------+
 *
 *     state         what holds in it
 *     IDLE          about no course, and nothing is noted
 *     HEARING       about none yet: the operations of the iteration that is recorded are noted by their numbers
 *     AWAITING      operations of the course are noted, in the middle of an iteration
 *     LOOKING       the same, of a whole iteration: no launch is probed before all operations have come
 *     PROBING       launches may be probed
 *     PAUSED_EARLY  other operations come; it was not PROBING. The course may be gone
 *     PAUSED        the same; it was
 *
 * Any state is left for IDLE: by begin() of another course, where memory lacks, where something else was heard than the
 * course, and where the course is known. */
enum spw_probe_session_state {
    SPW_SESSION_IDLE,
    SPW_SESSION_HEARING,
    SPW_SESSION_AWAITING,
    SPW_SESSION_LOOKING,
    SPW_SESSION_PROBING,
    SPW_SESSION_PAUSED_EARLY,
    SPW_SESSION_PAUSED
};

struct spw_probe_session; /* of a device */

struct spw_probe_session *spw_probe_session_create(struct spw_device *d); /* NULL: no memory */
void spw_probe_session_destroy(struct spw_probe_session *session);        /* NULL is fine */

/* The next iterations are to be learned from, the first time or where a pause ended them. The course stays the caller's, and
 * must be there until pause() or the end; `serial` is that of its iteration, which no other ever has. `begins_now`: its
 * first operation is the next. 0 or -ENOMEM. Versions are kept from now on (versions.h). */
int spw_probe_session_begin_locked(struct spw_probe_session *session, struct spw_course *course, uint64_t serial,
                                   bool begins_now);

/* The iteration that begins is recorded, and there is no course of it yet: what its operations are like is noted
 * meanwhile, by their numbers in the recording, as long as nothing else is learned. `heard`: that was it, the course is of
 * those operations and comes once more. What earlier runs know of its kernels is in it then, as with recall(). */
void spw_probe_session_hear_locked(struct spw_probe_session *session);
bool spw_probe_session_is_hearing(const struct spw_probe_session *session); /* NULL: false */
void spw_probe_session_hear_op_locked(struct spw_probe_session *session, const struct spw_op *op, uint32_t number);
void spw_probe_session_hear_no_more_locked(struct spw_probe_session *session); /* NULL is fine */

bool spw_probe_session_is_idle(const struct spw_probe_session *session); /* about none, not even one that is paused */
bool spw_probe_session_is_about(const struct spw_probe_session *session, const struct spw_course *course);

/* An iteration of it begins, in which launches may be probed. True: that is all, the course knows. The device's slow lock is
 * held too, and the engine lock is let go of while room is made for scratch memory. */
bool spw_probe_session_iteration_unlocking(struct spw_probe_session *session);

enum spw_probe_session_answer {
    SPW_PROBE_SESSION_GOES_ON,
    SPW_PROBE_SESSION_RECALLED, /* so does it, and the course knows what earlier runs have found out (kernel_profile.h) */
    SPW_PROBE_SESSION_LEARNED   /* that is all, the course knows */
};

/* What was heard is the course. GOES_ON: nothing was, or not all of it. */
enum spw_probe_session_answer spw_probe_session_heard_locked(struct spw_probe_session *session, struct spw_course *course,
                                                             uint64_t serial);

/* An iteration of it is complete, whether launches may be probed by now or not. */
enum spw_probe_session_answer spw_probe_session_recall_locked(struct spw_probe_session *session);

/* An operation lacks memory. 1: what learning has taken of it went to the cache; 0: there is none; -EAGAIN: it is in use.
 * Slow lock too. */
int spw_probe_session_give_room_locked(struct spw_probe_session *session); /* NULL is fine */

/* The same of memory of the host; no slow lock. */
int spw_probe_session_give_host_memory_locked(struct spw_probe_session *session); /* NULL is fine */

/* Operation `ordinal` of the course was begun. */
void spw_probe_session_op_locked(struct spw_probe_session *session, struct spw_op *op, uint32_t ordinal);

/* Something else comes than the course, which may go: no more is learned until it begins again. Scratch memory goes back.
 * Slow lock too. */
void spw_probe_session_pause_locked(struct spw_probe_session *session);

/* Of the operations of the course that was learned last, by verdict. */
struct spw_probe_session_result {
    uint32_t count[SPW_REPLAY_VERDICT_COUNT];
    double us[SPW_REPLAY_VERDICT_COUNT];
    uint64_t looks, trials, failures; /* since the start */
};
struct spw_probe_session_result spw_probe_session_result_locked(const struct spw_probe_session *session);
#endif
