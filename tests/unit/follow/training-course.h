/* training-course.h - the course of a training step, as a recording of it would come out. */
#ifndef SPILLWAY_TESTS_UNIT_TRAINING_COURSE_H
#define SPILLWAY_TESTS_UNIT_TRAINING_COURSE_H
#include "course/course.h"

#define MIB ((uint64_t)1 << 20)

/* Weights of 1 MiB, activations of 1 MiB from forward to backward, 100 us an operation; half of these are not known unless
 * `knows`. NULL: no memory. For spw_course_destroy(). */
struct spw_course *training_course(uint32_t layers, bool knows);

/* One tensor of 24 MiB and 24 of 1 MiB are made, and used again in the end, the large one last. */
struct spw_course *course_of_two_sizes(void);
#endif
