/* context.c - contexts, and the stack of them that each thread has. */
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "driver.h"
#include "memory.h"
#include "module.h"
#include "sim.h"
#include "stats.h"

enum { DEPTH = 32 };

static _Thread_local struct {
    struct context *at[DEPTH];
    int count;
} stack;

static uint64_t next_id = 1;

struct context *context_current(void)
{
    struct context *c = stack.count > 0 ? stack.at[stack.count - 1] : NULL;
    return c && handle_is(HANDLE_CONTEXT, c) ? c : NULL;
}

CUresult context_push(struct context *context)
{
    if (stack.count == DEPTH)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stack.at[stack.count++] = context;
    return CUDA_SUCCESS;
}

struct context *context_pop(void)
{
    return stack.count > 0 ? stack.at[--stack.count] : NULL;
}

void context_set_current(struct context *context)
{
    if (stack.count > 0)
        stack.count--;
    if (context)
        stack.at[stack.count++] = context;
}

CUresult context_create(struct device *device, unsigned flags, bool primary, struct context **ret_context)
{
    struct context *c = calloc(1, sizeof *c);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    c->device = device;
    c->flags = flags;
    c->primary = primary;
    c->api_version = 3020;
    c->id = next_id++;
    c->limits[CU_LIMIT_STACK_SIZE] = 1024;
    c->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
    c->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    c->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
    c->shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    CUresult r = stream_create(c, CU_STREAM_DEFAULT, 0, true, &c->legacy);
    if (r == CUDA_SUCCESS && handle_add(HANDLE_CONTEXT, c) < 0) {
        stream_drop(c->legacy);
        r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (r != CUDA_SUCCESS) {
        free(c);
        return r;
    }
    *ret_context = c;
    return CUDA_SUCCESS;
}

/* Streams, modules and memory go with it. The struct itself stays: operations and events may still point to it. */
void context_destroy(struct context *c)
{
    sim_wait_context(c);
    handle_remove(c);
    c->error = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    while (c->modules)
        module_destroy(c->modules);
    while (c->streams) {
        struct stream *s = c->streams;
        if (handle_is(HANDLE_STREAM, s)) {
            handle_remove(s);
            stats.streams--;
        }
        c->streams = s->next;
        if (s->next)
            s->next->link = &c->streams;
        s->link = NULL;
        capture_forget_stream(s);
        stream_drop(s);
    }
    stream_drop(c->legacy);
    memory_free_context(c);
}
