/* iteration_finder.h - finds the program's iteration while it runs, and has some of them timed. Recorder lock held
 * throughout. */
#ifndef SPILLWAY_SHIM_ITERATION_FINDER_H
#define SPILLWAY_SHIM_ITERATION_FINDER_H
#include "../../trace/follow.h"
#include "ours.h"

/* Begins; how many iterations are timed and what hints there are say the settings. 0 or -ENOMEM. */
int spw_iteration_finder_start(void);
void spw_iteration_finder_stop(void);

void spw_iteration_finder_alloc(const struct spw_record_alloc *alloc);
void spw_iteration_finder_free(uint64_t id);

/* For the status page; zeroes before an iteration was found. */
struct spw_traced_iteration {
    uint64_t iterations, step_ns; /* begun; host time between the last two beginnings, 0: not known */
    uint32_t shape, length;
};
extern struct spw_traced_iteration spw_traced;

/* A kernel was met for the first time. */
void spw_iteration_finder_function(uint32_t id, const char *name);

/* The program says that an iteration begins here: operation `next_op` will be its first. */
void spw_iteration_finder_hint(uint64_t next_op);

/* Operation `number` comes next; its record is not written yet. Says that an iteration begins where its kernel is a hint. */
extern bool spw_iteration_finder_heeds_kernels SPW_OURS;
void spw_iteration_finder_before_hint(uint64_t number, const struct spw_record_op *op);
static inline void spw_iteration_finder_before(uint64_t number, const struct spw_record_op *op)
{
    if (__builtin_expect(spw_iteration_finder_heeds_kernels, 0))
        spw_iteration_finder_before_hint(number, op);
}

/* What operations do is known better from here on: an iteration that begins now is timed as well, and readers take the last.
 */
void spw_iteration_finder_learned(void);

/* At the end of the trace: warns of a hint that was asked for and did not come. */
void spw_iteration_finder_tell(void);

/* Operation number `number`, with its touches as spw_follow_op() takes them; a captured one leads nowhere. Switches the
 * timing of what is submitted next; puts marks into the trace where an iteration begins. */
void spw_iteration_finder_op(uint64_t number, const struct spw_record_op *op, const struct spw_iteration_touch *touches);
#endif
