/* reversal.c - a list of actions that grows. */
#include "chains/reversal.h"

#include <errno.h>
#include <stdlib.h>

void spw_reversal_finish(struct spw_reversal *reversal)
{
    free(reversal->actions);
    *reversal = (struct spw_reversal){0};
}

int spw_reversal_add(struct spw_reversal *reversal, const struct spw_reversal_action *action)
{
    if (reversal->count == reversal->room) {
        const size_t room = reversal->room ? 2 * reversal->room : 64;
        struct spw_reversal_action *grown = reallocarray(reversal->actions, room, sizeof *grown);
        if (!grown)
            return -ENOMEM;
        reversal->actions = grown;
        reversal->room = room;
    }
    reversal->actions[reversal->count++] = *action;
    return 0;
}
