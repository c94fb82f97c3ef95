/* module.h - device programs: modules of a context, libraries of the process, and their kernels. */
#ifndef SIMGPU_DRIVER_MODULE_H
#define SIMGPU_DRIVER_MODULE_H
#include "objects.h"

/* Loads `image`: a struct simgpu_image, PTX text, or machine code (opaque.h, cubin.h). CUDA_ERROR_INVALID_IMAGE: it is
 * none of these; CUDA_ERROR_INVALID_PTX: text with a kernel that has no twin (ptx.h). */
CUresult module_create(struct context *context, const void *image, struct library *library, struct module **ret_module);
/* Loads a file with the same contents, except for a struct simgpu_image. CUDA_ERROR_FILE_NOT_FOUND: it cannot be read. */
CUresult module_create_from_file(struct context *context, const char *path, struct module **ret_module);
void module_destroy(struct module *module);
/* Returns the function of that name, made at its first use; NULL if there is no such kernel, or without memory. */
struct function *module_function(struct module *module, const char *name);
struct function *module_function_at(struct module *module, unsigned index);
CUresult library_create(const void *image, struct library **ret_library);
void library_destroy(struct library *library);
struct function *library_kernel(struct library *library, const char *name);
struct function *library_kernel_at(struct library *library, unsigned index);
/* Gets the library's module in a context, loaded at its first use. */
CUresult library_module(struct library *library, struct context *context, struct module **ret_module);
/* Returns the variable of that name, and its address in the module; NULL: there is none. */
const struct simgpu_global *module_global(const struct module *module, const char *name, uint64_t *ret_address);
/* Gets the variables that the function's kernel uses in the context; NULL: there are none. */
CUresult function_variables(const struct function *function, struct context *context, struct variables **ret_variables);
/* Resolves a CUfunction, or a CUkernel cast to it; NULL: neither. */
struct function *function_resolve(const void *handle);
#endif
