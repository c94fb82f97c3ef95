/* variables.h - finds the variables of a module that its kernels can write, together with those of its twin. The context of
 * both is current. */
#ifndef SPILLWAY_SHIM_VARIABLES_H
#define SPILLWAY_SHIM_VARIABLES_H
#include <cuda.h>

#include "globals.h"

#define SPW_VARIABLES_MAX_BYTES ((size_t)64 << 10) /* of one module */

struct spw_variables {
    uint32_t count, bytes;   /* number of pieces; bytes that saving them all takes, a multiple of 16 */
    bool may_hold_addresses; /* one of them is at least as large as an address */
    struct spw_variable_piece {
        CUdeviceptr original, twin;
        size_t bytes;
        uint32_t offset; /* in the saved bytes; congruent to the original modulo 16, so that addresses are aligned there */
    } pieces[];
};

/* Finds those variables in `names` that kernels may write and that exist, in the program's module or library `original` and
 * in `twin`. Returns NULL if *ret_variables has them; the caller frees it, and it is NULL if there are none. Otherwise
 * returns the reason why the module cannot have a twin, which completes "the state of a module is not known: ". */
const char *spw_variables_find(const struct spw_globals *names, bool is_library, void *original, void *twin,
                               struct spw_variables **ret_variables);
void spw_variables_free(struct spw_variables *v); /* NULL is fine */
#endif
