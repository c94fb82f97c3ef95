/* elites.h - the best sets of choices at which a search was stuck, each another one, for parts of them to be tried in
 * others.
 *
 * Choices are arrays of bytes (plan/choice.h); cost is whatever they are judged by, less is better. */
#ifndef SPILLWAY_PLANNER_ELITES_H
#define SPILLWAY_PLANNER_ELITES_H
#include <stddef.h>
#include <stdint.h>

enum { SPW_MOST_ELITES = 8 };

struct spw_elites {
    uint8_t *choices[SPW_MOST_ELITES]; /* the first `count` are in use */
    double cost[SPW_MOST_ELITES];
    size_t count, choice_count;
};

/* None are kept yet. 0 or -ENOMEM. */
int spw_elites_init(struct spw_elites *elites, size_t choice_count);
void spw_elites_finish(struct spw_elites *elites); /* one of all zeros is fine */
/* Keeps a copy, in place of the dearest where there are as many as can be; those that are kept already, and any that is
 * dearer than all of as many, are left. */
void spw_elites_add(struct spw_elites *elites, const uint8_t *choices, double cost);
#endif
