/* groups.c - cuts the chain by time, and adds up what the stages of each group need. */
#include "chains/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- groups ---- */

/* Appends `steps` groups of the stages [first, end). */
static void cut(struct spw_groups *groups, uint32_t first, uint32_t end, uint32_t steps)
{
    const struct spw_stage *stages = groups->chain->stages;
    double total = 0, passed = 0;
    for (uint32_t s = first; s < end; s++)
        total += stages[s].forward_us;
    uint32_t group = 0;
    for (uint32_t s = first; s < end; s++) {
        const bool due = passed + stages[s].forward_us / 2 >= total * group / steps;
        const bool last_chance = steps - group == end - s;
        if (group == 0 || (group < steps && (due || last_chance))) {
            groups->cuts[groups->count++] = s;
            group++;
        }
        passed += stages[s].forward_us;
    }
}

static void measure_forward(const struct spw_groups *groups, uint32_t index, const uint64_t *input, uint64_t left_bytes,
                            uint64_t *ret_kept)
{
    const struct spw_chain *chain = groups->chain;
    struct spw_group *group = &groups->groups[index];
    const uint32_t first = groups->cuts[index], end = groups->cuts[index + 1];
    uint64_t kept = 0;
    for (uint32_t s = first; s < end; s++) {
        const struct spw_stage *stage = &chain->stages[s];
        const bool is_last = s + 1 == chain->count;
        const uint64_t in = s > first ? input[s] : 0, out = is_last ? 0 : input[s + 1];
        const uint64_t record = stage->record_bytes - (is_last ? 0 : stage[1].input_bytes) + out;
        const uint64_t now = kept + record + stage->forward_extra_bytes + left_bytes;
        group->forward_us += stage->forward_us;
        group->backward_us += stage->backward_us;
        group->walk_us += groups->again[s].walk_us;
        group->record_us += s + 1 < end ? groups->again[s].both_us : groups->again[s].record_us;
        group->walk_bytes = larger(group->walk_bytes, in + out + stage->walk_extra_bytes);
        if (s == first)
            group->first_bytes = now;
        else
            group->reverse_bytes = larger(group->reverse_bytes, now);
        kept += groups->kept[s];
    }
    *ret_kept = kept;
}

/* Measures the groups from the last to the first, since gradients of parameters accumulate. */
static void measure(struct spw_groups *groups, const uint64_t *input)
{
    const struct spw_chain *chain = groups->chain;
    uint64_t left_bytes = 0, kept;
    for (uint32_t g = groups->count; g-- > 0;) {
        struct spw_group *group = &groups->groups[g];
        *group = (struct spw_group){.state_bytes = input[groups->cuts[g]]};
        measure_forward(groups, g, input, left_bytes, &kept);
        for (uint32_t s = groups->cuts[g + 1]; s-- > groups->cuts[g];) {
            const struct spw_stage *stage = &chain->stages[s];
            const uint64_t gradient = s + 1 < chain->count ? stage[1].gradient_bytes : 0;
            group->reverse_bytes = larger(group->reverse_bytes, kept + gradient + stage->backward_extra_bytes + left_bytes);
            kept -= groups->kept[s];
            left_bytes += stage->left_bytes;
        }
    }
}

void spw_groups_cut(struct spw_groups *groups, uint32_t steps, uint32_t last)
{
    const uint32_t stages = groups->chain->count - last;
    groups->count = 0;
    cut(groups, 0, stages, steps);
    groups->cuts[groups->count++] = stages;
    groups->cuts[groups->count] = groups->chain->count;
    measure(groups, groups->input[0]);
}

void spw_groups_cut_towers(struct spw_groups *groups, uint32_t steps)
{
    const uint32_t all = groups->tower_ends[groups->towers - 1];
    uint32_t first = 0;
    groups->count = 0;
    for (uint32_t b = 0; b < groups->towers; b++) { /* in proportion to their stages */
        const uint32_t end = groups->tower_ends[b];
        const uint32_t wanted = (uint32_t)((uint64_t)steps * end / all) - (uint32_t)((uint64_t)steps * first / all);
        groups->tower_steps[b] = wanted == 0 ? 1 : wanted > end - first ? end - first : wanted;
        cut(groups, first, end, groups->tower_steps[b]);
        first = end;
    }
    groups->cuts[groups->count++] = first;
    groups->cuts[groups->count] = groups->chain->count;
    measure(groups, groups->input[1]);
}

