/* stage_menu.c - describes a chain's stages to the dynamic programs. */
#include "stages/stage_menu.h"

#include <errno.h>
#include <stdlib.h>

/* With a part, the whole record is present while the stage runs in either direction, and less only between the two. */
static struct spw_rotor_option option_of(const struct spw_stage *from, const struct spw_part *part)
{
    struct spw_rotor_option option = {.forward_us = from->forward_us,
                                      .backward_us = from->backward_us,
                                      .record_bytes = from->record_bytes,
                                      .forward_extra_bytes = from->forward_extra_bytes,
                                      .backward_extra_bytes = from->backward_extra_bytes};
    if (!part)
        return option;
    const uint64_t missing = from->record_bytes - part->bytes;
    if (option.backward_extra_bytes < option.forward_extra_bytes)
        option.backward_extra_bytes = option.forward_extra_bytes;
    option.backward_us += part->again_us;
    option.record_bytes = part->bytes;
    option.forward_extra_bytes += missing;
    option.backward_extra_bytes += missing;
    return option;
}

int spw_stage_menu_init(struct spw_stage_menu *menu, const struct spw_chain *chain)
{
    menu->stages = calloc(chain->count, sizeof *menu->stages);
    menu->options = calloc((size_t)chain->count * (1 + SPW_PARTS_MOST), sizeof *menu->options);
    if (!menu->stages || !menu->options)
        return -ENOMEM;
    for (uint32_t i = 0; i < chain->count; i++) {
        const struct spw_stage *from = &chain->stages[i];
        struct spw_rotor_option *options = &menu->options[i * (1 + SPW_PARTS_MOST)];
        options[0] = option_of(from, NULL);
        for (uint32_t n = 0; n < from->part_count; n++)
            options[1 + n] = option_of(from, &chain->parts[from->first_part + n]);
        menu->stages[i] = (struct spw_rotor_stage){.walk_us = from->forward_us,
                                                   .input_bytes = from->input_bytes,
                                                   .input_since = &chain->input_since[(size_t)i * chain->count],
                                                   .gradient_bytes = from->gradient_bytes,
                                                   .left_bytes = from->left_bytes,
                                                   .walk_extra_bytes = from->walk_extra_bytes,
                                                   .options = options,
                                                   .option_count = 1 + from->part_count};
    }
    return 0;
}

void spw_stage_menu_finish(struct spw_stage_menu *menu)
{
    free(menu->stages);
    free(menu->options);
}

struct spw_stage_action spw_stage_action_of(const struct spw_rotor_action *action)
{
    static const enum spw_stage_act acts[] = {[SPW_ROTOR_WALK] = SPW_ACT_WALK,
                                              [SPW_ROTOR_KEEP] = SPW_ACT_KEEP,
                                              [SPW_ROTOR_SAVE] = SPW_ACT_SAVE,
                                              [SPW_ROTOR_BACK] = SPW_ACT_BACK,
                                              [SPW_ROTOR_FORGET] = SPW_ACT_FORGET};
    return (struct spw_stage_action){acts[action->act], action->stage, action->option};
}
