/* spy.h - a library that stands in front of the driver under the driver's own name, as spillway does, and listens to some
 * of its calls.
 *
 * The includer defines LISTEN(X), a line X(symbol) for each call that it listens to, and then a function on_<symbol> of
 * the call's own signature for each, cuGetProcAddress and its _v2 excepted, which are here. The driver's own functions
 * are real.<symbol>, NULL where the driver lacks one. SPY_DRIVER names the driver's file.
 *
 * Every exported function is a jump through a slot; a slot holds the driver's function, or ours where we listen. Answers
 * of cuGetProcAddress() are exchanged by address. Include it once, last. */
#ifndef SPILLWAY_TESTS_GPU_SPY_H
#define SPILLWAY_TESTS_GPU_SPY_H
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "driver-symbols.h"

#ifndef __CUDA_API_VERSION_INTERNAL
#error "define __CUDA_API_VERSION_INTERNAL first: here a name is exactly the symbol"
#endif

#if defined(__x86_64__)
#define SPY_JUMP(name) \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" \
            "    jmp *spy_slot_" #name "(%rip)\n.size " #name ", .-" #name "\n");
#elif defined(__aarch64__)
#define SPY_JUMP(name) \
    __asm__(".text\n.globl " #name "\n.type " #name ", %function\n" #name ":\n" \
            "    adrp x16, spy_slot_" #name "\n    ldr x16, [x16, :lo12:spy_slot_" #name "]\n    br x16\n");
#else
#error "no jump for this processor"
#endif

#define SPY_SLOT(name) __attribute__((visibility("hidden"), used)) void *spy_slot_##name;
DRIVER_SYMBOLS(SPY_SLOT)
DRIVER_SYMBOLS(SPY_JUMP)

#define SPY_LISTEN(X) X(cuGetProcAddress) X(cuGetProcAddress_v2) LISTEN(X)

static struct {
#define X(name) __typeof__(name) *name;
    SPY_LISTEN(X)
#undef X
} real;

#define X(name) static __typeof__(name) on_##name;
SPY_LISTEN(X)
#undef X

static void *spy_driver;

/* Ours for the driver's, where we listen; else what it was. */
static void *spy_exchanged(void *address)
{
    if (!address)
        return NULL;
#define X(name) \
    if (address == (void *)real.name) \
        return (void *)on_##name;
    SPY_LISTEN(X)
#undef X
    return address;
}

static CUresult on_cuGetProcAddress(const char *symbol, void **ret, int version, cuuint64_t flags)
{
    CUresult r = real.cuGetProcAddress(symbol, ret, version, flags);
    if (r == CUDA_SUCCESS && ret)
        *ret = spy_exchanged(*ret);
    return r;
}

static CUresult on_cuGetProcAddress_v2(const char *symbol, void **ret, int version, cuuint64_t flags,
                                       CUdriverProcAddressQueryResult *status)
{
    CUresult r = real.cuGetProcAddress_v2(symbol, ret, version, flags, status);
    if (r == CUDA_SUCCESS && ret)
        *ret = spy_exchanged(*ret);
    return r;
}

__attribute__((constructor)) static void spy_start(void)
{
    const char *path = getenv("SPY_DRIVER");
    spy_driver = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!spy_driver) {
        fprintf(stderr, "spy: SPY_DRIVER must name the driver's file: %s\n", path ? dlerror() : "it is not set");
        _exit(2);
    }
#define X(name) spy_slot_##name = dlsym(spy_driver, #name);
    DRIVER_SYMBOLS(X)
#undef X
#define X(name) \
    real.name = (__typeof__(real.name))dlsym(spy_driver, #name); \
    if (real.name) \
        spy_slot_##name = (void *)on_##name;
    SPY_LISTEN(X)
#undef X
}
#endif
