/* check_steps.h - what each event of a schedule needs and changes under model S+, on paper. */
#ifndef SPILLWAY_PLANNER_CHECK_STEPS_H
#define SPILLWAY_PLANNER_CHECK_STEPS_H
#include "plan/check_result.h"
#include "plan/graph.h"
#include "plan/instants.h"
#include "plan/schedule.h"

#define SPW_NOWHERE UINT32_MAX /* in place of a version */

enum { SPW_LANE_COMPUTE, SPW_LANE_OUT, SPW_LANE_IN, SPW_LANES };

struct spw_tensor_now {
    uint32_t device, host; /* the versions there, SPW_NOWHERE: none */
    uint32_t uses_ended;   /* recorded operations that used it and have ended */
    bool complete;         /* what is on the device is: nothing writes it or copies it in */
    bool used, written;    /* by what runs on the compute lane */
    bool leaving;          /* a copy out runs */
    bool counted;          /* its host copy, finished or not, takes host memory */
    bool wanted;           /* while looking ahead: the host copy is still to be read, or has to be there at the end */
};

struct spw_checker {
    const struct spw_graph *graph;
    const struct spw_timed_step *events;
    const struct spw_check_rules *rules;
    struct spw_check *result;
    struct spw_tensor_now *tensors;
    bool *last; /* for each event, a copy: with its end nobody wants the host copy any more, and its memory is given back */
    const struct spw_instant_event *running[SPW_LANES]; /* NULL: idle */
    uint64_t device_bytes, host_bytes;                  /* taken */
    uint32_t next_op;
    double busy_us, replayed_us; /* of the compute lane, so far */
    double idle_us;              /* all lanes are, from then on */
    double ops_us, ops_busy_us;  /* end of the last recorded operation, and busy_us then */
};

/* Notes the fault and says false; the first one is the last, since whoever sees it stops. */
__attribute__((format(printf, 4, 5))) bool spw_check_refuse(struct spw_checker *c, enum spw_fault fault, size_t event,
                                                            const char *format, ...);

/* Takes memory for the tensor, on the device or for a host copy that it has not got yet; false: there is not enough. */
bool spw_check_take_device(struct spw_checker *c, size_t event, uint32_t tensor);
bool spw_check_take_host(struct spw_checker *c, size_t event, uint32_t tensor);
void spw_check_give_back_host(struct spw_checker *c, uint32_t tensor);

/* Each begins the event, whose lane is free, or refuses it and says false. */
bool spw_check_begin_op(struct spw_checker *c, size_t event, bool is_replay);
bool spw_check_begin_d2h(struct spw_checker *c, size_t event, uint32_t tensor);
bool spw_check_begin_h2d(struct spw_checker *c, size_t event, uint32_t tensor);
bool spw_check_drop(struct spw_checker *c, size_t event, uint32_t tensor);

/* Each ends one that has begun. */
void spw_check_end_op(struct spw_checker *c, const struct spw_instant_event *ended, bool is_replay);
void spw_check_end_d2h(struct spw_checker *c, size_t event, uint32_t tensor);
void spw_check_end_h2d(struct spw_checker *c, size_t event, uint32_t tensor);
#endif
