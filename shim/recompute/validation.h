/* validation.h - which functions are run again: none that was wrong, and those that were right with numbers that were right
 * too.
 *
 * A function that was compared and right may be another thing by a number among its parameters: what overwrites its output
 * in the first steps adds to it from some step on. A comparison now and then would find that too late. So what is run again
 * without being compared was right with the same numbers (scalar_args.h): they are what they were in some comparison of the
 * function, of a launch of its sort, except those that differed between comparisons that were all right (sizes, offsets of
 * random numbers). A probe (probe.h) that was right counts as one: what comes once in an iteration and has something else in
 * its padding each time would be compared once, and never be what it was again.
 *
 *     UNKNOWN --note_equal--> RIGHT --suspect--> SUSPECTED
 *        |                      |                    |
 *        +--condemn-------------+--------------------+------> CONDEMNED
 *
 *     UNKNOWN      never compared: it is, the first time; the numbers that a probe was right with are kept
 *     RIGHT        the numbers of the first comparison are kept, and which of them have differed since
 *     SUSPECTED    an operation of other numbers was wrong where all others were right: compared from then on, unless all
 *                  numbers are what they were when that very operation was compared
 *     CONDEMNED    was wrong: never again, whatever a comparison that was under way may tell
 *
 * Engine lock throughout. */
#ifndef SPILLWAY_SHIM_VALIDATION_H
#define SPILLWAY_SHIM_VALIDATION_H
#include "scalar_args.h"

enum spw_validation_state {
    SPW_VALIDATION_UNKNOWN,
    SPW_VALIDATION_RIGHT,
    SPW_VALIDATION_SUSPECTED,
    SPW_VALIDATION_CONDEMNED
};

/* UNKNOWN for NULL, a copy or set. Once there was no memory to keep what is known of some function, all are CONDEMNED. */
enum spw_validation_state spw_validation_of(CUfunction function);

/* A replay of it was right. */
void spw_validation_note_equal_locked(const struct spw_recorded_op *recorded_op);

/* A launch of the function that was given these numbers was tried, and right. They are nobody's any more: all zeroes. */
void spw_validation_note_tried_locked(CUfunction function, struct spw_scalar_args *given);

/* What the recorded operation is given was right in a comparison. A copy or set is what it is: true. */
bool spw_validation_covers_locked(const struct spw_recorded_op *recorded_op);

/* It is RIGHT or SUSPECTED. */
void spw_validation_suspect_locked(CUfunction function);

/* For good. NULL: a copy or set, nothing happens. */
void spw_validation_condemn_locked(CUfunction function);

void spw_validation_reset(void); /* for tests */
#endif
