/* stage_menu.c - hands a chain's stages to the dynamic programs. */
#include "stage_menu.h"

#include <errno.h>
#include <stdlib.h>

int spw_stage_menu_init(struct spw_stage_menu *menu, const struct spw_chain *chain)
{
    menu->stages = calloc(chain->count, sizeof *menu->stages);
    menu->options = calloc(chain->count, sizeof *menu->options);
    if (!menu->stages || !menu->options)
        return -ENOMEM;
    for (uint32_t i = 0; i < chain->count; i++) {
        const struct spw_stage *from = &chain->stages[i];
        menu->options[i] = (struct spw_rotor_option){.forward_us = from->forward_us,
                                                     .backward_us = from->backward_us,
                                                     .record_bytes = from->record_bytes,
                                                     .forward_extra_bytes = from->forward_extra_bytes,
                                                     .backward_extra_bytes = from->backward_extra_bytes};
        menu->stages[i] = (struct spw_rotor_stage){.walk_us = from->forward_us,
                                                   .input_bytes = from->input_bytes,
                                                   .gradient_bytes = from->gradient_bytes,
                                                   .left_bytes = from->left_bytes,
                                                   .walk_extra_bytes = from->walk_extra_bytes,
                                                   .options = &menu->options[i],
                                                   .option_count = 1};
    }
    return 0;
}

void spw_stage_menu_finish(struct spw_stage_menu *menu)
{
    free(menu->stages);
    free(menu->options);
}

enum spw_stage_act spw_stage_act_of(enum spw_rotor_act act)
{
    static const enum spw_stage_act acts[] = {[SPW_ROTOR_WALK] = SPW_ACT_WALK,
                                              [SPW_ROTOR_KEEP] = SPW_ACT_KEEP,
                                              [SPW_ROTOR_SAVE] = SPW_ACT_SAVE,
                                              [SPW_ROTOR_BACK] = SPW_ACT_BACK,
                                              [SPW_ROTOR_FORGET] = SPW_ACT_FORGET};
    return acts[act];
}
