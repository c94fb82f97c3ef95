/* offload.h - chooses tensors that leave the device between two of their uses: candidates, a fluid relaxation, a greedy
 * choice.
 *
 * Beaumont, Eyraud-Dubois, Shilova, "Optimal GPU-CPU offloading strategies for deep neural network training", Euro-Par
 * 2020. On a chain, what is made first is needed last, so tensors should leave in the order in which they are made. The
 * fluid relaxation lets memory be freed and filled byte by byte; it is a lower bound for schedules without replays. */
#ifndef SPILLWAY_PLANNER_OFFLOAD_H
#define SPILLWAY_PLANNER_OFFLOAD_H
#include <stdbool.h>
#include <stdint.h>

#include "plan/graph.h"
#include "stages/fluid.h"

/* A tensor that could be on the host while the operations from .. to - 1 run. If it wraps, while those before `to` and
 * from `from` on run: a persistent tensor that begins and ends on the host. */
struct spw_leave {
    uint32_t tensor, from, to;
    uint32_t use; /* the use after which it leaves: index in graph->uses */
    bool wraps;
    double idle_us; /* compute time during its absence */
};

/* Lists, for each evictable tensor with a worthwhile gap, its longest gap by time. They are in the order in which the
 * tensors are made; persistent ones come last, the longest gap first. The caller frees *ret_leaves with free(). Returns 0
 * or -ENOMEM. */
int spw_offload_leaves(const struct spw_graph *graph, struct spw_leave **ret_leaves, uint32_t *ret_count);

/* Takes leaves in order if they relieve an operation where memory is short, until memory is short nowhere. Then gives
 * back those that turn out not to be needed, last first. `taken`, one for each leave: those that are true on entry are
 * taken before all others. Returns 0, whether it suffices or not, or -ENOMEM. O((leaves + ops) log ops). */
int spw_offload_greedy(const struct spw_graph *graph, uint64_t device_bytes, const struct spw_leave *leaves, uint32_t count,
                       bool *taken);
#endif
