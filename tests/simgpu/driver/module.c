/* module.c - loads device programs: tables of host functions, as image.h describes them, PTX whose kernels have twins, or
 * machine code whose kernels are opaque. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

#include "cubin.h"
#include "driver.h"
#include "exec.h"
#include "file.h"
#include "layouts.h"
#include "opaque.h"
#include "ptx.h"
#include "variables.h"

/* *ret_made is what was made of PTX text, to be freed; NULL: the image is the program's own. */
static CUresult image_read(const void *candidate, const struct simgpu_image **ret_image, struct simgpu_image **ret_made)
{
    unsigned char ident[EI_NIDENT] = {0};
    *ret_made = NULL;
    if (!candidate)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_image = candidate;
    if (exec_read(ident, (uint64_t)(uintptr_t)candidate, sizeof ident) && simgpu_image_is(ident))
        return CUDA_SUCCESS;
    if (opaque_takes(candidate)) {
        *ret_image = &opaque_image;
        return CUDA_SUCCESS;
    }
    if (cubin_takes(candidate))
        return cubin_load(candidate, ret_image);
    CUresult r = ptx_load(candidate, ret_made);
    *ret_image = *ret_made;
    return r;
}

static struct function *function_add(struct function **list, enum handle kind, const struct simgpu_kernel *kernel)
{
    struct function *f = calloc(1, sizeof *f);
    if (!f || handle_add(kind, f) < 0) {
        free(f);
        return NULL;
    }
    f->kernel = kernel;
    f->next = *list;
    *list = f;
    return f;
}

static void functions_destroy(struct function **list)
{
    while (*list) {
        struct function *f = *list;
        *list = f->next;
        handle_remove(f);
        free(f);
    }
}

static struct function *function_for(struct function **list, enum handle kind, const struct simgpu_kernel *kernel)
{
    for (struct function *f = *list; f; f = f->next)
        if (f->kernel == kernel)
            return f;
    return function_add(list, kind, kernel);
}

static const struct simgpu_kernel *image_kernel(const struct simgpu_image *image, const char *name)
{
    if (image == &opaque_image) {
        const struct layout *l = layouts_find(name);
        return l ? &l->kernel : NULL;
    }
    for (uint32_t i = 0; i < image->kernel_count; i++)
        if (strcmp(image->kernels[i]->name, name) == 0)
            return image->kernels[i];
    return NULL;
}

const struct simgpu_global *module_global(const struct module *m, const char *name, uint64_t *ret_address)
{
    for (uint32_t i = 0; m->variables && i < m->image->global_count; i++)
        if (strcmp(m->image->globals[i]->name, name) == 0) {
            *ret_address = variables_address(m->variables, i);
            return m->image->globals[i];
        }
    return NULL;
}

CUresult function_variables(const struct function *f, struct context *context, struct variables **ret_variables)
{
    struct module *m = f->module;
    CUresult r = CUDA_SUCCESS;
    if (!m && f->library->image->global_count)
        r = library_module(f->library, context, &m);
    if (r == CUDA_SUCCESS)
        *ret_variables = m ? m->variables : NULL;
    return r;
}

CUresult module_create(struct context *context, const void *image, struct library *library, struct module **ret_module)
{
    const struct simgpu_image *checked;
    struct simgpu_image *made;
    CUresult r = image_read(image, &checked, &made);
    if (r != CUDA_SUCCESS)
        return r;
    struct module *m = calloc(1, sizeof *m);
    if (!m || handle_add(HANDLE_MODULE, m) < 0) {
        free(m);
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    m->image = checked;
    m->made = made;
    m->context = context;
    m->library = library;
    m->variables = variables_create(context, checked);
    m->next = context->modules;
    m->link = &context->modules;
    if (m->next)
        m->next->link = &m->next;
    context->modules = m;
    *ret_module = m;
    return CUDA_SUCCESS;
}

/* The contents of a table of layouts stay where they are. */
CUresult module_create_from_file(struct context *context, const char *path, struct module **ret_module)
{
    char *image = file_read(path);
    if (!image)
        return CUDA_ERROR_FILE_NOT_FOUND;
    bool leads_elsewhere = strnlen(image, EI_NIDENT) == EI_NIDENT && simgpu_image_is(image);
    CUresult r = leads_elsewhere ? CUDA_ERROR_INVALID_IMAGE : module_create(context, image, NULL, ret_module);
    if (r != CUDA_SUCCESS || (*ret_module)->image != &opaque_image)
        free(image);
    return r;
}

void module_destroy(struct module *m)
{
    functions_destroy(&m->functions);
    variables_close(m->variables);
    variables_let_go(m->variables);
    *m->link = m->next;
    if (m->next)
        m->next->link = m->link;
    handle_remove(m);
    free(m->made);
    free(m);
}

static struct function *module_function_for(struct module *m, const struct simgpu_kernel *kernel)
{
    struct function *f = kernel ? function_for(&m->functions, HANDLE_FUNCTION, kernel) : NULL;
    if (f) {
        f->module = m;
        f->library = m->library;
    }
    return f;
}

struct function *module_function(struct module *m, const char *name)
{
    return module_function_for(m, image_kernel(m->image, name));
}

struct function *module_function_at(struct module *m, unsigned index)
{
    return module_function_for(m, m->image->kernels[index]);
}

CUresult library_create(const void *image, struct library **ret_library)
{
    const struct simgpu_image *checked;
    struct simgpu_image *made;
    CUresult r = image_read(image, &checked, &made);
    if (r != CUDA_SUCCESS)
        return r;
    struct library *l = calloc(1, sizeof *l);
    if (!l || handle_add(HANDLE_LIBRARY, l) < 0) {
        free(l);
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    l->image = checked;
    l->made = made;
    *ret_library = l;
    return CUDA_SUCCESS;
}

void library_destroy(struct library *l)
{
    for (int d = 0; d < settings.devices; d++) {
        struct context *c = devices[d].primary;
        for (struct module *m = c ? c->modules : NULL, *next; m; m = next) {
            next = m->next;
            if (m->library == l)
                module_destroy(m);
        }
    }
    functions_destroy(&l->kernels);
    handle_remove(l);
    free(l->made);
    free(l);
}

static struct function *library_kernel_for(struct library *l, const struct simgpu_kernel *kernel)
{
    struct function *f = kernel ? function_for(&l->kernels, HANDLE_KERNEL, kernel) : NULL;
    if (f)
        f->library = l;
    return f;
}

struct function *library_kernel(struct library *l, const char *name)
{
    return library_kernel_for(l, image_kernel(l->image, name));
}

struct function *library_kernel_at(struct library *l, unsigned index)
{
    return library_kernel_for(l, l->image->kernels[index]);
}

CUresult library_module(struct library *l, struct context *context, struct module **ret_module)
{
    for (struct module *m = context->modules; m; m = m->next) {
        if (m->library == l) {
            *ret_module = m;
            return CUDA_SUCCESS;
        }
    }
    return module_create(context, l->image, l, ret_module);
}

struct function *function_resolve(const void *handle)
{
    return handle_is(HANDLE_FUNCTION, handle) || handle_is(HANDLE_KERNEL, handle) ? (struct function *)handle : NULL;
}
