/* hostpool_system.h - what the host pool asks of the operating system: mappings, where they lie, how much is left. */
#ifndef SPILLWAY_SHIM_HOSTPOOL_SYSTEM_H
#define SPILLWAY_SHIM_HOSTPOOL_SYSTEM_H
#include "hostpool.h"

/* The system's side of spw_host_ops. `ctx` points to a struct spw_host_system, or to a struct that
 * begins with one. The driver's side (pin, unpin, alloc_pinned, free_pinned) is supplied by whoever calls the driver. */
struct spw_host_system {
    int numa_node;   /* where slabs should lie, -1: anywhere */
    bool huge_pages; /* ask for transparent huge pages */
};

/* Anonymous memory, not yet touched, aligned to 2 MiB from that size on; a forked child doesn't inherit it, and it isn't
 * written into core files. */
void *spw_host_system_map(void *ctx, size_t bytes);
void spw_host_system_unmap(void *ctx, void *address, size_t bytes);
int64_t spw_host_system_available(void *ctx);

/* Asks that untouched pages of [address, address + bytes) come from `node`, from elsewhere when the node is full. -1 asks
 * for nothing. A kernel or sandbox without memory policies (ENOSYS, EPERM) counts as done: placement is then its own. */
int spw_host_system_bind(void *address, size_t bytes, int node);
#endif
