/* module_variables.h - a list of the variables of a module that the program has asked for by name.
 *
 * Copies and sets of the program to these variables are repeated in the twin (twins.h). The caller holds the engine lock
 * throughout. */
#ifndef SPILLWAY_SHIM_MODULE_VARIABLES_H
#define SPILLWAY_SHIM_MODULE_VARIABLES_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

struct spw_stream;

struct spw_module_variable {
    char *name;
    CUcontext context; /* the context in which the variable has that address */
    CUdeviceptr address;
    size_t bytes;
    bool is_written;       /* by a copy or set of the program */
    bool is_being_written; /* by a copy or set that the driver has not returned from */
    struct spw_module_variable *next;
};

/* Adds a variable. Returns 0 or -ENOMEM. */
int spw_module_variables_add(struct spw_module_variable **list, const char *name, CUcontext context, CUdeviceptr address,
                             size_t bytes);

/* Returns the variable that begins at the address, or NULL. */
struct spw_module_variable *spw_module_variables_find(struct spw_module_variable *list, CUdeviceptr address);

/* Frees the variables of a context; with NULL, all. */
void spw_module_variables_free(struct spw_module_variable **list, const CUcontext *of);

static inline bool spw_module_variable_overlaps(const struct spw_module_variable *v, CUdeviceptr address, size_t bytes)
{
    return address < v->address + v->bytes && address + bytes > v->address;
}

/* The first is called before the program copies to or sets memory; it marks the variables that are concerned, and returns
 * true if there is any. The second is called when all such calls have returned: then no variable is being written. */
bool spw_module_variables_write(struct spw_module_variable *list, CUdeviceptr address, size_t bytes);
void spw_module_variables_written(struct spw_module_variable *list);
/* Returns true if a variable is being written; with `or_written`, also if one was written before. */
bool spw_module_variables_being_written(const struct spw_module_variable *list, bool or_written);

/* Copies the written variables of the context to those of the same names in another load of the module or library, in the
 * order of the stream. Returns 0, -ESTALE if a variable has another size there, or a failure of the driver. */
int spw_module_variables_copy(const struct spw_module_variable *list, CUcontext context, void *handle, bool is_library,
                              const struct spw_stream *s);

/* Returns true if a word of this host memory is an address of ours. */
bool spw_holds_addresses(const void *from, size_t bytes);

/* Returns true if the host memory is known to the driver (page-locked): a copy may read it after the program has changed
 * it. */
bool spw_may_change_yet(const void *from);
#endif
