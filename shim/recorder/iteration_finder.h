/* iteration_finder.h - finds the program's iteration while it runs, and has some iterations timed. Recorder lock held
 * throughout. */
#ifndef SPILLWAY_SHIM_ITERATION_FINDER_H
#define SPILLWAY_SHIM_ITERATION_FINDER_H
#include "../../trace/follow.h"
#include "ours.h"

/* Begins; the settings say how many iterations are timed and what hints there are. Returns 0 or -ENOMEM. */
int spw_iteration_finder_start(void);
void spw_iteration_finder_stop(void);

void spw_iteration_finder_alloc(const struct spw_record_alloc *alloc);
void spw_iteration_finder_free(uint64_t id);

/* For the status page; all zeroes before an iteration was found. */
struct spw_traced_iteration {
    uint64_t iterations, step_ns; /* iterations begun; host time between the last two beginnings, 0: not known */
    uint32_t shape, length;
};
extern struct spw_traced_iteration spw_traced;

/* Call when a kernel was met for the first time. */
void spw_iteration_finder_function(uint32_t id, const char *name);

/* Call when the program says that an iteration begins here: operation `next_op` will be its first. */
void spw_iteration_finder_hint(uint64_t next_op);

/* Call before operation `number` is recorded. If its kernel is a hint, notes that an iteration begins. */
extern bool spw_iteration_finder_heeds_kernels SPW_OURS;
void spw_iteration_finder_before_hint(uint64_t number, const struct spw_record_op *op);
static inline void spw_iteration_finder_before(uint64_t number, const struct spw_record_op *op)
{
    if (__builtin_expect(spw_iteration_finder_heeds_kernels, 0))
        spw_iteration_finder_before_hint(number, op);
}

/* Call when it is better known what operations do: an iteration that begins now is timed as well, and readers take the
 * last. */
void spw_iteration_finder_learned(void);

/* At the end of the trace: warns of a hint that was asked for and did not come. */
void spw_iteration_finder_tell(void);

/* Call for operation number `number`, with its touches as spw_follow_op() takes them; captured operations are ignored.
 * Switches timing on and off for what is submitted next, and puts marks into the trace where an iteration begins. */
void spw_iteration_finder_op(uint64_t number, const struct spw_record_op *op, const struct spw_iteration_touch *touches);
#endif
