/* module_variables.h - the variables of a module that the program has asked for by name, in a list.
 *
 * What the program writes to them is written to those of the twin as well (twins.h). Engine lock throughout. */
#ifndef SPILLWAY_SHIM_MODULE_VARIABLES_H
#define SPILLWAY_SHIM_MODULE_VARIABLES_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

struct spw_stream;

struct spw_module_variable {
    char *name;
    CUcontext context; /* where it has that address */
    CUdeviceptr address;
    size_t bytes;
    bool is_written;       /* by copies or sets of the program's */
    bool is_being_written; /* by one that the driver has not answered yet */
    struct spw_module_variable *next;
};

/* 0 or -ENOMEM. */
int spw_module_variables_add(struct spw_module_variable **list, const char *name, CUcontext context, CUdeviceptr address,
                             size_t bytes);

/* The one that begins at the address; NULL. */
struct spw_module_variable *spw_module_variables_find(struct spw_module_variable *list, CUdeviceptr address);

/* Those of a context; NULL: all. */
void spw_module_variables_free(struct spw_module_variable **list, const CUcontext *of);

static inline bool spw_module_variable_overlaps(const struct spw_module_variable *v, CUdeviceptr address, size_t bytes)
{
    return address < v->address + v->bytes && address + bytes > v->address;
}

/* A copy or set is about to write there: true where that is to one of them. All such calls have been answered; some have
 * not.
 */
bool spw_module_variables_write(struct spw_module_variable *list, CUdeviceptr address, size_t bytes);
void spw_module_variables_written(struct spw_module_variable *list);
/* `or_written`: or has been. */
bool spw_module_variables_being_written(const struct spw_module_variable *list, bool or_written);

/* Copies those of the context that were written to the ones of the same names in another load of the module, or library, in
 * the order of the stream. 0; -ESTALE: one has another size there; or a failure of the driver. */
int spw_module_variables_copy(const struct spw_module_variable *list, CUcontext context, void *handle, bool is_library,
                              const struct spw_stream *s);

/* Some word of the host's memory is an address of ours. */
bool spw_holds_addresses(const void *from, size_t bytes);

/* Page-locked memory: a copy may read it after the program has changed it. */
bool spw_may_change_yet(const void *from);
#endif
