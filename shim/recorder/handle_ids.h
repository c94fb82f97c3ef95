/* handle_ids.h - the driver's handles as small numbers that are never used twice. Recorder lock held throughout. */
#ifndef SPILLWAY_SHIM_HANDLE_IDS_H
#define SPILLWAY_SHIM_HANDLE_IDS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spw_handle_id;

struct spw_handle_ids { /* one kind of handle; begins as zeroes */
    struct spw_handle_id *places;
    size_t room, count;
    uint32_t last;
};

/* The number of a handle; `owner` distinguishes handles that mean something else elsewhere, else 0. A new one when it is
 * met for the first time, *ret_new then. 0: no memory. */
uint32_t spw_handle_id_of(struct spw_handle_ids *set, const void *handle, uint64_t owner, bool *ret_new);

/* As before, but 0 for one that has not been met. */
uint32_t spw_handle_id_find(const struct spw_handle_ids *set, const void *handle, uint64_t owner);

/* The handle may come to mean something else: its next number is a new one. */
void spw_handle_id_gone(struct spw_handle_ids *set, const void *handle, uint64_t owner);

void spw_handle_ids_clear(struct spw_handle_ids *set); /* all handles; numbers go on */
#endif
