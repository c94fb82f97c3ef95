/* pin.h - keeps allocations resident for ever. */
#ifndef SPILLWAY_SHIM_PIN_H
#define SPILLWAY_SHIM_PIN_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* Makes the allocation that holds `address` resident, with its bytes in place for whatever is submitted to any stream next,
 * and keeps it resident until it is freed. Ignores an address that no live allocation holds. `why` is static text for
 * people and completes "pinned because ...". A failure is left in spw_pin_failure. Call with no lock held. */
void spw_pin_address(CUdeviceptr address, const char *why);

/* The same for several addresses that something knows together. If they do not all fit, one message tells the size of them
 * all, and the rest is not pinned. */
void spw_pin_addresses(const CUdeviceptr *list, size_t count, const char *why);

/* The same for an address that something knows for longer than the allocation lives (lasting.h): what is allocated there
 * later is pinned as well. */
void spw_pin_lasting(CUdeviceptr address, const char *why);

/* The same for addresses that a graph node was given; they are read again once the graph is made executable. The second,
 * for when a graph cannot be read, does so for all addresses that nodes were given so far and will be. */
void spw_pin_of_node(const CUdeviceptr *list, size_t count, const char *why);
void spw_pin_all_of_nodes(void);

/* The same for a kernel node, when the driver does not look at the memory itself. What has no room may wait until the graph
 * is made executable: that is refused then, when the size of the whole graph is known. Until then nothing is logged, and
 * spw_pin_failure is left alone. */
void spw_pin_of_kernel_node(const CUdeviceptr *list, size_t count, const char *why);

/* Call before a graph is launched: pins what could not be pinned when it was found that something knows its address
 * (spw_lasting_unpinned). Call with no lock held. */
void spw_pin_before_graph(void);

/* Pins what was just allocated at `address` if something knows that address from before, or everything is pinned. Returns
 * 0, -ENOMEM or a failure of the driver; then the program must not get the allocation. Call with no lock held. */
int spw_pin_allocated(CUdeviceptr address);

/* Pins everything that is allocated now and from now on. */
void spw_pin_everything(const char *why);

extern bool spw_pinning_everything; /* spw_pin_everything() was called */

/* The negative result of this thread's last pin that failed: there is no room beside what is pinned already. A caller that
 * has to know sets it to 0 before it pins. */
extern _Thread_local int spw_pin_failure;

/* For a hook (hooks.h): pins, and then makes the driver call unless pinning failed, since nothing may run on missing
 * memory. */
#define SPW_PIN_THEN(pin, symbol, args) \
    (spw_pin_failure = 0, (pin), spw_pin_failure < 0 ? CUDA_ERROR_OUT_OF_MEMORY : SPW_DRIVER(symbol, args))

/* Returns the bytes that are pinned, and stores the reason of the last pin in *ret_why. Engine lock. */
uint64_t spw_pinned_bytes_locked(const char **ret_why);
#endif
