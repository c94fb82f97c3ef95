/* ranges.h - which stretches of a space counted in granules are free: taken and given back in constant time. */
#ifndef SPILLWAY_SHIM_RANGES_H
#define SPILLWAY_SHIM_RANGES_H
#include <stdbool.h>
#include <stdint.h>

/* Hands out numbers, not memory: what a granule is (2 MiB of an arena, 4 KiB of a slab) is the caller's affair, and
 * nothing is ever written into the space itself. The bookkeeping takes 16 bytes per granule of address space, of which
 * only the pages that hold borders of free ranges are ever touched.
 *
 * No lock inside: the caller's lock guards it. */
struct spw_ranges;

#define SPW_RANGES_MAX_GRANULES (UINT32_C(1) << 30)

/* All granules [0, granules) start free. -EINVAL: none, or more than the maximum; -ENOMEM. */
int spw_ranges_create(uint32_t granules, struct spw_ranges **ret_ranges);
void spw_ranges_destroy(struct spw_ranges *ranges); /* NULL is fine */

/* Takes `granules` neighbours from a free range that fits closely; low addresses are preferred among equals.
 * -ENOMEM: no free range is as long; -EINVAL: none were asked for. */
int spw_ranges_take(struct spw_ranges *ranges, uint32_t granules, uint32_t *ret_first);

/* Gives [first, first + granules) back and joins it with free neighbours. It may be a part of what one take returned,
 * or several neighbouring takes at once. What lies outside of the space or visibly is free already is refused and
 * counted: spw_ranges_check() then fails. */
void spw_ranges_give(struct spw_ranges *ranges, uint32_t first, uint32_t granules);

/* What a take of `granules` would leave over of the range that it takes from (0: exact fit); -ENOMEM when it would fail. */
int64_t spw_ranges_leftover(const struct spw_ranges *ranges, uint32_t granules);

uint32_t spw_ranges_granules(const struct spw_ranges *ranges);
uint32_t spw_ranges_in_use(const struct spw_ranges *ranges);
uint32_t spw_ranges_in_use_peak(const struct spw_ranges *ranges);  /* the most that was in use at once */
uint32_t spw_ranges_reach(const struct spw_ranges *ranges);        /* one past the highest granule ever taken */
uint32_t spw_ranges_longest_free(const struct spw_ranges *ranges); /* looks at one class of free ranges */

/* For tests: walks everything. True when the bookkeeping agrees with itself and no give was refused. */
bool spw_ranges_check(const struct spw_ranges *ranges);
#endif
