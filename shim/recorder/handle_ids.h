/* handle_ids.h - gives the driver's handles small numbers that are never used twice. Recorder lock held throughout. */
#ifndef SPILLWAY_SHIM_HANDLE_IDS_H
#define SPILLWAY_SHIM_HANDLE_IDS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spw_handle_id;

struct spw_handle_ids { /* handles of one kind; starts as all zeroes */
    struct spw_handle_id *places;
    size_t room, count;
    uint32_t last;
};

/* Returns the number of a handle; `owner` tells handles apart that mean something else in another context or thread, else
 * 0. A handle that is met for the first time gets a new number, and *ret_new is set. 0: no memory. */
uint32_t spw_handle_id_of(struct spw_handle_ids *set, const void *handle, uint64_t owner, bool *ret_new);

/* The same, but returns 0 for a handle that has not been met. */
uint32_t spw_handle_id_find(const struct spw_handle_ids *set, const void *handle, uint64_t owner);

/* Call when the handle may come to mean something else: its next number is a new one. */
void spw_handle_id_gone(struct spw_handle_ids *set, const void *handle, uint64_t owner);

void spw_handle_ids_clear(struct spw_handle_ids *set); /* forgets all handles; numbers go on */
#endif
