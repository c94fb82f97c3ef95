/* kernel_profile.h - the profile of this process (profile.h): what earlier runs have learned about the kernels that it
 * launches, and what it learns itself for the next run.
 *
 * The file is read at the first question, which comes once memory was short. It is written when a course has been learned,
 * and at the end of the process if something was learned since. The caller holds the engine lock throughout. */
#ifndef SPILLWAY_SHIM_KERNEL_PROFILE_H
#define SPILLWAY_SHIM_KERNEL_PROFILE_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "ours.h"
#include "profile.h"

/* Returns true if earlier runs have left knowledge of any class. */
bool spw_kernel_profile_is_there_locked(void);

/* Returns what is known about launches of the function with addresses at these places (launch_class.h), or NULL if there is
 * nothing or the function's image is not known. The result is valid until the engine lock is released. */
const struct spw_profile_class *spw_kernel_profile_find_locked(CUfunction function, uint64_t places, unsigned hits);

/* Puts into the profile what was learned about that class: all fields of `class` but its key, which this fills in. */
void spw_kernel_profile_note_locked(CUfunction function, uint64_t places, unsigned hits, struct spw_profile_class *class);

/* Returns a number for the function. It is the same in every process that loads the function from the same image; where the
 * image is not known or no profile is kept, it holds for this process only. */
uint64_t spw_kernel_profile_number_locked(CUfunction function);
void spw_kernel_profile_sweep_locked(void); /* forgets the numbers, since modules are gone and handles may be reused */

/* Returns the iterations that earlier runs and this one have left, or NULL if no profile is kept. Valid until the engine
 * lock is released. */
const struct spw_profile_iterations *spw_kernel_profile_iterations_locked(void);
void spw_kernel_profile_note_iteration_locked(const struct spw_profile_iteration *iteration);

/* Writes the profile if it has changed since it was last written. Releases the lock meanwhile. A failure is only warned of,
 * once: the program must not depend on the file. */
void spw_kernel_profile_write_unlocking(void);

struct spw_kernel_profile_counts {
    uint64_t read;    /* classes in the file at the beginning */
    uint64_t used;    /* classes of this process of which the profile knew something */
    uint64_t written; /* how often the file was written */
};
extern struct spw_kernel_profile_counts spw_kernel_profile_counts SPW_OURS;

void spw_kernel_profile_reset(void); /* for tests */
#endif
