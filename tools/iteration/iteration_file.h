/* iteration_file.h - reads and writes iterations in files of format "spillway-iteration/1" (docs/iteration-format.md), and
 * plans.
 *
 * Errors in a file are reported with their line, their path and what was expected there. Unknown fields are ignored;
 * known fields have to have their type. */
#ifndef SPILLWAY_TOOLS_ITERATION_FILE_H
#define SPILLWAY_TOOLS_ITERATION_FILE_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "plan/graph.h"
#include "json_text.h"
#include "plan/schedule.h"

#define ITERATION_FORMAT "spillway-iteration/1"

/* The properties of the device that a run uses; those that a file does not contain cost nothing. */
struct iteration_machine {
    uint64_t granule_bytes; /* memory is allocated in multiples of it; 0: in bytes */
    double duplex;          /* speed of a copy while another runs in the other direction, as a share */
    double move_us;         /* extra time of each copy */
    uint64_t slab_bytes;    /* what the slabs of small allocations take beyond the allocations' sizes */
};

struct iteration_id {
    uint64_t id;
    uint32_t index;
};

/* A graph with its names; it owns everything, including the names in the graph. */
struct iteration {
    struct spw_graph *graph; /* finished */
    struct iteration_machine machine;
    const char *name;         /* "" if there is none */
    const char *profile;      /* what it was recorded on or is modelled for; "" if unknown */
    struct iteration_id *ids; /* of the tensors, sorted */
    struct json_text text;
};

/* Reads the iteration in a text, which it takes over in any case. Returns 0; -EINVAL or -ENOMEM, with `ret_problem`. */
int iteration_take(struct json_text *text, struct iteration *ret_iteration, struct json_problem *ret_problem);
void iteration_finish(struct iteration *iteration); /* all zero, never filled, is allowed */

/* Returns the index of the tensor with this id, or SPW_NO_INDEX. */
uint32_t iteration_tensor(const struct iteration *iteration, uint64_t id);

/* Writes a finished graph; reading it again gives the same to the last bit. Returns 0 or a negative errno. */
int iteration_write(const struct spw_graph *graph, const char *name, const char *profile, FILE *to);

/* ---- plans: {"initial_host": [ids], "initial_clean": [ids], "events": [[kind, id, start_us], ...]} ---- */

struct events {
    uint8_t *start; /* enum spw_start for each tensor */
    struct spw_timed_step *steps;
    size_t count;
};

/* Reads the events in a text, which the caller keeps, and looks their ids up in the iteration. Their effects are checked
 * by planner/plan/check.h, not here. Returns 0; -EINVAL or -ENOMEM, with `ret_problem`. */
int events_take(const struct json_text *text, const struct iteration *iteration, struct events *ret_events,
                struct json_problem *ret_problem);
void events_finish(struct events *events); /* all zero, never filled, is allowed */
/* Writes steps that start at `start_us`, one number for each step of the schedule. Returns 0 or a negative errno. */
int events_write(const struct spw_graph *graph, const struct spw_schedule *schedule, const double *start_us, FILE *to);
#endif
