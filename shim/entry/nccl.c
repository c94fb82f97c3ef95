/* nccl.c - what is handed to NCCL stays resident: its kernels find buffers by structures in device memory, other devices
 * write to them, and it keeps the physical memory of that moment registered.
 *
 * A program that was linked with NCCL, as PyTorch is, comes here first, since this library is loaded before it; one that
 * looks its calls up by name, as JAX does, is handed ours in their place (lookups.c).
 * The calls are those of NCCL's documentation, "NCCL API"; a result is 0 or one of its error numbers. */
#include <cuda.h>
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "arena.h"
#include "pin.h"
#include "log.h"
#include "loader.h"
#include "nccl.h"

enum { UNHANDLED_CUDA_ERROR = 1, SYSTEM_ERROR = 2 }; /* ncclResult_t */

static const char why[] = "it was handed to NCCL";

/* ---- the real ones ---- */

static int find_nccl(struct dl_phdr_info *info, size_t size, void *data)
{
    const char **ret_path = data, *name = strrchr(info->dlpi_name, '/');
    if (!name || strncmp(name, "/libnccl.so", strlen("/libnccl.so")))
        return 0;
    *ret_path = info->dlpi_name;
    return 1;
}

static bool is_ours(const void *function)
{
    Dl_info found, here;
    return dladdr(function, &found) && dladdr(why, &here) && found.dli_fbase == here.dli_fbase;
}

static void *find_in(const char *path, const char *name)
{
    void *handle = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL; /* held for good, as its caller's is */
    void *function = handle ? spw_lookups_of_loader(handle, name) : NULL;
    return function && !is_ours(function) ? function : NULL;
}

/* In the library of that name, or in whatever has called, which may have NCCL inside or have loaded it under another name.
 */
static void *find(const char *name, const void *caller)
{
    static int warned;
    const char *path = NULL;
    Dl_info info;
    (void)dl_iterate_phdr(find_nccl, &path);
    void *function = find_in(path, name);
    if (!function && dladdr(caller, &info))
        function = find_in(info.dli_fname, name);
    if (!function)
        function = spw_lookups_of_loader(RTLD_NEXT, name);
    if (!function)
        spw_warn_once(&warned, "%s was called, and no NCCL that has it is loaded", name);
    return function;
}

/* ---- the calls ---- */

/* X(name, parameters, arguments, what is sent or registered, what is received or the same) */
#define CALLS(X) \
    X(ncclReduce, (const void *from, void *to, size_t count, int type, int op, int root, void *comm, CUstream s), \
      (from, to, count, type, op, root, comm, s), from, to) \
    X(ncclBcast, (void *buffer, size_t count, int type, int root, void *comm, CUstream s), \
      (buffer, count, type, root, comm, s), buffer, buffer) \
    X(ncclBroadcast, (const void *from, void *to, size_t count, int type, int root, void *comm, CUstream s), \
      (from, to, count, type, root, comm, s), from, to) \
    X(ncclAllReduce, (const void *from, void *to, size_t count, int type, int op, void *comm, CUstream s), \
      (from, to, count, type, op, comm, s), from, to) \
    X(ncclReduceScatter, (const void *from, void *to, size_t count, int type, int op, void *comm, CUstream s), \
      (from, to, count, type, op, comm, s), from, to) \
    X(ncclAllGather, (const void *from, void *to, size_t count, int type, void *comm, CUstream s), \
      (from, to, count, type, comm, s), from, to) \
    X(ncclAlltoAll, (const void *from, void *to, size_t count, int type, void *comm, CUstream s), \
      (from, to, count, type, comm, s), from, to) \
    X(ncclGather, (const void *from, void *to, size_t count, int type, int root, void *comm, CUstream s), \
      (from, to, count, type, root, comm, s), from, to) \
    X(ncclScatter, (const void *from, void *to, size_t count, int type, int root, void *comm, CUstream s), \
      (from, to, count, type, root, comm, s), from, to) \
    X(ncclSend, (const void *from, size_t count, int type, int peer, void *comm, CUstream s), \
      (from, count, type, peer, comm, s), from, from) \
    X(ncclRecv, (void *to, size_t count, int type, int peer, void *comm, CUstream s), (to, count, type, peer, comm, s), to, \
      to) \
    X(ncclPutSignal, \
      (const void *from, size_t count, int type, int peer, void *window, size_t offset, int signal, int context, \
       unsigned int flags, void *comm, CUstream s), \
      (from, count, type, peer, window, offset, signal, context, flags, comm, s), from, from) \
    X(ncclRedOpCreatePreMulSum, (int *op, void *scalar, int type, int residence, void *comm), \
      (op, scalar, type, residence, comm), scalar, scalar) \
    X(ncclCommRegister, (const void *comm, void *buffer, size_t bytes, void **handle), (comm, buffer, bytes, handle), \
      buffer, buffer) \
    X(ncclCommWindowRegister, (void *comm, void *buffer, size_t bytes, void **window, int flags), \
      (comm, buffer, bytes, window, flags), buffer, buffer)

