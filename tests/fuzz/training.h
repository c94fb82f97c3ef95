/* training.h - the records of a program that trains: iterations to find, tensors to tell apart, places to name. */
#ifndef SPILLWAY_TESTS_FUZZ_TRAINING_H
#define SPILLWAY_TESTS_FUZZ_TRAINING_H
#include "writer.h"

enum { TRAINING_STEPS = 24, TRAINING_LAYERS = 4, TRAINING_OPS = 4 * TRAINING_LAYERS + 3 /* of a step */ };

/* Writes a run of so many steps. Stops the process when that fails. */
void put_training(struct spw_trace_writer *writer);
#endif
