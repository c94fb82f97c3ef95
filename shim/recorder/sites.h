/* sites.h - records where in the program an allocation comes from: call stacks, each kept once.
 *
 * Walking a stack takes microseconds, so it is done once for each place that can be told apart cheaply: by thread, depth of
 * the stack, caller and size. Two places that agree in all of these are discovered by walking again, ever more rarely. From
 * then on they are told apart by what happened just before, which in a loop is the same each time. Only if that does not
 * suffice either, the stack is walked each time. */
#ifndef SPILLWAY_SHIM_SITES_H
#define SPILLWAY_SHIM_SITES_H
#include <stdbool.h>
#include <stdint.h>

enum { SPW_SITE_FRAMES = 64 };

struct spw_stack {
    uint32_t count; /* innermost first, without our own frames */
    uint64_t frames[SPW_SITE_FRAMES];
};

/* What can be known of a place without walking the stack. */
struct spw_site_key {
    uint64_t place, context;
};

/* `frame` is the address of a local variable of the wrapper, `before` a number for what happened last. The key's context
 * consists of that number and the sites of the last keys. Recorder lock held, in this and the next two functions. */
struct spw_site_key spw_site_key_locked(const void *caller, const void *frame, uint64_t bytes, uint32_t before);

/* Returns the site known for a key; 0 if there is none, or it is time to check again: then the stack has to be walked. */
uint32_t spw_site_known_locked(struct spw_site_key key);

/* Returns the site of a stack; *ret_new if it has not been seen before, and then the caller records it. 0: no memory. */
uint32_t spw_site_learn_locked(struct spw_site_key key, const struct spw_stack *stack, bool *ret_new);

/* Walks the calling thread's stack. If the machine has no libunwind, all stacks are empty, which is logged once. No lock
 * held. */
void spw_site_walk(struct spw_stack *ret_stack);

struct spw_sites_counts {
    uint64_t walks, sites, ambiguous_keys;
};
struct spw_sites_counts spw_sites_counts_locked(void);

void spw_sites_reset(void); /* forgets everything: for tests */
#endif
