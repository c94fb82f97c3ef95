/* variables.h - the variables of a module that its kernels can write, beside those of its twin. The context of both is
 * current. */
#ifndef SPILLWAY_SHIM_VARIABLES_H
#define SPILLWAY_SHIM_VARIABLES_H
#include <cuda.h>

#include "globals.h"

#define SPW_VARIABLES_MAX_BYTES ((size_t)64 << 10) /* of one module */

struct spw_variables {
    uint32_t count, bytes;   /* of pieces; that saving them all takes, a multiple of 16 */
    bool may_hold_addresses; /* one of them is as large as an address at least */
    struct spw_variable_piece {
        CUdeviceptr original, twin;
        size_t bytes;
        uint32_t offset; /* in what is saved; a multiple of 16 away from the original, so that addresses are aligned there */
    } pieces[];
};

/* Those of `names` that kernels may write and that there are, in the program's module or library `original` and in `twin`.
 * NULL: *ret_variables are the caller's, NULL where there are none. Else why the module cannot have a twin; completes "the
 * state of a module is not known: ". */
const char *spw_variables_find(const struct spw_globals *names, bool is_library, void *original, void *twin,
                               struct spw_variables **ret_variables);
void spw_variables_free(struct spw_variables *v); /* NULL is fine */
#endif
