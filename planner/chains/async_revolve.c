/* async_revolve.c - computes the figures of asynchronous checkpointing in closed form, and its actions.
 *
 * Kukreja, Hueckelheim and Gorman, arXiv 1806.01117 (2018). With I = ceil(store / forward) a copy is complete before the
 * next one begins. An interval of m steps takes R = P(m, slots) forward + m backward; if the load of the state before it
 * takes longer, the computation waits for the rest. No optimality is claimed: waiting a little for a store can save a
 * re-run. */
#include "chains/async_revolve.h"

#include <errno.h>
#include <math.h>

#include "chains/revolve.h"

static uint64_t interval_of(const struct spw_async_chain *chain)
{
    const double interval = ceil(chain->store / chain->forward);
    if (interval <= 1)
        return 1;
    return interval < 0x1p63 ? (uint64_t)interval : UINT64_MAX;
}

static int reversal_time(const struct spw_async_chain *chain, uint64_t steps, double *ret_time)
{
    uint64_t advances;
    const int r = spw_revolve_advances(steps, chain->slots, &advances);
    if (r == 0)
        *ret_time = (double)advances * chain->forward + (double)steps * chain->backward;
    return r;
}

int spw_async_revolve(const struct spw_async_chain *chain, struct spw_async_figures *ret_figures)
{
    const uint64_t interval = interval_of(chain);
    const uint64_t full = (chain->steps - 1) / interval; /* intervals before the last */
    const uint64_t last = chain->steps - full * interval;
    double whole_time = 0, last_time = 0, revolve_total = 0;
    int r = full > 0 ? reversal_time(chain, interval, &whole_time) : 0;
    if (r == 0)
        r = reversal_time(chain, last, &last_time);
    if (r == 0)
        r = reversal_time(chain, chain->steps, &revolve_total);
    if (r < 0)
        return r;

    double stall = 0;
    if (full > 0)
        stall = fmax(0, chain->load - last_time) + (double)(full - 1) * fmax(0, chain->load - whole_time);
    *ret_figures = (struct spw_async_figures){
        .interval = interval,
        .intervals = full + 1,
        .stall = stall,
        .total = chain->forward * (double)(full * interval) + (double)full * whole_time + last_time + stall,
        .revolve_total = revolve_total,
    };
    return 0;
}

static int fetch(struct spw_reversal *reversal, uint64_t slot, uint64_t interval)
{
    return spw_reversal_add(reversal, &(struct spw_reversal_action){SPW_ACTION_FETCH, 1, slot, slot * interval, 0});
}

/* Appends the actions of interval `index`, which begins with its initial state in the work buffer. */
static int append_interval(const struct spw_async_chain *chain, uint64_t index, uint64_t interval,
                           struct spw_reversal *reversal)
{
    const uint64_t first = index * interval;
    const uint64_t left = chain->steps - first, steps = left < interval ? left : interval;
    const int r = index > 0 ? fetch(reversal, index - 1, interval) : 0;
    return r == 0 ? spw_revolve_append(reversal, first, steps, chain->slots) : r;
}

int spw_async_revolve_append(const struct spw_async_chain *chain, struct spw_reversal *reversal)
{
    const uint64_t interval = interval_of(chain);
    const uint64_t full = (chain->steps - 1) / interval;
    int r = 0;
    for (uint64_t i = 0; i < full && r == 0; i++) {
        const struct spw_reversal_action both[] = {{SPW_ACTION_STORE, 1, i, i * interval, 0},
                                                   {SPW_ACTION_ADVANCE, 0, 0, i * interval, (i + 1) * interval}};
        r = spw_reversal_add(reversal, &both[0]);
        if (r == 0)
            r = spw_reversal_add(reversal, &both[1]);
    }
    if (r == 0)
        r = append_interval(chain, full, interval, reversal);
    for (uint64_t i = full; i-- > 0 && r == 0;) {
        const struct spw_reversal_action both[] = {{SPW_ACTION_RESTORE, 1, i, i * interval, 0},
                                                   {SPW_ACTION_DISCARD, 1, i, i * interval, 0}};
        r = spw_reversal_add(reversal, &both[0]);
        if (r == 0)
            r = spw_reversal_add(reversal, &both[1]);
        if (r == 0)
            r = append_interval(chain, i, interval, reversal);
    }
    return r;
}