/* Pins both. False: there is no room for it, and nothing may run on missing memory. */
static bool stay(const void *from, const void *to)
{
    spw_pin_failure = 0;
    if (spw_in_arena((CUdeviceptr)from))
        spw_pin_address((CUdeviceptr)from, why);
    if (to != from && spw_in_arena((CUdeviceptr)to))
        spw_pin_address((CUdeviceptr)to, why);
    return spw_pin_failure >= 0;
}

/* The function of NCCL's that the call goes to; found once. NULL: there is none. */
static void *real_of(void **known, const char *name, const void *caller)
{
    void *function = __atomic_load_n(known, __ATOMIC_ACQUIRE);
    if (!function) {
        function = find(name, caller);
        __atomic_store_n(known, function, __ATOMIC_RELEASE);
    }
    return function;
}

#define X(name, parameters, arguments, from, to) \
    __attribute__((visibility("default"))) int name parameters; \
    int name parameters \
    { \
        static void *known; \
        int(*real) parameters = real_of(&known, #name, __builtin_return_address(0)); \
        return !real ? SYSTEM_ERROR : !stay(from, to) ? UNHANDLED_CUDA_ERROR : real arguments; \
    }
CALLS(X)
#undef X

/* ---- those that are looked up ---- */

/* A program may have more than one NCCL, and what one made means nothing to another: each function that a look-up found has
 * one of ours that goes to it and to no other. */
#define EACH_PLACE(X, ...) X(0, __VA_ARGS__) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__)
enum { PLACES = 4 };

enum call {
#define X(name, ...) CALL_##name,
    CALLS(X)
#undef X
        CALL_COUNT
};
static void *found[CALL_COUNT][PLACES]; /* filled from the left, each once */

#define PLACE(place, name, parameters, arguments, from, to) \
    static int name##_##place parameters \
    { \
        int(*real) parameters = __atomic_load_n(&found[CALL_##name][place], __ATOMIC_ACQUIRE); \
        return !stay(from, to) ? UNHANDLED_CUDA_ERROR : real arguments; \
    }
#define X(...) EACH_PLACE(PLACE, __VA_ARGS__)
CALLS(X)
#undef X
#undef PLACE

static const struct {
    const char *name;
    void *places[PLACES];
} ours[CALL_COUNT] = {
#define PLACE(place, name, ...) (void *)name##_##place,
#define X(name, ...)            {#name, {EACH_PLACE(PLACE, name, )}},
    CALLS(X)
#undef X
#undef PLACE
};

static void *instead_of(enum call call, void *function)
{
    static int warned;
    for (int i = 0; i < PLACES; i++) {
        void *there = NULL;
        if (__atomic_compare_exchange_n(&found[call][i], &there, function, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
            there == function)
            return ours[call].places[i];
    }
    spw_warn_once(&warned,
                  "%s is looked up in more than %d libraries: what the last ones are handed is not kept on the device",
                  ours[call].name, PLACES);
    return NULL;
}

void *spw_nccl_instead_of(void *function, const char *name)
{
    for (int call = 0; call < CALL_COUNT; call++)
        if (!strcmp(ours[call].name, name))
            return is_ours(function) ? NULL : instead_of(call, function);
    return NULL;
}
