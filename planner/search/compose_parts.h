/* compose_parts.h - declares the state of a composition, for the files that compose from nothing or along an earlier
 * composition. */
#ifndef SPILLWAY_PLANNER_COMPOSE_PARTS_H
#define SPILLWAY_PLANNER_COMPOSE_PARTS_H
#include "plan/builder.h"
#include "plan/lineage.h"
#include "search/compose.h"

/* What the composition of one operation depended on. */
enum {
    /* On more than the tensors in its steps: on other resident tensors or on other operations. */
    SPW_OP_UNLIKE = 1,
    SPW_OP_CONSULTS = 2, /* on whether some tensor can be recomputed */
};
struct spw_composed_op {
    /* The first of the steps before and after the operation, which end where the next one's begin. */
    uint32_t first_step;
    uint32_t flags;           /* SPW_OP_... */
    uint64_t rise, host_rise; /* most bytes in use meanwhile, minus those before it */
};

/* One composition, with what is needed to follow it. */
struct spw_trail {
    uint8_t *choices; /* as the caller passed them */
    struct spw_schedule schedule;
    struct spw_composed_op *ops;     /* and one entry for the end */
    struct spw_builder_place *first; /* of each tensor, before operation 0 */
    bool is_whole;                   /* it resulted in a schedule */
};

struct spw_composer {
    const struct spw_plan_request *request;
    const struct spw_graph *graph;
    struct spw_lineage *lineage;
    struct spw_builder builder;
    uint8_t *choices;
    struct spw_composed composed;
    uint16_t *pins; /* for each tensor: number of replays that need it to stay at the moment */
    /* For each tensor: the next operation reads it, so evicting it would only bring it back at once. */
    bool *wanted;
    /* Number of steps that the following lists include; SPW_NO_INDEX: the lists are not made. */
    size_t listed_steps;
    uint32_t *resident; /* tensors on the device, unordered */
    uint32_t *where;    /* for each tensor: its index in `resident`; SPW_NO_INDEX: not there */
    uint32_t resident_count;
    /* Tensors that are resident although no choice wants them: restored for a replay, or retained; a stack. */
    uint32_t *spare;
    uint32_t spare_count;
    /* Tensors that were made on the way to the operation's inputs and do not stay; possibly more than once. */
    uint32_t *brief;
    uint32_t brief_count, brief_room;
    /* For each operation: the first tensor to be restored before it; for each tensor: the next in that list. */
    uint32_t *early, *early_next;
    uint8_t *spareness; /* for each tensor: LISTED in spare, and whether it really is spare */

    /* of the operation that is being composed */
    uint32_t flags;
    uint64_t most_bytes, most_host_bytes; /* in use so far */

    /* Following: `now` is being composed, `base` is what it is compared with. A tensor is apart if it is not where the
     * base had it at the same operation; `then` says where that was. */
    struct spw_trail now, base;
    bool is_following, is_end_changed; /* end: a choice of what to retain differs */
    bool is_brief_changed;             /* which tensors are brief may differ */
    bool *apart;
    uint32_t apart_count;
    struct spw_builder then; /* only the `places` of tensors that are apart, or touched here, are valid */
    uint32_t *touched_at;    /* for each tensor: 1 + the operation that touched it last */
    uint32_t *touched;       /* by the operation that is being composed */
    uint32_t touched_count;
    /* For each operation: the last composition in which a choice that it uses was different. */
    uint32_t *changed_in;
    uint32_t composition;
};

/* compose.c */
int spw_composer_run_op(struct spw_composer *c, uint32_t op);

/* compose_room.c */
/* The builder's steps, with a note for compositions that follow this one. */
int spw_composer_drop(struct spw_composer *c, uint32_t tensor);
int spw_composer_copy_out(struct spw_composer *c, uint32_t tensor);
void spw_composer_note_bytes(struct spw_composer *c);
/* Returns true if the tensor's contents can be dropped here and recomputed for its next use. */
bool spw_composer_is_replayable(struct spw_composer *c, uint32_t tensor);
/* Evicts tensors until `needs` bytes are free. Returns 0, -ENOSPC or -ENOMEM. */
int spw_composer_make_room(struct spw_composer *c, uint64_t needs);
/* Makes the tensor not spare, although no operation has touched it. */
void spw_composer_wants(struct spw_composer *c, uint32_t tensor);

/* Returns the index of the choice for the gap in which the tensor is. */
static inline size_t spw_composer_gap(const struct spw_composer *c, uint32_t tensor)
{
    const uint32_t next = c->builder.places[tensor].next;
    return next ? c->graph->tensors[tensor].first_use + next - 1 : (size_t)c->graph->use_count + tensor;
}

/* Returns true if the choice is to recompute for each use separately. */
static inline bool spw_composer_is_brief(uint8_t choice)
{
    return SPW_CHOICE(choice) == SPW_DROP && choice & SPW_BRIEF;
}

/* Returns true if its host copy is valid. */
static inline bool spw_composer_has_copy(const struct spw_composer *c, uint32_t tensor)
{
    const struct spw_builder_place *place = &c->builder.places[tensor];
    return place->host != SPW_ABSENT && place->host == spw_build_current(&c->builder, tensor);
}

/* compose_along.c */
int spw_along_init(struct spw_composer *c);
void spw_along_finish(struct spw_composer *c);
/* To be called before operation 0: finds what differs from the base, in the choices and in the places. */
void spw_along_begin(struct spw_composer *c, const uint8_t *choices);
/* Composes the operation, with the steps of the base if they are known to be the same. Returns as spw_compose() does. */
int spw_along_op(struct spw_composer *c, uint32_t op);
/* Returns true if the resulting schedule equals the base's. */
bool spw_along_is_base(const struct spw_composer *c);
/* Records that the operation that is being composed is about to change the tensor. */
void spw_along_touch(struct spw_composer *c, uint32_t tensor);

#endif
