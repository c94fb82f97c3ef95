/* choice.h - declares the choices for a tensor in one gap between two uses by recorded operations. */
#ifndef SPILLWAY_PLANNER_CHOICE_H
#define SPILLWAY_PLANNER_CHOICE_H
#include "plan/graph.h"

enum spw_choice {
    SPW_KEEP, /* it stays; after its last use it is dropped, since nothing needs it */
    /* It is copied out right after the use, unless its host copy is valid. After the last use of a persistent tensor: the
     * iteration begins with the tensor on the host. */
    SPW_SWAP,
    SPW_DROP,   /* it is dropped, and recomputed for its next use */
    SPW_RETAIN, /* after its last use: it stays on the device to the end, for replays */
    SPW_STORE,  /* after its last use: it is copied out, and copied in for replays */
};

/* SPW_DROP may carry a lead of 0 to 15 operations in the upper half of the byte: the tensor is recomputed that many
 * operations before its use, where there may still be room. It may also be brief: if the tensor is recomputed only on the
 * way to another tensor that an operation reads, long before its own use, it is dropped again at once. */
#define SPW_BRIEF            8
#define SPW_CHOICE(choice)   ((choice)&7)
#define SPW_LEAD(choice)     ((choice) >> 4)
#define SPW_DROP_EARLY(lead) (uint8_t)(SPW_DROP | (lead) << 4)

/* The choice for the gap after use i is choices[i]; that for the gap before the first use of persistent tensor t is
 * choices[use_count + t]. Returns how many choices there are in all. */
static inline size_t spw_choice_count(const struct spw_graph *graph)
{
    return (size_t)graph->use_count + graph->tensor_count;
}
#endif
