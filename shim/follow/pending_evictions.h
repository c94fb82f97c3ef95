/* pending_evictions.h - lists evictions and write-backs of a plan that could not begin at their place: the copy would keep
 * other copies behind a gate (streams.h), another thread is submitting work on the tensor, or it is being searched for
 * addresses. They are tried again until the tensor is used, or the plan has another action for it.
 *
 * Engine lock throughout. */
#ifndef SPILLWAY_SHIM_PENDING_EVICTIONS_H
#define SPILLWAY_SHIM_PENDING_EVICTIONS_H
#include <stdbool.h>
#include <stdint.h>

struct spw_pending_eviction {
    uint32_t tensor; /* number in the course */
    uint32_t kind;   /* enum spw_step_kind: SPW_STEP_D2H or SPW_STEP_DROP */
    uint64_t tick;   /* of the tensor's last use: after another use it is not tried again */
};

struct spw_pending_evictions {
    struct spw_pending_eviction *list; /* oldest first */
    uint32_t count, room;
};

/* Adds an eviction that could not begin. Without memory for it, it is not tried again. */
void spw_pending_evictions_add(struct spw_pending_evictions *p, struct spw_pending_eviction what);

/* Call when the plan has another action for the tensor. */
void spw_pending_evictions_forget(struct spw_pending_evictions *p, uint32_t tensor);

/* Takes the oldest. Returns false if none is pending. */
bool spw_pending_evictions_take(struct spw_pending_evictions *p, struct spw_pending_eviction *ret_what);

void spw_pending_evictions_clear(struct spw_pending_evictions *p); /* releases all memory */
#endif
