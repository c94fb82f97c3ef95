/* demand.h - makes plans that act on demand: run the next operation, restore what it reads, evict where there is no room.
 *
 * What is common to planners that decide on demand is here: the order of operations, replays that replays need, pinning,
 * and what starts on the host. A policy decides which tensor is evicted, and in which way it comes back. No tensor is
 * evicted that could not come back by its host copy, or by replays that are possible just before its next use. */
#ifndef SPILLWAY_PLANNER_DEMAND_H
#define SPILLWAY_PLANNER_DEMAND_H
#include <stdbool.h>

#include "plan/builder.h"
#include "plan/lineage.h"
#include "plan/plan.h"

enum spw_demand_way { SPW_WAY_COPY, SPW_WAY_REPLAY };

/* What happens to a tensor, for the records that policies keep. */
enum spw_demand_event {
    SPW_TENSOR_ENTERED, /* it is on the device from now on */
    /* It is used by an operation or a replay; reported once the use is certain, for writes afterwards. */
    SPW_TENSOR_USED,
    SPW_TENSOR_COPIED,  /* it was evicted and has a host copy */
    SPW_TENSOR_DROPPED, /* it was evicted and has to be recomputed */
};

struct spw_demand;

struct spw_demand_policy {
    void *context;
    /* Called when an iteration begins: clears all records. May be NULL. Returns 0 or -ENOMEM. */
    int (*begin)(void *context, struct spw_demand *demand);
    /* Returns the tensor to evict and the way back; spw_demand_may_leave() has to allow it. SPW_NO_INDEX: there is none. */
    uint32_t (*choose)(void *context, struct spw_demand *demand, uint64_t wanted_bytes, enum spw_demand_way *ret_way);
    /* Called for each event. Returns 0 or -ENOMEM. May be NULL. */
    int (*note)(void *context, struct spw_demand *demand, uint32_t tensor, enum spw_demand_event event);
    bool copies, replays; /* the ways that it uses, if the request allows them */
    /* False: a tensor that is recomputed although it is dead stays until the policy chooses it. */
    bool drops_dead;
};

struct spw_demand {
    const struct spw_plan_request *request;
    const struct spw_graph *graph;
    const struct spw_demand_policy *policy;
    struct spw_builder builder;
    bool may_copy, may_replay;
    /* When the compute lane and the copy lanes would be free if nothing were prefetched. */
    double now_us, out_us, in_us;
    double *used_us;    /* for each tensor: when it was last used */
    double *made_us;    /* for each tensor: when its contents were complete */
    uint64_t *entered;  /* for each tensor: a number that grows with each tensor that enters, or is unpinned */
    uint32_t *resident; /* tensors on the device, unordered */
    uint32_t resident_count;
    uint64_t work; /* steps of all searches so far; policies add their own */

    /* private to demand.c */
    uint64_t entries;
    uint64_t most_work;
    uint32_t *where; /* for each tensor: its index in `resident`; SPW_NO_INDEX: not there */
    /* For each tensor: number of operations and replays that need it to stay at the moment. */
    uint16_t *pins;
    /* For each use: whether its version can be recomputed for it; 0: not known yet, 1: no, 2: yes. */
    uint8_t *can_replay;
    struct spw_demand_frame *frames; /* replays in progress, each for the one before */
    uint32_t frame_count, frame_room;
    bool *under_way; /* for each operation: it has a frame */
    struct spw_lineage *lineage;
};

/* Makes a schedule by this policy. Persistent tensors start on the host if they have to, those idle for longest first;
 * or, if that is faster, wherever the previous iteration left them. Returns as spw_planner_function does; -ENOSPC also if
 * replays need further replays without end. */
int spw_demand_make(const struct spw_plan_request *request, const struct spw_demand_policy *policy,
                    struct spw_schedule *schedule);

/* Returns true if the tensor, which has to be on the device, can be evicted here and come back in this way. */
bool spw_demand_may_leave(struct spw_demand *demand, uint32_t tensor, enum spw_demand_way way);
/* Returns true if the tensor's host copy is the version that its next use needs. */
bool spw_demand_has_copy(const struct spw_demand *demand, uint32_t tensor);
#endif
