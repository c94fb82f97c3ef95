/* compose_parts.h - what composing keeps account of, for the files that compose: from nothing, or along an earlier list. */
#ifndef SPILLWAY_PLANNER_COMPOSE_PARTS_H
#define SPILLWAY_PLANNER_COMPOSE_PARTS_H
#include "plan/builder.h"
#include "plan/lineage.h"
#include "search/compose.h"

/* What composing one operation took. */
enum {
    SPW_OP_UNLIKE = 1, /* it depended on more than the tensors in its steps: on who else was there, or on other operations */
    SPW_OP_CONSULTS = 2, /* on whether some tensor can be recomputed */
};
struct spw_composed_op {
    uint32_t first_step;      /* of those before the operation, and behind it up to the next one's */
    uint32_t flags;           /* SPW_OP_... */
    uint64_t rise, host_rise; /* most bytes taken meanwhile, above those taken before it */
};

/* One composition, as far as it takes to follow it. */
struct spw_trail {
    uint8_t *choices; /* as they were given */
    struct spw_schedule schedule;
    struct spw_composed_op *ops;     /* one more for the end */
    struct spw_builder_place *first; /* of each tensor, before operation 0 */
    bool is_whole;                   /* a schedule came of it */
};

struct spw_composer {
    const struct spw_plan_request *request;
    const struct spw_graph *graph;
    struct spw_lineage *lineage;
    struct spw_builder builder;
    uint8_t *choices;
    struct spw_composed composed;
    uint16_t *pins;      /* for each tensor: so many replays want it to stay just now */
    bool *wanted;        /* for each tensor: the next operation reads it, so that it would only have to come back */
    size_t listed_steps; /* the lists that follow are as they were behind so many steps; SPW_NO_INDEX: they are not made */
    uint32_t *resident;  /* tensors on the device, in no order */
    uint32_t *where;     /* for each tensor: its place there; SPW_NO_INDEX: not there */
    uint32_t resident_count;
    uint32_t
        *spare; /* tensors that are there though nothing chosen wants them: restored for a replay, or retained; a stack */
    uint32_t spare_count;
    uint32_t
        *brief; /* tensors that were made on the way to what the operation reads, and do not stay; maybe more than once */
    uint32_t brief_count, brief_room;
    uint32_t *early,
        *early_next;    /* for each operation: the first tensor to be restored before it; for each tensor: the next such */
    uint8_t *spareness; /* for each tensor: LISTED in spare, and whether it really is */

    /* of the operation that is being composed */
    uint32_t flags;
    uint64_t most_bytes, most_host_bytes; /* taken so far */

    /* Following: `now` is being composed, `base` is what it is held against. A tensor that is apart is not where it was
     * then, at the same operation, but where `then` says. */
    struct spw_trail now, base;
    bool is_following, is_end_changed; /* what may be retained differs */
    bool is_brief_changed;             /* who is brief may */
    bool *apart;
    uint32_t apart_count;
    struct spw_builder then; /* only `places` of tensors that are apart, or touched now, are true */
    uint32_t *touched_at;    /* for each tensor: 1 + the operation at which it was touched last */
    uint32_t *touched;       /* by the operation that is being composed */
    uint32_t touched_count;
    uint32_t *changed_in; /* for each operation: the last composition in which a choice that it looks at was another one */
    uint32_t composition;
};

/* compose.c */
int spw_composer_run_op(struct spw_composer *c, uint32_t op);

/* compose_room.c */
/* The builder's steps, noted for those that go along this composition. */
int spw_composer_drop(struct spw_composer *c, uint32_t tensor);
int spw_composer_copy_out(struct spw_composer *c, uint32_t tensor);
void spw_composer_note_bytes(struct spw_composer *c);
/* Whether what the tensor holds can be dropped here and recomputed for its next use. */
bool spw_composer_is_replayable(struct spw_composer *c, uint32_t tensor);
/* Evicts until so many bytes are free. 0; -ENOSPC; -ENOMEM. */
int spw_composer_make_room(struct spw_composer *c, uint64_t needs);
/* It is not spare any more, though no operation has touched it. */
void spw_composer_wants(struct spw_composer *c, uint32_t tensor);

/* The gap that the tensor is in: index of its choice. */
static inline size_t spw_composer_gap(const struct spw_composer *c, uint32_t tensor)
{
    const uint32_t next = c->builder.places[tensor].next;
    return next ? c->graph->tensors[tensor].first_use + next - 1 : (size_t)c->graph->use_count + tensor;
}

/* The choice is to recompute, and for each use alone. */
static inline bool spw_composer_is_brief(uint8_t choice)
{
    return SPW_CHOICE(choice) == SPW_DROP && choice & SPW_BRIEF;
}

/* Its host copy is good. */
static inline bool spw_composer_has_copy(const struct spw_composer *c, uint32_t tensor)
{
    const struct spw_builder_place *place = &c->builder.places[tensor];
    return place->host != SPW_ABSENT && place->host == spw_build_current(&c->builder, tensor);
}

/* compose_along.c */
int spw_along_init(struct spw_composer *c);
void spw_along_finish(struct spw_composer *c);
/* Before operation 0: finds out what is different, in the choices and in what is where. */
void spw_along_begin(struct spw_composer *c, const uint8_t *choices);
/* Composes the operation, by the steps of the base where they are known to be the same. As spw_compose(). */
int spw_along_op(struct spw_composer *c, uint32_t op);
/* Whether the schedule that came of it is the base's. */
bool spw_along_is_base(const struct spw_composer *c);
/* Notes that the tensor is about to be changed by the operation that is being composed. */
void spw_along_touch(struct spw_composer *c, uint32_t tensor);

#endif
