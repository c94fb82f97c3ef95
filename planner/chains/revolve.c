/* revolve.c - binomial checkpointing: computes its numbers in closed form, and the actions one by one.
 *
 * Griewank and Walther, "Algorithm 799: Revolve", ACM TOMS 26 (2000). With beta(c, r) = C(c + r, c) and r the least
 * number with n <= beta(c, r), the optimum is P(n, c) = r n - beta(c + 1, r - 1). Guaranteed to be the least number of
 * advances. */
#include "chains/revolve.h"

#include <errno.h>
#include <stdlib.h>

#include "grow.h"

typedef unsigned __int128 wide;

uint64_t spw_revolve_longest(uint64_t slots, uint64_t repetitions)
{
    const uint64_t few = slots < repetitions ? slots : repetitions;
    const wide many = slots < repetitions ? repetitions : slots;
    uint64_t product = 1; /* C(many + i, i): exact in every iteration, and ascending */
    for (uint64_t i = 1; i <= few; i++) {
        const wide next = (wide)product * (many + i) / i;
        if (next >= UINT64_MAX)
            return UINT64_MAX;
        product = (uint64_t)next;
    }
    return product;
}

uint64_t spw_revolve_repetitions(uint64_t steps, uint64_t slots)
{
    uint64_t low = 0, high = 1; /* beta(c, low - 1) < steps <= beta(c, high) at the end of the first loop */
    while (spw_revolve_longest(slots, high) < steps) {
        low = high + 1;
        high = high > UINT64_MAX / 2 ? UINT64_MAX : 2 * high;
    }
    if (steps <= 1)
        return 0;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (spw_revolve_longest(slots, middle) < steps)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int spw_revolve_advances(uint64_t steps, uint64_t slots, uint64_t *ret_advances)
{
    const uint64_t r = spw_revolve_repetitions(steps, slots);
    if (r == 0) {
        *ret_advances = 0;
        return 0;
    }
    /* r n - C(c + r, c + 1), where C(c + r, c + 1) = C(c + r - 1, c) (c + r) / (c + 1), and the factor before the fraction
     * is less than n */
    const wide shorter = spw_revolve_longest(slots, r - 1);
    const wide sum = (wide)slots + r, divisor = (wide)slots + 1;
    const wide whole = shorter / divisor, rest = shorter % divisor;
    const wide all = (wide)r * steps - (whole * sum + rest * sum / divisor);
    if (all > UINT64_MAX)
        return -ERANGE;
    *ret_advances = (uint64_t)all;
    return 0;
}

/* Any split with beta(c, r-2) <= head <= beta(c, r-1) and beta(c-1, r-1) <= tail <= beta(c-1, r) is optimal. The paper's
 * rule is equivalent to this: the tail is beta(c-1, r-1) + beta(c-2, r-1), or as near to it as the head's bounds permit.
 * A longer tail would store more often, a shorter one would leave slots unused. */
uint64_t spw_revolve_split(uint64_t steps, uint64_t slots)
{
    if (slots == 1)
        return steps - 1;
    const uint64_t r = spw_revolve_repetitions(steps, slots);
    const uint64_t shortest = r >= 2 ? spw_revolve_longest(slots, r - 2) : 1, longest = spw_revolve_longest(slots, r - 1);
    const uint64_t rest = steps - spw_revolve_longest(slots - 1, r - 1); /* at least 1: steps > beta(c, r-1) */
    const uint64_t more = spw_revolve_longest(slots - 2, r - 1);
    if (rest <= more || rest - more < shortest)
        return shortest;
    return rest - more < longest ? rest - more : longest;
}

void spw_revolve_init(struct spw_revolve *revolve, uint64_t steps, uint64_t slots)
{
    *revolve = (struct spw_revolve){.slots = slots, .end = steps};
}

void spw_revolve_finish(struct spw_revolve *revolve)
{
    free(revolve->stored);
    *revolve = (struct spw_revolve){0};
}

static int push(struct spw_revolve *revolve)
{
    if (SPW_GROW(revolve->stored, revolve->room, revolve->stored_count + 1) < 0)
        return -ENOMEM;
    revolve->stored[revolve->stored_count++] = revolve->work;
    return 0;
}

int spw_revolve_next(struct spw_revolve *revolve, struct spw_reversal_action *ret_action)
{
    const uint64_t top = revolve->stored_count - 1; /* used only if there is one */
    if (revolve->stored_count && revolve->stored[top] >= revolve->end) {
        *ret_action = (struct spw_reversal_action){SPW_ACTION_DISCARD, 0, top, revolve->stored[top], 0};
        revolve->stored_count--;
        return 1;
    }
    if (revolve->begin == revolve->end)
        return 0;
    if (revolve->work >= revolve->end && revolve->stored_count) {
        revolve->work = revolve->stored[top];
        *ret_action = (struct spw_reversal_action){SPW_ACTION_RESTORE, 0, top, revolve->work, 0};
        return 1;
    }
    const uint64_t left = revolve->end - revolve->work;
    if (left == 1) {
        *ret_action = (struct spw_reversal_action){SPW_ACTION_REVERSE, 0, 0, revolve->work, 0};
        revolve->end--;
        return 1;
    }
    const uint64_t state = revolve->work;
    if (revolve->stored_count == 0 || revolve->stored[top] != state) {
        if (revolve->stored_count < revolve->slots) {
            if (push(revolve) < 0)
                return -ENOMEM;
            *ret_action = (struct spw_reversal_action){SPW_ACTION_STORE, 0, revolve->stored_count - 1, state, 0};
            return 1;
        }
        revolve->work = revolve->end - 1; /* no slot is left for it */
    } else {
        revolve->work += spw_revolve_split(left, revolve->slots - top);
    }
    *ret_action = (struct spw_reversal_action){SPW_ACTION_ADVANCE, 0, 0, state, revolve->work};
    return 1;
}

int spw_revolve_append(struct spw_reversal *reversal, uint64_t first, uint64_t steps, uint64_t slots)
{
    struct spw_revolve revolve;
    struct spw_reversal_action action;
    int r;
    spw_revolve_init(&revolve, steps, slots);
    while ((r = spw_revolve_next(&revolve, &action)) > 0) {
        action.state += first;
        action.to += first;
        r = spw_reversal_add(reversal, &action);
        if (r < 0)
            break;
    }
    spw_revolve_finish(&revolve);
    return r;
}
