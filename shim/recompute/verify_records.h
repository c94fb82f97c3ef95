/* verify_records.h - remembers for each operation of a course whether it was compared, and when it is to be compared again.
 *
 * A course is what a plan is made for. Plans change, and the program may turn to another course and back (an evaluation
 * every so many steps): what is known of its operations stays. If there are too many courses, the one followed longest ago
 * is forgotten. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_VERIFY_RECORDS_H
#define SPILLWAY_SHIM_VERIFY_RECORDS_H
#include "recorded_op.h"

enum {
    SPW_VERIFIED_FORMS = 8 /* forms of an operation that are compared with a copy the first time; later ones by digest */
};

struct spw_verify_record {              /* of an operation of a course */
    uint32_t left;                      /* drops of what it makes until the next comparison is due; 0: the next drop */
    uint64_t forms[SPW_VERIFIED_FORMS]; /* recorded_op->form of those that were compared; 0: none yet */
    bool was_compared, is_barred;
    bool leaves_undefined; /* a part of what it makes was seen to stay undefined */
    uint8_t unclaimed;     /* times that what it made was dropped with a copy, and freed without having been made again */
};

/* Call when a plan for the course is followed, which has `count` operations. `course` is a number that no other course ever
 * has, not 0. Returns the number that recorded operations get as recorded_op->course from now on. 0: no memory. */
uint64_t spw_verify_record_follow_locked(int device, uint64_t course, uint32_t count);

/* Returns NULL if the operation is of no known course. */
struct spw_verify_record *spw_verify_record_of(int device, const struct spw_recorded_op *recorded_op);

/* Returns true if it was compared in this form and was right. *ret_is_full: no more forms are noted. */
bool spw_verify_record_has(const struct spw_verify_record *record, uint64_t form, bool *ret_is_full);

/* Notes that it was compared and was right. */
void spw_verify_record_note_equal_locked(int device, const struct spw_recorded_op *recorded_op);

void spw_verify_record_reset(void); /* for tests */
#endif
