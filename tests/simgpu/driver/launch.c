/* launch.c - parameters, cost and ranges of a kernel launch. */
#include "launch.h"

#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "memory.h"
#include "module.h"
#include "variables.h"

static bool dimensions_are_valid(const struct function *f, const struct launch *l)
{
    static const unsigned most_block[] = {1024, 1024, 64}, most_grid[] = {0x7fffffff, 65535, 65535};
    for (int i = 0; i < 3; i++)
        if (l->grid[i] == 0 || l->block[i] == 0 || l->grid[i] > most_grid[i] || l->block[i] > most_block[i])
            return false;
    int most_shared = f->max_dynamic_shared ? f->max_dynamic_shared : 49152 - (int)f->kernel->static_shared_bytes;
    return l->block[0] * l->block[1] * l->block[2] <= 1024 && (int)l->shared_bytes <= most_shared;
}

/* The one buffer of `extra`. NULL: malformed, or too small for the kernel. */
static const void *extra_buffer(void **extra, size_t wanted)
{
    const void *buffer = NULL;
    size_t bytes = 0;
    for (int i = 0; i < 8 && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = *(const size_t *)extra[i + 1];
        else
            return NULL;
    }
    return bytes >= wanted || wanted == 0 ? buffer : NULL;
}

static CUresult fill_image(struct op *op, const struct simgpu_kernel *k, const struct launch *l)
{
    op->u.run.image = op->u.run.image_inline;
    if (k->param_bytes > sizeof op->u.run.image_inline && !(op->u.run.image = malloc(k->param_bytes))) {
        op->u.run.image = op->u.run.image_inline;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (l->extra) {
        const void *buffer = extra_buffer(l->extra, k->param_bytes);
        if (!buffer && k->param_bytes > 0)
            return CUDA_ERROR_INVALID_VALUE;
        if (buffer)
            memcpy(op->u.run.image, buffer, k->param_bytes);
        return CUDA_SUCCESS;
    }
    if (!l->params)
        return k->param_count == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < k->param_count; i++) {
        if (!l->params[i])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy((char *)op->u.run.image + k->params[i].offset_bytes, l->params[i], k->params[i].size_bytes);
    }
    return CUDA_SUCCESS;
}

/* Without a declaration: the whole allocation behind every pointer. */
static int guess(struct op *op, const struct simgpu_kernel *k, double *ret_bytes)
{
    for (uint32_t i = 0; i < k->param_count; i++) {
        uint64_t address;
        if (!(k->params[i].flags & SIMGPU_PARAM_POINTER) || k->params[i].size_bytes != sizeof address)
            continue;
        memcpy(&address, (const char *)op->u.run.image + k->params[i].offset_bytes, sizeof address);
        const struct block *b = memory_find(address);
        if (!b)
            continue;
        *ret_bytes += (double)(b->span.end - b->span.start);
        if (op_touch(op, b->span.start, b->span.end - b->span.start,
                     k->params[i].flags & SIMGPU_PARAM_CONST ? 0 : SIMGPU_WRITES) < 0)
            return -1;
    }
    return 0;
}

static CUresult footprint(struct op *op, const struct simgpu_kernel *k)
{
    struct simgpu_footprint print;
    const struct profile *p = &settings.profile;
    print.flops = print.bytes = print.link_bytes = 0;
    print.range_count = 0;
    print.token = 0;
    print.unknown = !k->describe;
    print.refused = 0;
    if (k->describe)
        k->describe(&op->u.run.launch, op->u.run.image, &print);
    if (print.refused)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->u.run.launch.token = print.token;
    op->declared = !print.unknown;
    for (uint32_t i = 0; i < print.range_count && i < SIMGPU_MAX_RANGES; i++)
        if (op_touch(op, print.ranges[i].address, print.ranges[i].bytes, print.ranges[i].how) < 0)
            return CUDA_ERROR_OUT_OF_MEMORY;
    if (!op->declared && guess(op, k, &print.bytes) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    double compute_ns = print.flops * settings.scale_ops / p->flops * 1e9;
    double memory_ns = sim_bytes_ns(print.bytes, p->memory_gbps);
    op->work_ns = compute_ns > memory_ns ? compute_ns : memory_ns;
    op->u.run.link_ns = p->link_ns + sim_bytes_ns(print.link_bytes, p->link_gbps);
    return CUDA_SUCCESS;
}

CUresult launch_make(struct context *context, const void *handle, const struct launch *l, struct op **ret_op)
{
    const struct function *f = function_resolve(handle);
    if (!f)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!dimensions_are_valid(f, l) || (l->params && l->extra))
        return CUDA_ERROR_INVALID_VALUE;
    struct op *op = op_create(OP_KERNEL, context, f->kernel->name);
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->u.run.kernel = f->kernel;
    op->u.run.handle = handle;
    op->u.run.launch = (struct simgpu_launch){.grid = {l->grid[0], l->grid[1], l->grid[2]},
                                              .block = {l->block[0], l->block[1], l->block[2]},
                                              .shared_bytes = l->shared_bytes,
                                              .kernel = f->kernel};
    CUresult r = function_variables(f, context, &op->u.run.variables);
    (void)variables_hold(op->u.run.variables);
    if (r == CUDA_SUCCESS)
        r = fill_image(op, f->kernel, l);
    if (r == CUDA_SUCCESS)
        r = footprint(op, f->kernel);
    if (r != CUDA_SUCCESS) {
        op_drop(op);
        return r;
    }
    *ret_op = op;
    return CUDA_SUCCESS;
}
