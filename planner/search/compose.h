/* compose.h - makes a schedule of choices: what stays, what is copied out and what is dropped, gap by gap.
 *
 * A gap is the time between two uses of a tensor by recorded operations. A choice for each gap says what becomes of the
 * tensor meanwhile. Composing goes through the operations in order, evicts behind each use as chosen, brings back what an
 * operation reads just before it (a copy where there is one, else replays, recursively), and, where memory is short all the
 * same, evicts more: it then notes that among the choices, so that the next time it is done in good time. */
#ifndef SPILLWAY_PLANNER_COMPOSE_H
#define SPILLWAY_PLANNER_COMPOSE_H
#include "plan/graph.h"
#include "plan/plan.h"
#include "plan/schedule.h"

enum spw_choice {
    SPW_KEEP,   /* it stays; behind a last use: it goes, being of no more use */
    SPW_SWAP,   /* copied out right after the use, unless its host copy is good; behind the last use of a persistent tensor:
                 * the   iteration begins with it on the host */
    SPW_DROP,   /* recomputed for its next use */
    SPW_RETAIN, /* behind a last use: it stays on the device, for replays, to the end */
    SPW_STORE,  /* behind a last use: copied out, to be brought in for replays */
};

/* A choice of SPW_DROP may have a lead of 0 to 15 operations in its upper half: it is recomputed so much before its use,
 * where the room for doing that may be there still. And it may be brief: made on the way to another tensor that an operation
 * reads, long before its own use, it does not wait for that but goes again at once. */
#define SPW_BRIEF            8
#define SPW_CHOICE(choice)   ((choice)&7)
#define SPW_LEAD(choice)     ((choice) >> 4)
#define SPW_DROP_EARLY(lead) (uint8_t)(SPW_DROP | (lead) << 4)

/* The choice for the gap behind use i is choices[i]; that before the first use of persistent tensor t is
 * choices[use_count + t]. So many in all: */
static inline size_t spw_choice_count(const struct spw_graph *graph)
{
    return (size_t)graph->use_count + graph->tensor_count;
}

/* Which uses of which tensors they are about: graphs that give the same number have the same choices to make. */
uint64_t spw_choice_digest(const struct spw_graph *graph);

struct spw_composer;
int spw_composer_create(const struct spw_plan_request *request, struct spw_composer **ret_composer);
void spw_composer_destroy(struct spw_composer *composer);

struct spw_composed {
    size_t repairs;     /* choices that had to be changed */
    uint32_t op;        /* the operation that it came to */
    double replayed_us; /* by all replays */
    bool is_kept;       /* a schedule came of it, and it is the one that was kept (below) */
};
/* Fills the schedule. 0; -ENOSPC: no way found; -ENOMEM. `ret_composed` is filled in any case. */
int spw_compose(struct spw_composer *composer, uint8_t *choices, struct spw_schedule *schedule,
                struct spw_composed *ret_composed);
/* Makes what was composed last what later compositions are held against: where they meet the same choices and the same
 * places, they take over its steps. What comes out is the same with any other, or none, and takes longer the more differs.
 * Without effect, and false, where no schedule came of it. */
bool spw_composer_keep(struct spw_composer *composer);
/* From now on there is none. */
void spw_composer_forget(struct spw_composer *composer);
#endif
