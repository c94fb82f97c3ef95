/* reversal.c - a list of actions that grows. */
#include "chains/reversal.h"

#include <errno.h>
#include <stdlib.h>

#include "grow.h"

void spw_reversal_finish(struct spw_reversal *reversal)
{
    free(reversal->actions);
    *reversal = (struct spw_reversal){0};
}

int spw_reversal_add(struct spw_reversal *reversal, const struct spw_reversal_action *action)
{
    if (SPW_GROW(reversal->actions, reversal->room, reversal->count + 1) < 0)
        return -ENOMEM;
    reversal->actions[reversal->count++] = *action;
    return 0;
}