/* ---- what the stages are ---- */

/* Finds the branches: each branch's stages lie next to each other, in order, followed by those that join them. Otherwise
 * the chain counts as a single one. */
static void find_towers(struct spw_groups *groups)
{
    const struct spw_chain *chain = groups->chain;
    uint32_t s = 0, towers = 0;
    groups->towers = 1;
    if (chain->branches < 2 || chain->branches > SPW_JOIN_MOST_BRANCHES)
        return;
    for (; towers < chain->branches; towers++) {
        const uint32_t first = s;
        while (s < chain->count && chain->stages[s].branch == towers)
            s++;
        if (s == first)
            return;
        groups->tower_ends[towers] = s;
    }
    if (s == chain->count && --groups->tower_ends[towers - 1] == groups->tower_ends[towers - 2])
        return; /* they meet after the turn: the last stage is the last step, and the last branch has no other */
    for (uint32_t rest = s; rest < chain->count; rest++)
        if (chain->stages[rest].branch != SPW_NO_INDEX)
            return;
    groups->towers = towers;
}

static uint64_t kept_bytes(const struct spw_chain *chain, const struct spw_stage *stage)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < stage->record_count; i++)
        bytes += chain->graph->tensors[chain->listed[stage->first_record + i]].bytes;
    for (uint32_t i = 0; i < stage->input_count; i++) {
        const struct spw_graph_tensor *t = &chain->graph->tensors[chain->listed[stage->first_input + i]];
        const struct spw_use *last = &chain->graph->uses[t->first_use + t->use_count - 1];
        if (last->op >= stage->first_back && last->op < stage->end_back)
            bytes += t->bytes;
    }
    return bytes;
}

/* Returns the bytes of the stage's input that were made from operation `first` on. */
static uint64_t own_bytes(const struct spw_chain *chain, const struct spw_stage *stage, uint32_t first)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < stage->input_count; i++) {
        const uint32_t tensor = chain->listed[stage->first_input + i];
        if (chain->version[tensor] && spw_graph_producer(chain->graph, tensor, chain->version[tensor]) >= first)
            bytes += chain->graph->tensors[tensor].bytes;
    }
    return bytes;
}

static void measure_stages(struct spw_groups *groups)
{
    const struct spw_chain *chain = groups->chain;
    uint32_t tower = 0, first = 0;
    for (uint32_t s = 0; s < chain->count; s++) {
        const struct spw_stage *stage = &chain->stages[s];
        if (groups->towers > 1 && tower < groups->towers && s == groups->tower_ends[tower])
            first = ++tower < groups->towers ? stage->first_op : 0;
        groups->kept[s] = kept_bytes(chain, stage);
        groups->input[0][s] = stage->input_bytes;
        groups->input[1][s] = own_bytes(chain, stage, first);
    }
}

int spw_groups_init(struct spw_groups *groups, const struct spw_chain *chain)
{
    const size_t room = (size_t)chain->count + 2;
    *groups = (struct spw_groups){.chain = chain,
                                  .cuts = calloc(room, sizeof *groups->cuts),
                                  .groups = calloc(room, sizeof *groups->groups),
                                  .kept = calloc(room, sizeof *groups->kept),
                                  .input = {calloc(room, sizeof(uint64_t)), calloc(room, sizeof(uint64_t))},
                                  .again = calloc(room, sizeof *groups->again)};
    if (!groups->cuts || !groups->groups || !groups->kept || !groups->input[0] || !groups->input[1] || !groups->again)
        return -ENOMEM;
    find_towers(groups);
    measure_stages(groups);
    return spw_chain_again(chain, groups->again);
}

void spw_groups_finish(struct spw_groups *groups)
{
    free(groups->cuts);
    free(groups->groups);
    free(groups->kept);
    free(groups->input[0]);
    free(groups->input[1]);
    free(groups->again);
    *groups = (struct spw_groups){0};
}
