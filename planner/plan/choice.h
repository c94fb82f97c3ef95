/* choice.h - what becomes of a tensor in one gap: between two uses by recorded operations. */
#ifndef SPILLWAY_PLANNER_CHOICE_H
#define SPILLWAY_PLANNER_CHOICE_H
#include "plan/graph.h"

enum spw_choice {
    SPW_KEEP,   /* it stays; behind a last use: it goes, being of no more use */
    SPW_SWAP,   /* copied out right after the use, unless its host copy is good; behind the last use of a persistent tensor:
                 * the iteration begins with it on the host */
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
#endif
