/* probe_session.h - learns about the operations of an iteration while the program goes through it: what each reads and
 * writes, and whether it can be replayed; and adds that to the iteration's course.
 *
 * Launches are observed and tried (probe.h) in a few iterations; copies and sets say themselves what they do. One course of
 * a device at a time; what is known about a class of launches holds for all courses. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_PROBE_SESSION_H
#define SPILLWAY_SHIM_PROBE_SESSION_H
#include "course/course.h"
#include "op.h"
#include "verdicts.h"

/* The states of a session. `begin()` leads to LOOKING if an iteration begins now, else to AWAITING:
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
 *     IDLE          no course, and nothing is noted
 *     HEARING       no course yet: the operations of the iteration that is recorded are noted by their numbers
 *     AWAITING      operations of the course are noted, in the middle of an iteration
 *     LOOKING       the same, of a whole iteration: no launch is probed before all operations have come
 *     PROBING       launches may be probed
 *     PAUSED_EARLY  other operations come; the state before was not PROBING. The course may be gone
 *     PAUSED        the same; it was PROBING
 *
 * Any state may change to IDLE: by begin() of another course, if memory is lacking, if what was heard is not the course,
 * and once the course is known. */
enum spw_probe_session_state {
    SPW_SESSION_IDLE,
    SPW_SESSION_HEARING,
    SPW_SESSION_AWAITING,
    SPW_SESSION_LOOKING,
    SPW_SESSION_PROBING,
    SPW_SESSION_PAUSED_EARLY,
    SPW_SESSION_PAUSED
};

struct spw_probe_session; /* of one device */

struct spw_probe_session *spw_probe_session_create(struct spw_device *d); /* NULL: no memory */
void spw_probe_session_destroy(struct spw_probe_session *session);        /* NULL is fine */

/* Begins to learn from the next iterations, or goes on after a pause. The course stays the caller's, and has to exist until
 * pause() or the end; `serial` is that of its iteration, which no other ever has. `begins_now`: its first operation is the
 * next. Returns 0 or -ENOMEM. Versions are kept from now on (versions.h). */
int spw_probe_session_begin_locked(struct spw_probe_session *session, struct spw_course *course, uint64_t serial,
                                   bool begins_now);

/* hear(): the iteration that begins is recorded, and there is no course of it yet. Until something else is learned, notes
 * its operations by their numbers in the recording. heard() below ends that: the course consists of those operations, which
 * come once more. */
void spw_probe_session_hear_locked(struct spw_probe_session *session);
bool spw_probe_session_is_hearing(const struct spw_probe_session *session); /* NULL: false */
void spw_probe_session_hear_op_locked(struct spw_probe_session *session, const struct spw_op *op, uint32_t number);
void spw_probe_session_hear_no_more_locked(struct spw_probe_session *session); /* NULL is fine */

bool spw_probe_session_is_idle(const struct spw_probe_session *session); /* no course, not even one that is paused */
bool spw_probe_session_is_about(const struct spw_probe_session *session, const struct spw_course *course);

/* Call when an iteration of the course begins, in which launches may be probed. Returns true if that was all and the
 * course knows everything. The device's slow lock is held too; the engine lock is released while room is made for
 * scratch memory. */
bool spw_probe_session_iteration_unlocking(struct spw_probe_session *session);

enum spw_probe_session_answer {
    SPW_PROBE_SESSION_GOES_ON,
    SPW_PROBE_SESSION_RECALLED, /* the session goes on, and the course has what earlier runs have found out
                                   (kernel_profile.h) */
    SPW_PROBE_SESSION_LEARNED   /* that is all, the course knows everything */
};

/* The course is what was heard; takes what earlier runs know of its kernels, as recall() does. GOES_ON: nothing was heard,
 * or not all of it. */
enum spw_probe_session_answer spw_probe_session_heard_locked(struct spw_probe_session *session, struct spw_course *course,
                                                             uint64_t serial);

/* Call when an iteration of the course is complete, whether launches may be probed by now or not. */
enum spw_probe_session_answer spw_probe_session_recall_locked(struct spw_probe_session *session);

/* Gives memory that learning has taken to the cache, because an operation lacks memory. Returns 1 if it was given; 0 if
 * there is none; -EAGAIN if it is in use. Slow lock too. */
int spw_probe_session_give_room_locked(struct spw_probe_session *session); /* NULL is fine */

/* The same for host memory; no slow lock. */
int spw_probe_session_give_host_memory_locked(struct spw_probe_session *session); /* NULL is fine */

/* Call when operation `ordinal` of the course was begun. */
void spw_probe_session_op_locked(struct spw_probe_session *session, struct spw_op *op, uint32_t ordinal);

/* Pauses: something other than the course comes, and the course may go. Nothing is learned until it begins again. Gives
 * scratch memory back. Slow lock too. */
void spw_probe_session_pause_locked(struct spw_probe_session *session);

/* The operations of the course that was learned last, by verdict. */
struct spw_probe_session_result {
    uint32_t count[SPW_REPLAY_VERDICT_COUNT];
    double us[SPW_REPLAY_VERDICT_COUNT];
    uint64_t looks, trials, failures; /* since the start */
};
struct spw_probe_session_result spw_probe_session_result_locked(const struct spw_probe_session *session);
#endif
