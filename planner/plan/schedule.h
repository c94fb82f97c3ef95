/* schedule.h - lists what to do in which order: recorded operations, replays, copies and drops, as one list of steps.
 *
 * The order is the order of issue. Each step goes to its lane (operations and replays: compute; copies: one lane for
 * each direction). It starts as soon as the lane is free and its inputs and its memory are available. Memory is handed
 * out in the order of the list: a step gets its bytes before any later step does, and only drops before it make room for
 * it. A schedule contains no times, so it remains valid whatever the durations turn out to be. */
#ifndef SPILLWAY_PLANNER_SCHEDULE_H
#define SPILLWAY_PLANNER_SCHEDULE_H
#include <stddef.h>
#include <stdint.h>

#include "plan/graph.h"

enum spw_step_kind { SPW_STEP_OP, SPW_STEP_REPLAY, SPW_STEP_D2H, SPW_STEP_H2D, SPW_STEP_DROP, SPW_STEP_KINDS };

struct spw_step {
    uint32_t kind; /* enum spw_step_kind */
    uint32_t id;   /* index of the operation, or of the tensor */
};

/* Where a persistent tensor is when the iteration begins, and again when it has ended. */
enum spw_start { SPW_START_DEVICE, SPW_START_HOST, SPW_START_CLEAN /* on the device, with a valid host copy */ };

struct spw_schedule {
    struct spw_step *steps;
    size_t count, room;
    uint8_t *start; /* enum spw_start for each tensor; SPW_START_DEVICE for those that are not persistent */
};

/* A step with its start. A drop takes no time. */
struct spw_timed_step {
    uint32_t kind, id;
    double start_us;
};

/* Makes an empty schedule in which all tensors start on the device. Returns 0 or -ENOMEM. */
int spw_schedule_init(struct spw_schedule *schedule, const struct spw_graph *graph);
void spw_schedule_finish(struct spw_schedule *schedule);
int spw_schedule_add(struct spw_schedule *schedule, enum spw_step_kind kind, uint32_t id); /* returns 0 or -ENOMEM */
/* Makes room for `room` steps in all. Returns 0 or -ENOMEM. */
int spw_schedule_reserve(struct spw_schedule *schedule, size_t room);
int spw_schedule_copy(struct spw_schedule *to, const struct spw_schedule *from, const struct spw_graph *graph);

/* Returns the name that files use: "op", "replay", "d2h", "h2d", "drop". */
const char *spw_step_name(enum spw_step_kind kind);
#endif
