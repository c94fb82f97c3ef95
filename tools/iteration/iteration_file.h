/* iteration_file.h - iterations as files of format "spillway-iteration/1" (docs/iteration-format.md), and plans for them.
 *
 * What is wrong in a file is said with its line, its path and what was expected in its place. Fields that are not known are
 * passed over; fields that are known have to be of their type. */
#ifndef SPILLWAY_TOOLS_ITERATION_FILE_H
#define SPILLWAY_TOOLS_ITERATION_FILE_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "plan/graph.h"
#include "json_text.h"
#include "plan/schedule.h"

#define ITERATION_FORMAT "spillway-iteration/1"

/* What a run takes into account of the device; what a file does not say costs nothing. */
struct iteration_machine {
    uint64_t granule_bytes; /* memory is handed out in multiples of it; 0: in bytes */
    double duplex;          /* speed of a copy beside one in the other direction, as a share */
    double move_us;         /* that each copy takes longer than its bytes */
    uint64_t slab_bytes;    /* what small allocations take beyond their sizes */
};

struct iteration_id {
    uint64_t id;
    uint32_t index;
};

/* A graph with what it is called; owns all of it, the names in the graph too. */
struct iteration {
    struct spw_graph *graph; /* finished */
    struct iteration_machine machine;
    const char *name;         /* "" if it has none */
    const char *profile;      /* what it was recorded on or is modelled for; "" if that is not said */
    struct iteration_id *ids; /* of the tensors, in ascending order */
    struct json_text text;
};

/* The iteration in a text; takes the text over, in any case. 0; -EINVAL, -ENOMEM, with `ret_problem`. */
int iteration_take(struct json_text *text, struct iteration *ret_iteration, struct json_problem *ret_problem);
void iteration_finish(struct iteration *iteration); /* one that was never filled, all zero, is fine */

/* The index of the tensor that is called `id`; SPW_NO_INDEX: none is. */
uint32_t iteration_tensor(const struct iteration *iteration, uint64_t id);

/* Writes a finished graph; read again it is the same to the last bit. 0, or a negative errno. */
int iteration_write(const struct spw_graph *graph, const char *name, const char *profile, FILE *to);

/* ---- plans: {"initial_host": [ids], "initial_clean": [ids], "events": [[kind, id, start_us], ...]} ---- */

struct events {
    uint8_t *start; /* enum spw_start for each tensor */
    struct spw_timed_step *steps;
    size_t count;
};

/* The events in a text, whose ids are looked up in the iteration; the text stays the caller's. What they do is not checked
 * here: planner/plan/check.h does. 0; -EINVAL, -ENOMEM, with `ret_problem`. */
int events_take(const struct json_text *text, const struct iteration *iteration, struct events *ret_events,
                struct json_problem *ret_problem);
void events_finish(struct events *events); /* one that was never filled, all zero, is fine */
/* Writes steps that start at `start_us`, one number for each step of the schedule. 0, or a negative errno. */
int events_write(const struct spw_graph *graph, const struct spw_schedule *schedule, const double *start_us, FILE *to);
#endif
