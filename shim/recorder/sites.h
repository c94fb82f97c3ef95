/* sites.h - where in the program an allocation comes from: call stacks, each kept once.
 *
 * Walking a stack takes microseconds, so it is done once for each place that can be told apart cheaply: by thread, depth of
 * the stack, caller and size. Two places that agree in all of that are found out by looking again, ever more rarely; from
 * then on what happened just before tells them apart, which in a loop is the same each time. Only where that does not do
 * either, each use is walked. */
#ifndef SPILLWAY_SHIM_SITES_H
#define SPILLWAY_SHIM_SITES_H
#include <stdbool.h>
#include <stdint.h>

enum { SPW_SITE_FRAMES = 64 };

struct spw_stack {
    uint32_t count; /* innermost first, without our own frames */
    uint64_t frames[SPW_SITE_FRAMES];
};

/* What of a place can be had without walking. */
struct spw_site_key {
    uint64_t place, context;
};

/* `frame` is the address of a local variable of the wrapper, `before` a number for what happened last. The context is that
 * and the sites that the last keys turned out to have. Recorder lock held, in this and in the next two. */
struct spw_site_key spw_site_key_locked(const void *caller, const void *frame, uint64_t bytes, uint32_t before);

/* The site known for a key, which has to be walked to be sure: 0 when there is none, or it is time to look again. */
uint32_t spw_site_known_locked(struct spw_site_key key);

/* The site of a stack; *ret_new when it has not been seen before: the caller writes it down. 0: no memory. */
uint32_t spw_site_learn_locked(struct spw_site_key key, const struct spw_stack *stack, bool *ret_new);

/* Walks the calling thread's stack. Without libunwind on the machine all stacks are empty, said once. No lock held. */
void spw_site_walk(struct spw_stack *ret_stack);

struct spw_sites_counts {
    uint64_t walks, sites, ambiguous_keys;
};
struct spw_sites_counts spw_sites_counts_locked(void);

void spw_sites_reset(void); /* forgets everything: for tests */
#endif
