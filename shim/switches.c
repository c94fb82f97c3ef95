/* switches.c - PyTorch's, JAX's and TensorFlow's choice of allocator, and what NCCL registers, as variables of the
 * environment. */
#include "switches.h"
#include <stdlib.h>
#include <string.h>

#define PIECES    " hands out pieces of large blocks: their tensors cannot be told apart, and move together or not at all"
#define REGISTERS "NCCL goes on using the memory that it has found behind an address, which another tensor has by then"

const struct spw_switch spw_switch_table[] = {
    {"PyTorch", "PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync", "PYTORCH_ALLOC_CONF", NULL, "PyTorch" PIECES},
    {"PyTorch", "PYTORCH_ALLOC_CONF", "backend:cudaMallocAsync", "PYTORCH_CUDA_ALLOC_CONF", NULL, "PyTorch" PIECES},
    {"JAX", "XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async", NULL, "platform", "JAX" PIECES},
    {"JAX", "XLA_PYTHON_CLIENT_PREALLOCATE", "false", NULL, "False,0", "JAX takes most of the device when it starts"},
    {"NCCL", "NCCL_LOCAL_REGISTER", "0", NULL, NULL, REGISTERS},
    {"NCCL", "NCCL_GRAPH_REGISTER", "0", NULL, NULL, REGISTERS},
    {"TensorFlow", "TF_GPU_ALLOCATOR", "cuda_malloc_async", NULL, NULL, "TensorFlow" PIECES},
};
const size_t spw_switch_count = sizeof(spw_switch_table) / sizeof(spw_switch_table[0]);

void spw_switches_set(void)
{
    bool wanted[sizeof(spw_switch_table) / sizeof(spw_switch_table[0])]; /* decided before the first is set: two are each
                                                                            other's `unless` */
    for (size_t i = 0; i < spw_switch_count; i++) {
        const struct spw_switch *s = &spw_switch_table[i];
        wanted[i] = !getenv(s->name) && !(s->unless && getenv(s->unless));
    }
    for (size_t i = 0; i < spw_switch_count; i++)
        if (wanted[i])
            setenv(spw_switch_table[i].name, spw_switch_table[i].value, 0);
}

/* Whether `option`, of this many letters, is one of those in a list with commas in between. */
static bool is_among(const char *list, const char *option, size_t length)
{
    for (const char *at = list; at && *at; at += *at == ',') {
        size_t piece = strcspn(at, ",");
        if (piece == length && !strncmp(at, option, length))
            return true;
        at += piece;
    }
    return false;
}

bool spw_switch_is_fine(const struct spw_switch *which, const char *value)
{
    for (const char *at = value; *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        if (is_among(which->value, at, length) || is_among(which->also, at, length))
            return true;
        at += length;
    }
    return false;
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
