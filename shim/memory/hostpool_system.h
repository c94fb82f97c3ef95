/* hostpool_system.h - gives the host pool what it needs from the operating system: mappings, their placement, and how much
 * memory is left. */
#ifndef SPILLWAY_SHIM_HOSTPOOL_SYSTEM_H
#define SPILLWAY_SHIM_HOSTPOOL_SYSTEM_H
#include "hostpool.h"

/* The system's part of spw_host_ops. `ctx` points to a struct spw_host_system, or to a struct that begins with one. The
 * driver's part (pin, unpin, alloc_pinned, free_pinned) comes from the code that calls the driver. */
struct spw_host_system {
    int numa_node;   /* where slabs should lie; -1: anywhere */
    bool huge_pages; /* ask for transparent huge pages */
};

/* The first maps anonymous memory, untouched, and aligned to 2 MiB if it is at least that large. A forked child does not
 * inherit it, and it is not written into core files. */
void *spw_host_system_map(void *ctx, size_t bytes);
void spw_host_system_unmap(void *ctx, void *address, size_t bytes);
int64_t spw_host_system_available(void *ctx);

/* Asks that untouched pages of [address, address + bytes) come from `node`, or from elsewhere if the node is full. -1 asks
 * for nothing. Returns 0 or a negative errno. A kernel or sandbox without memory policies (ENOSYS, EPERM) counts as
 * success: it then places the pages as it likes. */
int spw_host_system_bind(void *address, size_t bytes, int node);
#endif
