/* switches.c - the environment variables by which PyTorch, JAX and TensorFlow choose an allocator, NCCL registers memory,
 * and XLA makes graphs. */
#include "switches.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECES " hands out pieces of large blocks: their tensors cannot be told apart, and move together or not at all"
#define SEGMENTS \
    "PyTorch maps its segments itself: what lies in them stays on the device, and what does not fit is out of memory"
#define UNCACHED  "PyTorch frees each tensor by a call that waits for the device: nothing runs ahead, and no copy is hidden"
#define REGISTERS "NCCL goes on using the memory that it has found behind an address, which another tensor has by then"

#define NO_CACHING "PYTORCH_NO_CUDA_MEMORY_CACHING"
/* PyTorch (2.15) has two ways to NCCL. The newer one, its default, asks the allocator for a list of its blocks when it
 * ends. cudaMallocAsync()'s allocator has none, and PyTorch aborts the process. */
#define NEWER_NCCL "TORCH_DIST_USE_NCCL2"
#define LISTS      "PyTorch ends the process when its process group ends, since this allocator cannot list its blocks"

const struct spw_switch spw_switch_table[] = {
    {"PyTorch", "PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync", "PYTORCH_ALLOC_CONF", NULL, "PyTorch" PIECES},
    {"PyTorch", "PYTORCH_ALLOC_CONF", "backend:cudaMallocAsync", "PYTORCH_CUDA_ALLOC_CONF", NULL, "PyTorch" PIECES},
    {"PyTorch", NO_CACHING, NULL, NULL, NULL, UNCACHED},
    {"PyTorch", NEWER_NCCL, "0", NULL, NULL, LISTS},
    {"JAX", "XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async", NULL, "platform", "JAX" PIECES},
    {"JAX", "XLA_PYTHON_CLIENT_PREALLOCATE", "false", NULL, "False,0", "JAX takes most of the device when it starts"},
    {"NCCL", "NCCL_LOCAL_REGISTER", "0", NULL, NULL, REGISTERS},
    {"NCCL", "NCCL_GRAPH_REGISTER", "0", NULL, NULL, REGISTERS},
    {"TensorFlow", "TF_GPU_ALLOCATOR", "cuda_malloc_async", NULL, NULL, "TensorFlow" PIECES},
};
const size_t spw_switch_count = sizeof(spw_switch_table) / sizeof(spw_switch_table[0]);

/* ---- XLA's flags ---- */

/* Executables become CUDA graphs, which keep on the device what they use: JAX runs out of memory within any budget into
 * which it does not fit. XLA's own way to make no graphs is an empty list of what may become one. */
#define FLAGS  SPW_SWITCH_XLA_FLAGS
#define GRAPHS SPW_SWITCH_NO_GRAPHS

/* Without a budget nothing is gained by that. Nothing can be added to the name of a file that contains flags. Users leave
 * XLA alone by an empty value: versions before 2024 do not know this flag, and end the program. */
static void add_to_flags(void)
{
    const char *flags = getenv(FLAGS);
    char *both;
    if (!getenv("SPILLWAY_BUDGET") || (flags && (flags[strspn(flags, " ")] != '-' || strstr(flags, GRAPHS))))
        return;
    if (asprintf(&both, "%s%s" GRAPHS, flags ? flags : "", flags ? " " : "") < 0)
        return;
    setenv(FLAGS, both, 1);
    free(both);
}

bool spw_switch_wants_graphs(void)
{
    const char *flags = getenv(FLAGS), *found = NULL;
    for (const char *at = flags; at && (at = strstr(at, GRAPHS)); at += strlen(GRAPHS))
        found = at + strlen(GRAPHS); /* the last one counts */
    return found && *found && *found != ' ';
}

static void tell_of_graphs(void (*tell)(const char *line))
{
    if (getenv("SPILLWAY_BUDGET") && spw_switch_wants_graphs())
        tell(FLAGS " has " GRAPHS
                   "...: what XLA's graphs use stays on the device, and what does not fit is out of memory; set " GRAPHS
                   " in it or leave it out");
}

/* ---- all of them ---- */

/* Returns true if `option`, of `length` letters, is an element of the comma-separated list. */
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

static bool is_pytorchs_backend(const struct spw_switch *which)
{
    return which->unless != NULL;
}

/* Returns true if the user has chosen PyTorch's own allocator, by either name of the setting: versions of PyTorch read one
 * or the other. If neither is set, we choose. */
static bool is_pytorchs_own_chosen(void)
{
    bool chosen = false;
    for (size_t i = 0; i < spw_switch_count; i++) {
        const char *value = getenv(spw_switch_table[i].name);
        if (!value || !is_pytorchs_backend(&spw_switch_table[i]))
            continue;
        if (spw_switch_is_fine(&spw_switch_table[i], value))
            return false;
        chosen = true;
    }
    return chosen;
}

/* PyTorch's own allocator does not need this setting, as it lists its blocks. */
static bool is_needless(const struct spw_switch *which)
{
    return !strcmp(which->name, NEWER_NCCL) && is_pytorchs_own_chosen();
}

void spw_switches_set(void)
{
    bool wanted[sizeof(spw_switch_table) / sizeof(spw_switch_table[0])]; /* decided before the first is set, since two are
                                                                          * each other's `unless` */
    for (size_t i = 0; i < spw_switch_count; i++) {
        const struct spw_switch *s = &spw_switch_table[i];
        wanted[i] = s->value && !getenv(s->name) && !(s->unless && getenv(s->unless)) && !is_needless(s);
    }
    for (size_t i = 0; i < spw_switch_count; i++)
        if (wanted[i])
            setenv(spw_switch_table[i].name, spw_switch_table[i].value, 0);
    add_to_flags();
}

const char *spw_switch_conflict(const struct spw_switch *which, const char *value)
{
    if (!which->value) /* no other allocator of PyTorch reads it */
        return is_pytorchs_own_chosen() ? which->otherwise : NULL;
    if (spw_switch_is_fine(which, value) || is_needless(which))
        return NULL;
    if (!is_pytorchs_backend(which))
        return which->otherwise;
    if (getenv(NO_CACHING)) /* each tensor is seen, and the conflict is with the other variable */
        return NULL;
    return is_among(value, "expandable_segments:True", strlen("expandable_segments:True")) ? SEGMENTS : which->otherwise;
}

void spw_switches_tell_conflicts(void (*tell)(const char *line))
{
    char line[1024];
    for (size_t i = 0; i < spw_switch_count; i++) {
        const struct spw_switch *s = &spw_switch_table[i];
        const char *value = getenv(s->name), *meaning = value ? spw_switch_conflict(s, value) : NULL;
        if (!meaning)
            continue;
        snprintf(line, sizeof(line), "%s=%.400s: %s; %s%s%sunset it", s->name, value, meaning, s->value ? "set it to " : "",
                 s->value ? s->value : "", s->value ? " or " : "");
        tell(line);
    }
    tell_of_graphs(tell);
}
