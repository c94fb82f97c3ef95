/* lasting.h - keeps lasting addresses: those that something remembers from one call to the next, such as graphs, textures
 * and variables of modules.
 *
 * To whoever remembers them they are plain numbers. They outlive the allocation that lay there, and then mean the next one:
 * a graph may be launched again unchanged. So whatever is allocated there later has to be pinned too (pin.h).
 *
 * An address stands for the whole allocation that it lies in at the time, counted in granules. Engine lock. */
#ifndef SPILLWAY_SHIM_LASTING_H
#define SPILLWAY_SHIM_LASTING_H
#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ours.h"

struct spw_device;

/* Allocations may have to be pinned when they are made. Any thread reads it without a lock; it is true before the first of
 * them has to be. */
extern atomic_bool spw_lasting_any SPW_OURS;

/* An object lies at a lasting address and could not be pinned when that was found, because it was absent or needed. It is
 * pinned before the next graph is launched (pin.h). Written under the engine lock. */
extern atomic_bool spw_lasting_unpinned SPW_OURS;

/* Something remembers this address, which lies in an arena, for an unknown time. */
void spw_lasting_add_locked(CUdeviceptr address);

/* The first notes that a node of a graph was given this address. Such addresses last only once the second was called,
 * because a graph's addresses could not be read; then all of them last for good. */
void spw_lasting_add_of_node_locked(CUdeviceptr address);
void spw_lasting_nodes_last_locked(void);

/* The granules in which some addresses lie, for each device and in order. */
struct spw_lasting_span {
    struct spw_device *device;
    uint64_t first, end;
};
struct spw_lasting {
    struct spw_lasting_span *spans;
    size_t count;
};

/* The first makes these addresses last until the second is called; addresses outside all arenas are ignored. Returns 0, or
 * -ENOMEM; then nothing is held. */
int spw_lasting_hold_locked(const CUdeviceptr *addresses, size_t count, struct spw_lasting *ret);
void spw_lasting_let_go_locked(struct spw_lasting *held);

/* Return true if a lasting address lies in the live allocation that holds this address, or in the granules [first, end) of
 * a device. */
bool spw_lasting_in_locked(CUdeviceptr address);
bool spw_lasting_among_locked(const struct spw_device *d, uint64_t first, uint64_t end);
#endif
