/* random-program.h - a program of random structure with a known period, and noise around it. */
#ifndef SPILLWAY_TESTS_RANDOM_PROGRAM_H
#define SPILLWAY_TESTS_RANDOM_PROGRAM_H
#include "programs.h"

enum { RANDOM_OBJECTS = 4096, RANDOM_KEPT = 48, RANDOM_TOUCHES = 3 };

struct instruction {
    enum { INSTRUCTION_OP, INSTRUCTION_ALLOC, INSTRUCTION_FREE, INSTRUCTION_RENEW } what;
    enum spw_iteration_kind kind;
    uint64_t function, geometry;
    uint32_t slots[RANDOM_TOUCHES]; /* what an operation touches; slot 0.. RANDOM_KEPT-1 are kept from step to step */
    uint32_t slot_count;
    uint64_t bytes;
};

struct random_program {
    struct instruction *code;
    uint32_t count, ops, capacity;
    uint32_t update; /* from this instruction on: the update */
    uint32_t micro;  /* how often what is before it is done for each update */
    uint32_t length; /* operations of an iteration */
    uint64_t label;  /* of the first instruction, so that two programs in one run are told apart */
    uint32_t kept;   /* objects that live for the whole run */
    uint32_t used_slots, functions;
    struct object objects[RANDOM_OBJECTS];
    bool warm_up, logging, evaluation, short_batch;
};

/* `ops`: about how many operations an iteration has. */
void random_program_make(struct random_program *made, struct program *program, uint32_t ops);
void random_program_setup(struct random_program *made, struct program *program);
void random_program_step(struct random_program *made, struct program *program, uint32_t step); /* with its noise */
void random_program_finish(struct random_program *made, struct program *program);
#endif
