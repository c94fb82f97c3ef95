/* lasting.h - addresses that something knows from one call to the next: graphs, textures, variables of modules.
 *
 * They are numbers to whoever knows them. They outlive the allocation that held them, and mean the one that lies there next:
 * a graph may be launched again as it is. So what is allocated there later has to be pinned too (pin.h).
 *
 * An address counts with all of the allocation that it lies in at the time, by granules. Engine lock. */
#ifndef SPILLWAY_SHIM_LASTING_H
#define SPILLWAY_SHIM_LASTING_H
#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ours.h"

struct spw_device;

/* Allocations may have to be pinned when they are made. Any thread, without a lock: true before the first of them has. */
extern atomic_bool spw_lasting_any SPW_OURS;

/* Something lies at an address that lasts, and was away or needed when that was found: it is pinned before the next graph is
 * launched (pin.h). Written with the engine lock. */
extern atomic_bool spw_lasting_unpinned SPW_OURS;

/* Something knows the address, which is in an arena, for good, as far as anybody tells. */
void spw_lasting_add_locked(CUdeviceptr address);

/* A node of a graph was told it. That lasts only once a graph's addresses could not be read: for good, from then on. */
void spw_lasting_add_of_node_locked(CUdeviceptr address);
void spw_lasting_nodes_last_locked(void);

/* What some addresses lie in: each device's granules, in order. */
struct spw_lasting_span {
    struct spw_device *device;
    uint64_t first, end;
};
struct spw_lasting {
    struct spw_lasting_span *spans;
    size_t count;
};

/* Something knows these addresses, those in no arena left out, until they are let go of. -ENOMEM: nothing is held. */
int spw_lasting_hold_locked(const CUdeviceptr *addresses, size_t count, struct spw_lasting *ret);
void spw_lasting_let_go_locked(struct spw_lasting *held);

/* True when something knows an address in the live allocation that holds this one; in granules [first, end) of a device. */
bool spw_lasting_in_locked(CUdeviceptr address);
bool spw_lasting_among_locked(const struct spw_device *d, uint64_t first, uint64_t end);
#endif
