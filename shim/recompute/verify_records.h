/* verify_records.h - what comparisons have told of each operation of a course: whether it was compared, and when it is its
 * turn again.
 *
 * A course is what a plan is for. Plans come and go, and the program may turn to another course and back (an evaluation
 * every so many steps): what is known of its operations stays. The course followed longest ago is forgotten when there are
 * too many. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_VERIFY_RECORDS_H
#define SPILLWAY_SHIM_VERIFY_RECORDS_H
#include "recorded_op.h"

enum { SPW_VERIFIED_FORMS = 8 /* in which an operation is compared with a copy the first time; others are by digest */ };

struct spw_verify_record {              /* an operation of a course */
    uint32_t left;                      /* drops of what it makes until the next is due; 0: the first that comes */
    uint64_t forms[SPW_VERIFIED_FORMS]; /* recorded_op->form, in which it was compared; 0: none yet */
    bool was_compared, is_barred;
    bool leaves_undefined; /* of what it makes a part was seen to stay undefined */
    uint8_t unclaimed;     /* so often what it made was dropped with a copy, and freed without having been made again */
};

/* A plan for the course is followed, which has `count` operations. `course` is a number that no other course ever has, not
 * 0. Answers what tells its operations from others': what is kept now has it as recorded_op->course. 0: no memory. */
uint64_t spw_verify_record_follow_locked(int device, uint64_t course, uint32_t count);

/* NULL: the operation is of no course that is known. */
struct spw_verify_record *spw_verify_record_of(int device, const struct spw_recorded_op *recorded_op);

/* It was compared, and right, in this form. *ret_is_full: no more forms are noted. */
bool spw_verify_record_has(const struct spw_verify_record *record, uint64_t form, bool *ret_is_full);

/* It was compared, and right. */
void spw_verify_record_note_equal_locked(int device, const struct spw_recorded_op *recorded_op);

void spw_verify_record_reset(void); /* for tests */
#endif
