/* access.h - what the files that find out about accesses (layout, scan, tensormap, tables, hooks_module, hooks_graph) ask
 * of the engine, which defines all of it.
 *
 * From a launch to the allocations that it may touch:
 *
 *     const struct spw_layout *layout = spw_layout_of(f);
 *     int n = spw_scan_launch(layout, params, extra, low, high, hits, SPW_SCAN_ROOM, NULL);
 *     if (n >= 0 && spw_pointer_tables_any())
 *         n = spw_pointer_tables_reach(hits, n, SPW_SCAN_ROOM, meet, context);
 *     if (n < 0)
 *         everything may be touched;
 *
 * A hit is an address inside the arena, interior ones included; the same one may come several times, in no particular
 * order. It may point at nothing that lives: a number that happened to look like an address. */
#ifndef SPILLWAY_SHIM_ACCESS_H
#define SPILLWAY_SHIM_ACCESS_H
#include <cuda.h>
#include <stdbool.h>

#include "arena.h"

/* Makes the allocation that holds `address` resident, with its bytes in place for whatever is submitted to any stream
 * next, and keeps it so until it is freed. An address that no live allocation holds is ignored. `why` is static text
 * for people and completes "pinned because ...". No lock held. */
void spw_pin_address(CUdeviceptr address, const char *why);

/* The same for all that lives now and all that is allocated from now on. */
void spw_pin_everything(const char *why);

/* Before something that may change the outcome of any operation without any of them showing it: variables of modules are
 * written, a module is unloaded, functions are told how to run. What can then not be recomputed any more
 * is recomputed before (versions.h). Negative: that could not be done, and the call that it is about must not be made. No
 * lock held. */
int spw_versions_break(void);

/* The last pin of this thread that failed, a negative result: there is no room for it beside what is pinned already.
 * Who must know sets it to 0 before. */
extern _Thread_local int spw_pin_failure;

/* For a hook (hooks.h): pins, and then makes the driver's call, unless pinning failed. Nothing runs on missing memory. */
#define SPW_PIN_THEN(pin, symbol, args) \
    (spw_pin_failure = 0, (pin), spw_pin_failure < 0 ? CUDA_ERROR_OUT_OF_MEMORY : SPW_DRIVER(symbol, args))
#endif
