/* fake-versions.h - a range of arenas, and versions that only note when operations are about to do something else. */
#ifndef SPILLWAY_TESTS_FAKE_VERSIONS_H
#define SPILLWAY_TESTS_FAKE_VERSIONS_H
#include "arena.h"
#include "versions.h"

#define LOW  UINT64_C(0x700000000000)
#define HIGH UINT64_C(0x700100000000)

CUdeviceptr spw_arena_low = LOW, spw_arena_high = HIGH;

static unsigned breaks;   /* times that something was about to change what operations do */
static int break_failure; /* negative: what depends on that cannot be recomputed */

int spw_versions_break(void)
{
    breaks++;
    return break_failure;
}

int spw_versions_break_for(CUdeviceptr address)
{
    return address < LOW || address >= HIGH ? spw_versions_break() : 0;
}

static unsigned unseen_orders; /* times that streams were about to be ordered by what nobody sees */

int spw_versions_order_is_unseen(void)
{
    unseen_orders++;
    return break_failure;
}
#endif
