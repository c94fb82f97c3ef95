/* rotor.h - finds the fastest way to run a chain of unequal stages forward and backward within memory, by recomputation
 * alone.
 *
 * Beaumont, Eyraud-Dubois, Herrmann, Joly, Shilova, "Optimal re-materialization strategies for heterogeneous chains",
 * ACM TOMS (2024), section 4: dynamic programming over sub-chains and memory; with a menu of options for each stage, as
 * in Rockmate. Guaranteed: the optimum among schedules in which a stored value stays until the backward that uses it,
 * for sizes rounded up to slots. What a stage's backward leaves for the tail is counted as it accumulates. */
#ifndef SPILLWAY_PLANNER_ROTOR_H
#define SPILLWAY_PLANNER_ROTOR_H
#include <stddef.h>
#include <stdint.h>

/* A way to run a stage forward and backward with a record in between. */
struct spw_rotor_option {
    double forward_us, backward_us;
    uint64_t record_bytes;                              /* abar_(i+1): includes the output, a_(i+1) */
    uint64_t forward_extra_bytes, backward_extra_bytes; /* besides input and record (backward: and d_(i+1)) */
};

struct spw_rotor_stage {
    double walk_us;       /* forward without keeping anything */
    uint64_t input_bytes; /* a_i */
    /* NULL, or for each earlier stage s: how much of a_i is made by stages from s on; the rest is in a_s. */
    const uint64_t *input_since;
    uint64_t gradient_bytes;   /* d_i, of the same stage's input */
    uint64_t left_bytes;       /* the part of its backward's products that stays for good */
    uint64_t walk_extra_bytes; /* besides input and output */
    const struct spw_rotor_option *options;
    uint32_t option_count; /* >= 1 */
};

enum spw_rotor_act { SPW_ROTOR_WALK, SPW_ROTOR_KEEP, SPW_ROTOR_SAVE, SPW_ROTOR_BACK, SPW_ROTOR_FORGET /* its input */ };

struct spw_rotor_action {
    uint32_t act; /* enum spw_rotor_act */
    uint32_t stage, option;
};

struct spw_rotor_actions {
    struct spw_rotor_action *list;
    size_t count, room;
};
void spw_rotor_actions_finish(struct spw_rotor_actions *actions); /* empty actions are all zero */
int spw_rotor_actions_add(struct spw_rotor_actions *actions, enum spw_rotor_act act, uint32_t stage, uint32_t option);

/* Fills the table for all sub-chains and all memory up to `bytes`, in `slots` (>= 1) steps. The stages have to outlive
 * it. O(count^3 slots) time, O(count^2 slots) memory. Returns 0 or -ENOMEM. */
struct spw_rotor;
int spw_rotor_create(const struct spw_rotor_stage *stages, uint32_t count, uint64_t bytes, uint32_t slots,
                     struct spw_rotor **ret_rotor);
void spw_rotor_destroy(struct spw_rotor *rotor); /* NULL is allowed */

/* Returns the time from the input of stage `first`, which does not count in `bytes`, through stage `last` and back;
 * d_(last+1) counts. INFINITY: it does not fit. */
double spw_rotor_time(const struct spw_rotor *rotor, uint32_t first, uint32_t last, uint64_t bytes);
/* Appends the actions that take that time. Returns 0; -ENOSPC: there is no way; -ENOMEM. */
int spw_rotor_append(const struct spw_rotor *rotor, uint32_t first, uint32_t last, uint64_t bytes,
                     struct spw_rotor_actions *actions);
#endif
