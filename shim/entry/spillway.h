/* spillway.h - functions by which a program that knows of spillway can ask and tell it something. No program has to.
 *
 * libspillway.so is not linked but preloaded (`spillway run`), so every function is declared weak: its address is NULL if
 * the library is not there. spillway_is_there() checks that; the other functions may be called only if it returns 1.
 *
 *     if (spillway_is_there() && spillway_active())
 *         (void)spillway_set_budget(0, 4ull << 30, NULL);
 *
 * The names in the library end in _v1. A function that changes its meaning gets another number, and this one stays.
 *
 * Results: 0 or what the function says; else a negative errno value, and nothing was changed:
 *
 * - -EAGAIN: CUDA has not started in this process, or spillway is off or passive in it (mode off or trace, a forked child)
 * - -EINVAL: an argument makes no sense
 * - -ENODEV: nothing was allocated on the device yet
 * - others as each function says
 *
 * `device` is the ordinal that the device has in this process, which CUDA_VISIBLE_DEVICES decides, from 0 on. Any thread
 * may call any function at any time, but not from a callback of CUDA. */
#ifndef SPILLWAY_H
#define SPILLWAY_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef SPILLWAY_CALL /* the library itself defines this differently */
#define SPILLWAY_CALL    __attribute__((weak))
#define SPILLWAY_IS_WEAK 1
#endif

#define spillway_version      spillway_version_v1
#define spillway_active       spillway_active_v1
#define spillway_get_budget   spillway_get_budget_v1
#define spillway_set_budget   spillway_set_budget_v1
#define spillway_parse_amount spillway_parse_amount_v1
#define spillway_step         spillway_step_v1
#define spillway_report       spillway_report_v1
#define spillway_name         spillway_name_v1

/* Returns the library's version, "0.1.0". The text is static. */
SPILLWAY_CALL const char *spillway_version(void);

/* Returns 1 if CUDA has started and device memory is kept within a budget; 0 if not, or not yet. */
SPILLWAY_CALL int spillway_active(void);

/* Stores in *ret_bytes the device memory in bytes that the process may have on the device: as it was set, or lowered since
 * by what the device turned out to lack. -ENODEV as above. */
SPILLWAY_CALL int spillway_get_budget(int device, uint64_t *ret_bytes);

/* Sets the budget of the device to `bytes`, or to all that the device has if that is less. If the budget is lowered,
 * tensors have been evicted and memory was given back to the driver when the function returns, which may take as long as
 * copying them does. The plan is made anew. On a device on which nothing was allocated yet, the budget applies from the
 * first allocation. -EINVAL: 0 bytes. -ENOMEM: more than that cannot leave the device now, or is needed at once by one
 * tensor together with what cannot move; the smallest budget that would do is then in *ret_smallest_bytes (which may be
 * NULL). */
SPILLWAY_CALL int spillway_set_budget(int device, uint64_t bytes, uint64_t *ret_smallest_bytes);

/* Stores in *ret_bytes an amount of memory that is written as for SPILLWAY_BUDGET: "8589934592", "8GiB", "8G", "60%"; a
 * percentage is a share of the device's memory. -EINVAL: it is not understood; -ENODEV: a share of a device of which
 * nothing is known yet. This is the only function that does not return -EAGAIN, if the amount is in bytes. */
SPILLWAY_CALL int spillway_parse_amount(const char *text, int device, uint64_t *ret_bytes);

/* Tells that an iteration begins: what follows belongs to it. Optional: spares guessing where iterations end, in a run
 * within a budget and in a trace. Returns 0, also in mode trace. */
SPILLWAY_CALL int spillway_step(void);

/* Writes the summary up to now as JSON (spillway-summary/1; SPILLWAY_SUMMARY writes the same at the end), with a
 * terminating 0, as far as it fits into `size` bytes. Returns its length in bytes without the 0, so a length of `size` or
 * more means that it did not fit; `buffer` may be NULL if `size` is 0. -ENOMEM: no memory for it. */
SPILLWAY_CALL long spillway_report(char *buffer, size_t size);

/* Gives the allocation that holds the address a name of up to 63 bytes; longer names are cut. The report then shows its
 * bytes and where they are. The name is forgotten when the allocation is freed; "" forgets it at once. -ENOENT: the address
 * lies in no allocation that spillway keeps; -ENOSPC: 4096 allocations have names already; -ENOMEM. */
SPILLWAY_CALL int spillway_name(uint64_t address, const char *name);

#ifdef SPILLWAY_IS_WEAK
/* Returns 1 if the library is preloaded, so that all of the above can be called. */
static inline int spillway_is_there(void)
{
    return spillway_name != 0;
}
#endif

#ifdef __cplusplus
}
#endif
#endif
