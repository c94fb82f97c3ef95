/* elites.h - keeps the best sets of choices at which a search got stuck, all different, so that parts of one can be tried
 * in others.
 *
 * Choices are arrays of bytes (plan/choice.h). The cost is whatever they are judged by; less is better. */
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

/* Starts with no sets. Returns 0 or -ENOMEM. */
int spw_elites_init(struct spw_elites *elites, size_t choice_count);
void spw_elites_finish(struct spw_elites *elites); /* all zeros are allowed */
/* Keeps a copy of the choices, in place of the most expensive set if there is no room. Ignores choices that are already
 * kept, and those that cost at least as much as all others when there is no room. */
void spw_elites_add(struct spw_elites *elites, const uint8_t *choices, double cost);
#endif
