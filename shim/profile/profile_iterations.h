/* profile_iterations.h - the iterations of a profile: what programs repeated, how long each operation took, and what a plan
 * for it was made of.
 *
 * Whoever uses one takes it for a guess: the detector recognises the iteration by what the program does, and holds it
 * against that (detect/iteration.h); durations are measured again; the planner judges the choices as any others. No lock of
 * ours. */
#ifndef SPILLWAY_SHIM_PROFILE_ITERATIONS_H
#define SPILLWAY_SHIM_PROFILE_ITERATIONS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    SPW_PROFILE_ITERATIONS = 32,                /* of a table: the one that was put longest ago makes room */
    SPW_PROFILE_ITERATION_BYTES = 16 << 20,     /* of one */
    SPW_PROFILE_ALL_ITERATIONS_BYTES = 64 << 20 /* of all: likewise */
};

struct spw_profile_iteration {
    uint64_t hash;       /* which one it is (struct spw_iteration_shape) */
    const void *shape;   /* as spw_iteration_save_shape() makes it; `shape_bytes` of them */
    const float *us;     /* how long each operation takes; `op_count` of them, < 0: not known */
    const uint8_t *list; /* the choices of its plan (plan/choice.h); `choice_count` of them, 0: no plan is known */
    uint64_t choices_of; /* which uses of which tensors they are about */
    uint32_t shape_bytes, op_count, choice_count;
};

struct spw_profile_entry;

struct spw_profile_iterations { /* begins as all zeroes */
    struct spw_profile_entry *first;
    uint64_t bytes;
};

void spw_profile_iterations_finish(struct spw_profile_iterations *table);

/* Puts a copy in, behind the others, in place of what was known of it; where it comes without choices, those known stay.
 * True: the table holds something new. False also where it is too long, or there is no memory. */
bool spw_profile_iterations_put(struct spw_profile_iterations *table, const struct spw_profile_iteration *iteration);

/* NULL: it is not known. Good until the next put. */
const struct spw_profile_iteration *spw_profile_iterations_find(const struct spw_profile_iterations *table, uint64_t hash);

/* All, the one put longest ago first. `before` NULL: the first; NULL: there is none left. */
const struct spw_profile_iteration *spw_profile_iterations_next(const struct spw_profile_iterations *table,
                                                                const struct spw_profile_iteration *before);
uint32_t spw_profile_iterations_count(const struct spw_profile_iterations *table);

/* ---- as bytes ---- */

struct spw_profile_rest { /* what has not been read yet */
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
char *spw_profile_iterations_encode(const struct spw_profile_iterations *table, char *at); /* the end of them */
/* 0 or -EBADMSG. */
int spw_profile_iterations_decode(struct spw_profile_iterations *table, uint32_t count, struct spw_profile_rest *rest);
#endif
