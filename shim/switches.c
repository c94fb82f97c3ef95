/* switches.c - PyTorch's, JAX's and TensorFlow's choice of allocator, as variables of the environment. */
#include "switches.h"
#include <stdlib.h>
#include <string.h>

/* `unless` is an older or newer name of the same setting: a user who has set it has decided. */
static const struct {
    const char *name, *value, *unless;
} switches[] = {
    {"PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync", "PYTORCH_ALLOC_CONF"},
    {"PYTORCH_ALLOC_CONF", "backend:cudaMallocAsync", "PYTORCH_CUDA_ALLOC_CONF"},
    {"XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async", NULL},
    {"XLA_PYTHON_CLIENT_PREALLOCATE", "false", NULL},
    {"TF_GPU_ALLOCATOR", "cuda_malloc_async", NULL},
};
#define COUNT (sizeof(switches) / sizeof(switches[0]))

void spw_switches_set(void)
{
    int wanted[COUNT]; /* decided before the first is set, because two are each other's `unless` */
    for (size_t i = 0; i < COUNT; i++)
        wanted[i] = !getenv(switches[i].name) && !(switches[i].unless && getenv(switches[i].unless));
    for (size_t i = 0; i < COUNT; i++)
        if (wanted[i])
            setenv(switches[i].name, switches[i].value, 0);
}

const char *spw_switches_conflict(void)
{
    static const char *const names[] = {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value && strstr(value, "expandable_segments:True"))
            return names[i];
    }
    return NULL;
}
