/* exam_answers.h - reads what the digests of an exam tell of the launch. */
#ifndef SPILLWAY_SHIM_EXAM_ANSWERS_H
#define SPILLWAY_SHIM_EXAM_ANSWERS_H
#include "exam.h"

/* Reads the answers and notes what they tell of the class of the launch. Returns 1 if that was done, 0 if some are not
 * there yet, negative if some will never come. Engine lock. */
int spw_exam_read_locked(struct spw_device *d, struct spw_exam *e);
#endif
