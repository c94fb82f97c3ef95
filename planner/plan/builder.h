/* builder.h - writes a schedule step by step, and refuses each step that would make it invalid.
 *
 * A builder knows, in the order of the steps, which tensors are on the device and at which version, what host copies
 * there are, and how many bytes are taken. It decides nothing: planners do. Whatever has been written so far is valid
 * under model S+, so a planner that can't go on has lost nothing but the rest.
 *
 * It does not know what comes. So where host memory is limited, it takes a host copy for wanted up to its tensor's last
 * recorded use, and for gone after that; where it is not, host copies remain, and replays may have them. What is copied out
 * after the last use counts until the end. The time line hands host memory out in the same way; the checker, and the peaks,
 * count no copy longer than it is wanted. */
#ifndef SPILLWAY_PLANNER_BUILDER_H
#define SPILLWAY_PLANNER_BUILDER_H
#include "plan/graph.h"
#include "plan/schedule.h"

#define SPW_ABSENT UINT32_MAX

/* Where one tensor is. Version 0 is what there was at the start. */
struct spw_builder_place {
    uint32_t device; /* the version on the device; SPW_ABSENT: none */
    uint32_t host;   /* the version of the host copy; SPW_ABSENT: none */
    uint32_t next;   /* index, in the tensor's uses, of its next use by a recorded operation */
};

struct spw_builder {
    const struct spw_graph *graph;
    struct spw_schedule *schedule;
    struct spw_builder_place *places;
    uint64_t device_bytes, host_bytes;    /* what there is */
    uint64_t used_bytes, host_used_bytes; /* what is taken, in the order of the steps */
    uint32_t next_op;                     /* the recorded operation that comes next */
};

/* Begins with a list of steps that only drops what no operation uses; persistent tensors are where schedule->start says. 0,
 * -ENOMEM; -ENOSPC: what starts on the device does not fit. Both others have to outlive the builder. */
int spw_builder_init(struct spw_builder *builder, const struct spw_graph *graph, struct spw_schedule *schedule,
                     uint64_t device_bytes, uint64_t host_bytes);
void spw_builder_finish(struct spw_builder *builder);

/* Each appends one step. 0; -ENOMEM; -ENOSPC: no room on the device (for d2h: on the host); -EINVAL: not possible now.
 * Nothing has changed where they fail. What the host has at this version is not copied out again: -EINVAL. */
int spw_build_op(struct spw_builder *builder); /* the next recorded operation: all that it reads has to be there */
int spw_build_replay(struct spw_builder *builder, uint32_t op);
int spw_build_d2h(struct spw_builder *builder, uint32_t tensor);
int spw_build_h2d(struct spw_builder *builder, uint32_t tensor);
int spw_build_drop(struct spw_builder *builder, uint32_t tensor);
/* Drops what operation `op` touched and nobody needs any more: no use is left, and it does not carry over. */
int spw_build_drop_dead(struct spw_builder *builder, uint32_t op);
/* At the end of the list: brings each persistent tensor back to where it started, and drops all else. */
int spw_build_end(struct spw_builder *builder);

/* Does what the step does, which is known to be possible here, without a check, and without appending it. */
void spw_build_known(struct spw_builder *builder, struct spw_step step);

/* Bytes that the step would take on the device, beside what is there already. */
uint64_t spw_build_op_needs(const struct spw_builder *builder);
uint64_t spw_build_replay_needs(const struct spw_builder *builder, uint32_t op);

/* The recorded operation that uses the tensor next; SPW_NO_INDEX: none does. */
static inline uint32_t spw_build_next_use(const struct spw_builder *builder, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &builder->graph->tensors[tensor];
    const uint32_t next = builder->places[tensor].next;
    return next < t->use_count ? builder->graph->uses[t->first_use + next].op : SPW_NO_INDEX;
}

/* The version that the tensor has in recorded order at this point: what its next reader wants. */
static inline uint32_t spw_build_current(const struct spw_builder *builder, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &builder->graph->tensors[tensor];
    const uint32_t next = builder->places[tensor].next;
    return next < t->use_count ? builder->graph->uses[t->first_use + next].version : t->last_version;
}

/* Nobody will read what the tensor holds: its next recorded use, if any, overwrites it all, and it does not carry over. */
bool spw_build_is_dead(const struct spw_builder *builder, uint32_t tensor);
#endif
