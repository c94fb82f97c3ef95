/* driver.h - what programs against the driver API have in common: checked calls, patterns, checksums, and a crowd of
 * tensors that takes all the room when it is used. */
#ifndef VARIETY_DRIVER_H
#define VARIETY_DRIVER_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXIT_WRONG = 1, EXIT_CUDA = 3 };

/* Ends the program, as training programs do, when a call fails that should not. */
static inline void check(CUresult r, const char *call)
{
    const char *name = "?";
    if (r == CUDA_SUCCESS)
        return;
    (void)cuGetErrorName(r, &name);
    fprintf(stderr, "%s: %s\n", call, name);
    exit(EXIT_CUDA);
}
#define CHECK(call) check((call), #call)

/* What a call answered, as a line of output. */
static inline void answer(const char *what, CUresult r)
{
    const char *name = "?";
    (void)cuGetErrorName(r, &name);
    printf("%s: %s\n", what, name);
}

/* Something that has to hold under any budget, though the figures behind it may differ. */
static inline void truth(const char *what, bool holds)
{
    printf("%s: %s\n", what, holds ? "yes" : "NO");
}

/* The first device, and its primary context current. */
static inline CUdevice start(void)
{
    CUdevice device;
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    return device;
}

static inline void *host_bytes(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p) {
        fprintf(stderr, "no host memory\n");
        exit(EXIT_WRONG);
    }
    return p;
}

/* Bytes that no other seed has at the same place. */
static inline void pattern(void *to, size_t bytes, uint32_t seed)
{
    uint64_t state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < bytes; i++) {
        if (i % 8 == 0) {
            state ^= state >> 29;
            state *= UINT64_C(0xbf58476d1ce4e5b9);
            state ^= state >> 32;
        }
        ((unsigned char *)to)[i] = (unsigned char)(state >> i % 8 * 8);
    }
}

static inline uint64_t sum_of(const void *at, size_t bytes)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325) + bytes;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ ((const unsigned char *)at)[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static inline void print_sum(const char *what, const void *at, size_t bytes)
{
    printf("%s: %016llx\n", what, (unsigned long long)sum_of(at, bytes));
}

/* A checksum of device memory, by the plainest copy there is. */
static inline uint64_t device_sum(CUdeviceptr at, size_t bytes)
{
    void *copy = host_bytes(bytes);
    CHECK(cuMemcpyDtoH(copy, at, bytes));
    uint64_t sum = sum_of(copy, bytes);
    free(copy);
    return sum;
}

static inline void fill_device(CUdeviceptr at, size_t bytes, uint32_t seed)
{
    void *copy = host_bytes(bytes);
    pattern(copy, bytes, seed);
    CHECK(cuMemcpyHtoD(at, copy, bytes));
    free(copy);
}

/* Tensors that are used from time to time, all of them in turn: whatever was used before has to make room. What they were
 * given the time before is read first, so that nothing that happens to them goes unseen. */
struct crowd {
    CUdeviceptr piece[64];
    unsigned pieces, round;
    size_t piece_bytes;
    uint64_t sum;
};

static inline void crowd_make(struct crowd *c, unsigned pieces, size_t piece_bytes)
{
    *c = (struct crowd){.pieces = pieces, .piece_bytes = piece_bytes};
    for (unsigned i = 0; i < pieces; i++)
        CHECK(cuMemAlloc(&c->piece[i], piece_bytes));
}

static inline void crowd_press(struct crowd *c)
{
    c->round++;
    for (unsigned i = 0; i < c->pieces && c->round > 1; i++)
        c->sum = c->sum * 31 + device_sum(c->piece[i], c->piece_bytes);
    for (unsigned i = 0; i < c->pieces; i++)
        CHECK(cuMemsetD32(c->piece[i], c->round * 0x01010101u + i, c->piece_bytes / 4));
}

/* Prints what all of them held at any time, and lets go of them. */
static inline void crowd_free(struct crowd *c)
{
    for (unsigned i = 0; i < c->pieces; i++)
        c->sum = c->sum * 31 + device_sum(c->piece[i], c->piece_bytes);
    printf("crowd: %016llx\n", (unsigned long long)c->sum);
    for (unsigned i = 0; i < c->pieces; i++)
        CHECK(cuMemFree(c->piece[i]));
}
#endif
