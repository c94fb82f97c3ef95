/* pin.h - keeps allocations resident for good. */
#ifndef SPILLWAY_SHIM_PIN_H
#define SPILLWAY_SHIM_PIN_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* Makes the allocation that holds `address` resident, with its bytes in place for whatever is submitted to any stream
 * next, and keeps it so until it is freed. An address that no live allocation holds is ignored. `why` is static text
 * for people and completes "pinned because ...". No lock held. */
void spw_pin_address(CUdeviceptr address, const char *why);

/* The same for several that something knows together. Where they do not all fit, that is told of them all at once, and the
 * rest is left alone. */
void spw_pin_addresses(const CUdeviceptr *list, size_t count, const char *why);

/* The same for an address that something knows for longer than the allocation lives (lasting.h): what is allocated there
 * later is pinned as well. */
void spw_pin_lasting(CUdeviceptr address, const char *why);

/* The same for addresses that a node of a graph is told, which are read again once the graph is made executable; and, where
 * a graph cannot be read, for all that nodes were told so far and will be. */
void spw_pin_of_node(const CUdeviceptr *list, size_t count, const char *why);
void spw_pin_all_of_nodes(void);

/* The same where the driver does not look at what lies there, so that what has no room may wait until the graph is made
 * executable: that is refused then, and it is known what all of the graph takes. Nothing is said before, nor does it fail.
 */
void spw_pin_of_kernel_node(const CUdeviceptr *list, size_t count, const char *why);

/* Before a graph is launched: pins what lies where something knows an address and could not be pinned when that was found
 * (spw_lasting_unpinned). No lock held. */
void spw_pin_before_graph(void);

/* What was allocated at `address` just now is pinned where it has to be: it lies where something knows an address, or
 * everything is. 0, -ENOMEM or a failure of the driver: the program must not have it then. No lock held. */
int spw_pin_allocated(CUdeviceptr address);

/* The same for all that lives now and all that is allocated from now on. */
void spw_pin_everything(const char *why);

extern bool spw_pinning_everything; /* it was called */

/* The last pin of this thread that failed, a negative result: there is no room for it beside what is pinned already.
 * Who must know sets it to 0 before. */
extern _Thread_local int spw_pin_failure;

/* For a hook (hooks.h): pins, and then makes the driver's call, unless pinning failed. Nothing runs on missing memory. */
#define SPW_PIN_THEN(pin, symbol, args) \
    (spw_pin_failure = 0, (pin), spw_pin_failure < 0 ? CUDA_ERROR_OUT_OF_MEMORY : SPW_DRIVER(symbol, args))

/* Bytes that were ever pinned, and why the last of them were. Engine lock. */
uint64_t spw_pinned_bytes_locked(const char **ret_why);
#endif
