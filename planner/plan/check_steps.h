/* check_steps.h - applies the rules of model S+ to single events: what each event needs and what it changes. */
#ifndef SPILLWAY_PLANNER_CHECK_STEPS_H
#define SPILLWAY_PLANNER_CHECK_STEPS_H
#include "plan/check_result.h"
#include "plan/graph.h"
#include "plan/instants.h"
#include "plan/schedule.h"

#define SPW_NOWHERE UINT32_MAX /* no version: absent */

enum { SPW_LANE_COMPUTE, SPW_LANE_OUT, SPW_LANE_IN, SPW_LANES };

struct spw_tensor_now {
    uint32_t device, host; /* the versions there, or SPW_NOWHERE */
    uint32_t uses_ended;   /* number of recorded operations that used it and have ended */
    bool complete;         /* no step is writing it or copying it in */
    bool used, written;    /* by the step that runs on the compute lane */
    bool leaving;          /* a copy out is running */
    bool counted;          /* its host copy, complete or not, takes host memory */
    bool wanted;           /* in the look ahead: the host copy is read later, or has to be there at the end */
};

struct spw_checker {
    const struct spw_graph *graph;
    const struct spw_timed_step *events;
    const struct spw_check_rules *rules;
    struct spw_check *result;
    struct spw_tensor_now *tensors;
    /* For each copy: when it ends, the host copy is no longer needed and gives its memory back. */
    bool *last;
    const struct spw_instant_event *running[SPW_LANES]; /* NULL: idle */
    uint64_t device_bytes, host_bytes;                  /* in use */
    uint32_t next_op;
    double busy_us, replayed_us; /* of the compute lane, so far */
    double idle_us;              /* when all lanes become idle */
    double ops_us, ops_busy_us;  /* end of the last recorded operation, and busy_us at that time */
};

/* Records the fault and returns false. Only the first fault is recorded, since the caller stops there. */
__attribute__((format(printf, 4, 5))) bool spw_check_refuse(struct spw_checker *c, enum spw_fault fault, size_t event,
                                                            const char *format, ...);

/* Takes memory for the tensor, on the device or for a host copy that has none yet. Records a fault and returns false if
 * there is not enough. */
bool spw_check_take_device(struct spw_checker *c, size_t event, uint32_t tensor);
bool spw_check_take_host(struct spw_checker *c, size_t event, uint32_t tensor);
void spw_check_give_back_host(struct spw_checker *c, uint32_t tensor);

/* Each begins the event, whose lane has to be free, or records a fault and returns false. */
bool spw_check_begin_op(struct spw_checker *c, size_t event, bool is_replay);
bool spw_check_begin_d2h(struct spw_checker *c, size_t event, uint32_t tensor);
bool spw_check_begin_h2d(struct spw_checker *c, size_t event, uint32_t tensor);
bool spw_check_drop(struct spw_checker *c, size_t event, uint32_t tensor);

/* Each ends an event that has begun. */
void spw_check_end_op(struct spw_checker *c, const struct spw_instant_event *ended, bool is_replay);
void spw_check_end_d2h(struct spw_checker *c, size_t event, uint32_t tensor);
void spw_check_end_h2d(struct spw_checker *c, size_t event, uint32_t tensor);
#endif
