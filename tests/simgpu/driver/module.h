/* module.h - device programs: modules of a context, libraries of the process, and their kernels. */
#ifndef SIMGPU_DRIVER_MODULE_H
#define SIMGPU_DRIVER_MODULE_H
#include "objects.h"

/* `image` is a struct simgpu_image, PTX text, or machine code (opaque.h, cubin.h); CUDA_ERROR_INVALID_IMAGE where it is none
 * of them, CUDA_ERROR_INVALID_PTX for text with a kernel that has no twin (ptx.h). */
CUresult module_create(struct context *context, const void *image, struct library *library, struct module **ret_module);
/* From a file with the same, but for a struct simgpu_image. CUDA_ERROR_FILE_NOT_FOUND: it can't be read. */
CUresult module_create_from_file(struct context *context, const char *path, struct module **ret_module);
void module_destroy(struct module *module);
/* The function of that name, made at its first use; NULL without such a kernel or without memory. */
struct function *module_function(struct module *module, const char *name);
struct function *module_function_at(struct module *module, unsigned index);
CUresult library_create(const void *image, struct library **ret_library);
void library_destroy(struct library *library);
struct function *library_kernel(struct library *library, const char *name);
struct function *library_kernel_at(struct library *library, unsigned index);
/* The module that stands for the library in a context, loaded at its first use. */
CUresult library_module(struct library *library, struct context *context, struct module **ret_module);
/* The variable of that name, and where the module has it. NULL: there is none. */
const struct simgpu_global *module_global(const struct module *module, const char *name, uint64_t *ret_address);
/* Those that the function's kernel uses in the context; NULL: there are none. */
CUresult function_variables(const struct function *function, struct context *context, struct variables **ret_variables);
/* A CUfunction, or a CUkernel cast to it; NULL: neither. */
struct function *function_resolve(const void *handle);
#endif
