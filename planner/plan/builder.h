/* builder.h - writes a schedule step by step, and refuses each step that would make it invalid.
 *
 * In the order of the steps, a builder tracks which tensors are on the device and at which version, which host copies
 * exist, and how many bytes are in use. It makes no decisions; planners do. The steps written so far are always valid under
 * model S+, so a planner that fails at a step loses nothing before it.
 *
 * A builder does not know the later steps. Where host memory is limited, it therefore assumes that a host copy is needed
 * up to its tensor's last recorded use and gone after that. Where host memory is not limited, host copies remain, and
 * replays may use them. A tensor that is copied out after its last use counts until the end. The time line hands out
 * host memory in the same way; the checker and the peaks count no copy for longer than it is needed. */
#ifndef SPILLWAY_PLANNER_BUILDER_H
#define SPILLWAY_PLANNER_BUILDER_H
#include "plan/graph.h"
#include "plan/schedule.h"

#define SPW_ABSENT UINT32_MAX

/* Where one tensor is. Version 0 is its contents at the start. */
struct spw_builder_place {
    uint32_t device; /* the version on the device, or SPW_ABSENT */
    uint32_t host;   /* the version of the host copy, or SPW_ABSENT */
    uint32_t next;   /* index, among the tensor's uses, of its next use by a recorded operation */
};

struct spw_builder {
    const struct spw_graph *graph;
    struct spw_schedule *schedule;
    struct spw_builder_place *places;
    uint64_t device_bytes, host_bytes;    /* the budgets */
    uint64_t used_bytes, host_used_bytes; /* bytes in use, in the order of the steps */
    uint32_t next_op;                     /* the next recorded operation */
};

/* Begins with steps that only drop tensors that no operation uses; persistent tensors are where schedule->start says.
 * Returns 0, -ENOMEM, or -ENOSPC: what starts on the device, or as a host copy, does not fit. The graph and the schedule
 * have to outlive the builder. */
int spw_builder_init(struct spw_builder *builder, const struct spw_graph *graph, struct spw_schedule *schedule,
                     uint64_t device_bytes, uint64_t host_bytes);
void spw_builder_finish(struct spw_builder *builder);

/* Each of these appends one step. Returns 0; -ENOMEM; -ENOSPC: there is no room on the device (for d2h: on the host);
 * -EINVAL: the step is not possible here. On failure nothing has changed. A tensor whose host copy has its current
 * version is not copied out again: -EINVAL. */
int spw_build_op(struct spw_builder *builder); /* the next recorded operation; all that it reads has to be on the device */
int spw_build_replay(struct spw_builder *builder, uint32_t op);
int spw_build_d2h(struct spw_builder *builder, uint32_t tensor);
int spw_build_h2d(struct spw_builder *builder, uint32_t tensor);
int spw_build_drop(struct spw_builder *builder, uint32_t tensor);
/* Drops the tensors that operation `op` touched and that no later use and no later iteration needs. */
int spw_build_drop_dead(struct spw_builder *builder, uint32_t op);
/* Ends the list: brings each persistent tensor back to where it started, and drops all others. */
int spw_build_end(struct spw_builder *builder);

/* Updates the builder as if the step were appended, without appending or checking it. The step has to be possible here. */
void spw_build_known(struct spw_builder *builder, struct spw_step step);

/* Bytes that the step would need on the device in addition to those in use. */
uint64_t spw_build_op_needs(const struct spw_builder *builder);
uint64_t spw_build_replay_needs(const struct spw_builder *builder, uint32_t op);

/* Returns the recorded operation that uses the tensor next, or SPW_NO_INDEX. */
static inline uint32_t spw_build_next_use(const struct spw_builder *builder, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &builder->graph->tensors[tensor];
    const uint32_t next = builder->places[tensor].next;
    return next < t->use_count ? builder->graph->uses[t->first_use + next].op : SPW_NO_INDEX;
}

/* Returns the version that the tensor has in recorded order at this point, which its next reader needs. */
static inline uint32_t spw_build_current(const struct spw_builder *builder, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &builder->graph->tensors[tensor];
    const uint32_t next = builder->places[tensor].next;
    return next < t->use_count ? builder->graph->uses[t->first_use + next].version : t->last_version;
}

/* Returns true if nothing will read the tensor's contents: its next recorded use, if any, overwrites it completely, and
 * it does not carry over. */
bool spw_build_is_dead(const struct spw_builder *builder, uint32_t tensor);
#endif
