/* ranges.h - finds free ranges in a space counted in granules: they are taken and given back in constant time. */
#ifndef SPILLWAY_SHIM_RANGES_H
#define SPILLWAY_SHIM_RANGES_H
#include <stdbool.h>
#include <stdint.h>

/* This hands out numbers, not memory: the caller decides what a granule is (2 MiB of an arena, 4 KiB of a slab), and
 * nothing is ever written into the space itself. The bookkeeping takes 16 bytes per granule of the space, of which only the
 * pages that hold borders of free ranges are ever touched.
 *
 * It has no lock; the caller's lock guards it. */
struct spw_ranges;

#define SPW_RANGES_MAX_GRANULES (UINT32_C(1) << 30)

/* Creates a space whose granules [0, granules) are all free. Returns 0; -EINVAL for none, or more than the maximum; or
 * -ENOMEM. */
int spw_ranges_create(uint32_t granules, struct spw_ranges **ret_ranges);
void spw_ranges_destroy(struct spw_ranges *ranges); /* NULL has no effect */

/* Takes `granules` neighbours from a free range that fits closely, preferring low addresses among equals. Returns 0;
 * -ENOMEM if no free range is long enough; or -EINVAL for 0 granules. */
int spw_ranges_take(struct spw_ranges *ranges, uint32_t granules, uint32_t *ret_first);

/* Gives back [first, first + granules) and joins it with free neighbours. It may be a part of what one take returned, or
 * several neighbouring takes at once. A part outside the space, or one that is visibly free already, is refused and
 * counted; then spw_ranges_check() fails. */
void spw_ranges_give(struct spw_ranges *ranges, uint32_t first, uint32_t granules);

/* Returns how much a take of `granules` would leave of the range that it takes from (0: exact fit), or -ENOMEM if it would
 * fail. */
int64_t spw_ranges_leftover(const struct spw_ranges *ranges, uint32_t granules);

uint32_t spw_ranges_granules(const struct spw_ranges *ranges);
uint32_t spw_ranges_in_use(const struct spw_ranges *ranges);
uint32_t spw_ranges_in_use_peak(const struct spw_ranges *ranges);  /* the most that was in use at once */
uint32_t spw_ranges_reach(const struct spw_ranges *ranges);        /* one past the highest granule ever taken */
uint32_t spw_ranges_longest_free(const struct spw_ranges *ranges); /* searches one class of free ranges */

/* For tests: checks everything. Returns true if the bookkeeping is consistent and no give was refused. */
bool spw_ranges_check(const struct spw_ranges *ranges);
#endif
