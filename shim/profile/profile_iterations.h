/* profile_iterations.h - the iterations of a profile: which operations were repeated, how long each took, and the choices
 * of the plan for them.
 *
 * All of this is used as a guess: the detector recognises the iteration by what the program does, and compares it with the
 * profile (detect/iteration.h); durations are measured again; the planner evaluates the choices like any others. No lock. */
#ifndef SPILLWAY_SHIM_PROFILE_ITERATIONS_H
#define SPILLWAY_SHIM_PROFILE_ITERATIONS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    SPW_PROFILE_ITERATIONS = 32,                /* in a table: the one that was put longest ago is replaced */
    SPW_PROFILE_ITERATION_BYTES = 16 << 20,     /* of one iteration */
    SPW_PROFILE_ALL_ITERATIONS_BYTES = 64 << 20 /* of all: likewise */
};

struct spw_profile_iteration {
    uint64_t hash;       /* identifies the iteration (struct spw_iteration_shape) */
    const void *shape;   /* as spw_iteration_save_shape() makes it; `shape_bytes` bytes */
    const float *us;     /* duration of each operation; `op_count` of them, < 0: unknown */
    const uint8_t *list; /* the choices of its plan (plan/choice.h); `choice_count` of them, 0: no plan is known */
    uint64_t choices_of; /* identifies the uses of tensors that the choices are about */
    uint32_t shape_bytes, op_count, choice_count;
};

struct spw_profile_entry;

struct spw_profile_iterations { /* all zero at first */
    struct spw_profile_entry *first;
    uint64_t bytes;
};

void spw_profile_iterations_finish(struct spw_profile_iterations *table);

/* Puts a copy into the table, behind the others, in place of what was known before; if it comes without choices, the known
 * ones stay. Returns true if that changed the table. Returns false also if it is too long or there is no memory. */
bool spw_profile_iterations_put(struct spw_profile_iterations *table, const struct spw_profile_iteration *iteration);

/* Returns the iteration, valid until the next put; NULL: unknown. */
const struct spw_profile_iteration *spw_profile_iterations_find(const struct spw_profile_iterations *table, uint64_t hash);

/* Returns the iteration behind `before` (NULL: the first), the one put longest ago first; NULL: there is no other. */
const struct spw_profile_iteration *spw_profile_iterations_next(const struct spw_profile_iterations *table,
                                                                const struct spw_profile_iteration *before);
uint32_t spw_profile_iterations_count(const struct spw_profile_iterations *table);

/* ---- as bytes ---- */

struct spw_profile_rest { /* the bytes that were not read yet */
    const char *at;
    size_t size;
};

static inline bool spw_profile_take(struct spw_profile_rest *rest, void *into, size_t size)
{
    if (rest->size < size)
        return false;
    if (size)
        memcpy(into, rest->at, size);
    rest->at += size;
    rest->size -= size;
    return true;
}

size_t spw_profile_iterations_size(const struct spw_profile_iterations *table);
char *spw_profile_iterations_encode(const struct spw_profile_iterations *table, char *at); /* returns the end of what it
                                                                                            * wrote */
/* Returns 0, -EBADMSG or -ENOMEM. */
int spw_profile_iterations_decode(struct spw_profile_iterations *table, uint32_t count, struct spw_profile_rest *rest);
#endif
