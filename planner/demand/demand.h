/* demand.h - plans that act when they have to: run the next operation, restore what it reads, make room where there is none.
 *
 * What is common to planners that decide on demand is here: operations in order, replays for replays, what is pinned
 * meanwhile, what starts on the host. Who is to leave, and by which way it is to come back, is a policy's business. Nothing
 * leaves that could not come back: by its host copy, or by replays that are possible just before its next use. */
#ifndef SPILLWAY_PLANNER_DEMAND_H
#define SPILLWAY_PLANNER_DEMAND_H
#include <stdbool.h>

#include "plan/builder.h"
#include "plan/lineage.h"
#include "plan/plan.h"

enum spw_demand_way { SPW_WAY_COPY, SPW_WAY_REPLAY };

/* What happens to a tensor; policies keep their books by it. */
enum spw_demand_event {
    SPW_TENSOR_ENTERED, /* is on the device from now on */
    SPW_TENSOR_USED,    /* by an operation or a replay; told when it is clear that it will be, and for writes afterwards */
    SPW_TENSOR_COPIED,  /* has left; there is a host copy */
    SPW_TENSOR_DROPPED, /* has left, and would have to be computed again */
};

struct spw_demand;

struct spw_demand_policy {
    void *context;
    /* An iteration begins: all books are empty. NULL: there is nothing to do. 0 or -ENOMEM. */
    int (*begin)(void *context, struct spw_demand *demand);
    /* Who leaves, and the way back; only what spw_demand_may_leave() allows. SPW_NO_INDEX: nobody can. */
    uint32_t (*choose)(void *context, struct spw_demand *demand, uint64_t wanted_bytes, enum spw_demand_way *ret_way);
    /* 0 or -ENOMEM. May be NULL. */
    int (*note)(void *context, struct spw_demand *demand, uint32_t tensor, enum spw_demand_event event);
    bool copies, replays; /* the ways that it takes, where the request has them */
    bool drops_dead;      /* false: what is recomputed though it is dead by then stays until somebody chooses it */
};

struct spw_demand {
    const struct spw_plan_request *request;
    const struct spw_graph *graph;
    const struct spw_demand_policy *policy;
    struct spw_builder builder;
    bool may_copy, may_replay;
    /* The time at which the compute lane, and the copy lanes, would be free, if nothing were fetched before it is wanted. */
    double now_us, out_us, in_us;
    double *used_us;    /* for each tensor: when it was used last */
    double *made_us;    /* for each tensor: when its content was complete */
    uint64_t *entered;  /* for each tensor: a number that grows with each that comes, or is let go by an operation */
    uint32_t *resident; /* tensors on the device, in no order */
    uint32_t resident_count;
    uint64_t work; /* steps of any search so far; policies add theirs */

    /* demand.c's own */
    uint64_t entries;
    uint64_t most_work;
    uint32_t *where;     /* for each tensor: its place in `resident`; SPW_NO_INDEX: not there */
    uint16_t *pins;      /* for each tensor: so many want it to stay just now */
    uint8_t *can_replay; /* for each use: whether its version can be recomputed for it; 0: not asked yet, 1: no, 2: yes */
    struct spw_demand_frame *frames; /* replays under way, each for the one before */
    uint32_t frame_count, frame_room;
    bool *under_way; /* for each operation: it has a frame */
    struct spw_lineage *lineage;
};

/* A schedule by this policy. Persistent tensors start on the host where they have to, those idle for longest first; then, if
 * that is quicker, wherever the iteration before left them. As spw_planner_function; gives up with -ENOSPC where replays for
 * replays take no end. */
int spw_demand_make(const struct spw_plan_request *request, const struct spw_demand_policy *policy,
                    struct spw_schedule *schedule);

/* Whether the tensor, which is on the device, may leave just now and come back this way. */
bool spw_demand_may_leave(struct spw_demand *demand, uint32_t tensor, enum spw_demand_way way);
/* The host copy is what the tensor's next use wants. */
bool spw_demand_has_copy(const struct spw_demand *demand, uint32_t tensor);
#endif
