/* lane.c - takes time from a lane's parts, and skips those that are full. */
#include "demand/lane.h"

#include <errno.h>
#include <stdlib.h>

int spw_lane_init(struct spw_lane *lane, double us, uint32_t parts, bool is_backward)
{
    /* One more part at the far end, which is never full, ends every search. */
    *lane = (struct spw_lane){.part_us = us > 0 ? us / parts : 1, .count = parts, .is_backward = is_backward};
    lane->left_us = malloc(((size_t)parts + 1) * sizeof *lane->left_us);
    lane->skip = malloc(((size_t)parts + 1) * sizeof *lane->skip);
    if (!lane->left_us || !lane->skip) {
        spw_lane_finish(lane);
        return -ENOMEM;
    }
    spw_lane_clear(lane);
    return 0;
}

void spw_lane_clear(struct spw_lane *lane)
{
    for (uint32_t i = 0; i <= lane->count; i++) {
        lane->left_us[i] = lane->part_us;
        lane->skip[i] = i;
    }
}

void spw_lane_finish(struct spw_lane *lane)
{
    free(lane->left_us);
    free(lane->skip);
    *lane = (struct spw_lane){0};
}

static uint32_t next_free(struct spw_lane *lane, uint32_t part)
{
    while (lane->skip[part] != part)
        part = lane->skip[part] = lane->skip[lane->skip[part]];
    return part;
}

/* Parts are counted in the direction of the lane: part 0 is at the beginning of time, or at its end. */
double spw_lane_reach(struct spw_lane *lane, double at_us, double us, bool take)
{
    const double all_us = lane->part_us * lane->count;
    double from_us = lane->is_backward ? all_us - at_us : at_us;
    from_us = from_us < 0 ? 0 : from_us;
    if (us <= 0)
        return at_us;
    uint32_t part = from_us < all_us ? (uint32_t)(from_us / lane->part_us) : lane->count;
    part = part < lane->count ? part : lane->count;
    double reached_us = from_us;
    for (part = next_free(lane, part); part < lane->count && us > 0; part = next_free(lane, part + 1)) {
        /* the taken time of a part lies at its beginning; in the first part, time before `from` cannot be used */
        double begin_us = part * lane->part_us + (lane->part_us - lane->left_us[part]);
        begin_us = begin_us > from_us ? begin_us : from_us;
        const double there_us = (part + 1) * lane->part_us - begin_us;
        const double taken_us = there_us < us ? there_us : us;
        if (taken_us <= 0)
            continue;
        us -= taken_us;
        reached_us = begin_us + taken_us;
        if (!take)
            continue;
        lane->left_us[part] -= taken_us;
        if (lane->left_us[part] <= 1e-9 * lane->part_us)
            lane->skip[part] = part + 1;
    }
    if (us > 0)
        reached_us = (reached_us > all_us ? reached_us : all_us) + us;
    return lane->is_backward ? all_us - reached_us : reached_us;
}
