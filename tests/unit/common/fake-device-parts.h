/* fake-device-parts.h - what the files of the fake device share: its state, and the work of its streams. */
#ifndef SPILLWAY_TESTS_FAKE_DEVICE_PARTS_H
#define SPILLWAY_TESTS_FAKE_DEVICE_PARTS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "driver.h"
#include "fake-device.h"
#include "hash.h"
#include "settings.h"

enum { MOST = 4096, WORK = 65536 };

enum { SAMPLED_PAGE = 4096 };

enum work_kind { FILL, EXPECT, HASH, SAMPLE, FIND, SEEK, OUT, IN, MIX, COPY, RECORD, WAIT, GATE };

struct work {
    enum work_kind kind;
    int stream;
    CUdeviceptr a;
    size_t bytes;
    unsigned char value;
    void *host;       /* OUT, IN: the other end; SEEK: what it answers */
    CUdeviceptr to;   /* HASH, SAMPLE, FIND: of its result */
    size_t pitch;     /* SAMPLE: of its pages, `bytes` of them in all */
    uint64_t pattern; /* that it counts; SEEK: of how many bytes a part is, as a shift */
    uint64_t sign;    /* that the sum is multiplied by */
    int event;
    unsigned long record;                  /* WAIT: the record that it waits for */
    struct fake_range ranges[FAKE_RANGES]; /* MIX: read, then written; COPY: from, to; FIND, SEEK: of numbers */
    uint8_t reads, writes;
    bool done;
    double slow;   /* a copy takes so many times as long as usual */
    double end_us; /* when it was done, by its stream's clock */
};

struct fake_state {
    uint64_t granularity, memory;
    struct {
        size_t bytes;
        unsigned char *data;
        unsigned mapped; /* so often */
    } handles[MOST];
    unsigned handle_count;
    bool maps_once, goes_on, gated;
    unsigned asked; /* in a row, for events that were not complete */
    struct {
        CUdeviceptr a;
        size_t bytes;
        unsigned handle;
        bool live, access;
    } maps[MOST];
    unsigned map_end; /* behind the last of maps[] that was ever used */
    unsigned work_count;
    struct stream_work {
        unsigned first, left; /* work[] before `first` holds none of the stream's that has not run; how much of it has not */
    } stream_work[0x1000];
    unsigned long recorded[MOST]; /* per event: index + 1 of its newest record in work[] */
    double event_us[MOST];        /* per event: when its newest record that has run did so; 0: it has no time */
    bool untimed[MOST];
    double stream_us[0x1000], slow;
    unsigned event_count, stream_count, calls;
    CUdeviceptr next_address;
    struct fake_counts counts;
    struct {
        char name[40], too[40];
        unsigned n, seen;
        CUresult r;
        bool for_good;
    } fail;
    struct work work[WORK]; /* the last member: fake_start() clears those before it alone, as these are many */
};
extern struct fake_state fake_state;

/* Counts a call, and says what it is to answer. */
CUresult fake_called(const char *name);

#define CALLED() \
    CUresult injected = fake_called(__func__ + 3); \
    if (injected != CUDA_SUCCESS) \
        return injected;

/* The bytes at an address, of which at most *bytes lie in one mapping. */
unsigned char *fake_bytes_at(CUdeviceptr a, size_t *bytes);

/* Has the driver's table lead to the calls of streams and events, and to those of kernels. */
void fake_use_streams(void);
void fake_use_kernels(void);

/* Adds work to a stream. */
struct work *fake_submit(CUstream s, struct work w);
#endif
