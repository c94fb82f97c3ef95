/* identities.h - the driver's handles as small numbers that are never used twice. Recorder lock held throughout. */
#ifndef SPILLWAY_SHIM_IDENTITIES_H
#define SPILLWAY_SHIM_IDENTITIES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spw_identity;

struct spw_identities { /* one kind of handle; begins as zeroes */
    struct spw_identity *places;
    size_t room, count;
    uint32_t last;
};

/* The number of a handle; `owner` distinguishes handles that mean something else elsewhere, else 0. A new one when it is
 * met for the first time, *ret_new then. 0: no memory. */
uint32_t spw_identity_of(struct spw_identities *set, const void *handle, uint64_t owner, bool *ret_new);

/* As before, but 0 for one that has not been met. */
uint32_t spw_identity_find(const struct spw_identities *set, const void *handle, uint64_t owner);

/* The handle may come to mean something else: its next number is a new one. */
void spw_identity_gone(struct spw_identities *set, const void *handle, uint64_t owner);

void spw_identities_clear(struct spw_identities *set); /* all handles; numbers go on */
#endif
