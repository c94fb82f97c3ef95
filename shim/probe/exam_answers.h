/* exam_answers.h - what the digests of an exam say of the launch. */
#ifndef SPILLWAY_SHIM_EXAM_ANSWERS_H
#define SPILLWAY_SHIM_EXAM_ANSWERS_H
#include "exam.h"

/* 1: taken note of, of its class; 0: not all are there yet; negative: some will never come. Engine
 * lock. */
int spw_exam_read_locked(struct spw_device *d, struct spw_exam *e);
#endif
