/* kernel_profile.h - the profile of this process (profile.h): what earlier runs have learned of the kernels that it
 * launches, and what it learns itself for the next.
 *
 * Read when something is asked of it for the first time, which is once memory was short. Written when a course has been
 * learned, and at the end of the process where something was learned since. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_KERNEL_PROFILE_H
#define SPILLWAY_SHIM_KERNEL_PROFILE_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "ours.h"
#include "profile.h"

/* Earlier runs have left something. */
bool spw_kernel_profile_is_there_locked(void);

/* What is known of launches of the function whose addresses are at such places (launch_class.h). NULL: nothing, or the
 * function's image is not known. Good until the engine lock is let go of. */
const struct spw_profile_class *spw_kernel_profile_find_locked(CUfunction function, uint64_t places, unsigned hits);

/* Something was learned of them: all of `class` but its key. */
void spw_kernel_profile_note_locked(CUfunction function, uint64_t places, unsigned hits, struct spw_profile_class *class);

/* A number for the function that is the same in every process which loads it from the same image; where that is not known,
 * or no profile is kept, one for this process. */
uint64_t spw_kernel_profile_number_locked(CUfunction function);
void spw_kernel_profile_sweep_locked(void); /* modules are gone, and their functions' handles may mean others */

/* The iterations that earlier runs, and this one, have left; NULL: none is kept. Good until the engine lock is let go of. */
const struct spw_profile_iterations *spw_kernel_profile_iterations_locked(void);
void spw_kernel_profile_note_iteration_locked(const struct spw_profile_iteration *iteration);

/* Writes it, if it knows more than when it was written last. The lock is let go of meanwhile; what is kept in files has no
 * say in what the program does, so a failure is told once. */
void spw_kernel_profile_write_unlocking(void);

struct spw_kernel_profile_counts {
    uint64_t read;    /* classes that were there at the beginning */
    uint64_t used;    /* classes of this process of which something was known */
    uint64_t written; /* times */
};
extern struct spw_kernel_profile_counts spw_kernel_profile_counts SPW_OURS;

void spw_kernel_profile_reset(void); /* for tests */
#endif
