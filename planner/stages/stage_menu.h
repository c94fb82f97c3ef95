/* stage_menu.h - converts the stages of a chain for the dynamic programs, and their actions for the runner. */
#ifndef SPILLWAY_PLANNER_STAGE_MENU_H
#define SPILLWAY_PLANNER_STAGE_MENU_H
#include "stages/rotor.h"
#include "stages/stages.h"

struct spw_stage_menu {
    struct spw_rotor_stage *stages; /* one for each stage of the chain */
    struct spw_rotor_option *options;
};

int spw_stage_menu_init(struct spw_stage_menu *menu, const struct spw_chain *chain); /* returns 0 or -ENOMEM */
void spw_stage_menu_finish(struct spw_stage_menu *menu);                             /* all zero is allowed */

/* Converts an action. Option 0 is the whole record, option n the stage's part n - 1. */
struct spw_stage_action spw_stage_action_of(const struct spw_rotor_action *action);
#endif
