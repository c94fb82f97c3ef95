/* elites.c - stores a few arrays with their costs. */
#include "search/elites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int spw_elites_init(struct spw_elites *elites, size_t choice_count)
{
    *elites = (struct spw_elites){.choice_count = choice_count};
    for (size_t i = 0; i < SPW_MOST_ELITES; i++) {
        elites->choices[i] = malloc(choice_count + 1);
        if (!elites->choices[i]) {
            spw_elites_finish(elites);
            return -ENOMEM;
        }
    }
    return 0;
}

void spw_elites_finish(struct spw_elites *elites)
{
    for (size_t i = 0; i < SPW_MOST_ELITES; i++)
        free(elites->choices[i]);
    *elites = (struct spw_elites){0};
}

void spw_elites_add(struct spw_elites *elites, const uint8_t *choices, double cost)
{
    size_t at = 0;
    for (size_t i = 0; i < elites->count; i++) {
        if (memcmp(elites->choices[i], choices, elites->choice_count) == 0)
            return;
        at = elites->cost[i] > elites->cost[at] ? i : at;
    }
    if (elites->count < SPW_MOST_ELITES)
        at = elites->count++;
    else if (cost >= elites->cost[at])
        return;
    memcpy(elites->choices[at], choices, elites->choice_count);
    elites->cost[at] = cost;
}
