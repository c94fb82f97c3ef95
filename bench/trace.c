/* trace.c - measures the cost of tracing a training loop: instructions, bytes in the file, and the time to read it again.
 *
 *     trace nothing N       makes N operations of the loop and drops them
 *     trace encode N        also encodes them
 *     trace steady N        encodes one launch with eight touches, again and again
 *     trace write N FILE    also writes them to FILE; prints the bytes of the file per operation
 *     trace allocs N FILE   does the same with an allocation and a free for each operation
 *     trace read FILE       reads FILE; prints records, seconds and records per second
 *
 * The loop is invented, but resembles a transformer's: 200 kernels, 1200 launches per iteration; 24 layers forward and
 * backward in four variants, then the update of the parameters. Each launch touches ten allocations: parameters that
 * stay, activations that each iteration makes anew (recent ones, and in the backward pass those of the same layer's
 * forward pass), workspaces at varying offsets. Sizes differ from layer to layer, and times have noise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "encode.h"
#include "reader.h"
#include "writer.h"

enum { LAYERS = 24, VARIANTS = 4, PER_LAYER = 20, UPDATE = 240, TOUCHES = 10, PARAMETERS = 24 * 12 };
enum { HALF = LAYERS * PER_LAYER, LAUNCHES = 2 * HALF + UPDATE };

struct loop {
    uint64_t number, time_ns, noise;
    struct spw_record op, alloc, free;
    struct spw_touch touches[TOUCHES];
};

/* The position of a launch in the iteration. */
struct place {
    unsigned phase, layer, step; /* phase: 0 forward, 1 backward, 2 update */
    uint64_t newest, began;      /* the latest allocation, and the last one of the previous iteration */
};

static struct place where(uint64_t number)
{
    const unsigned at = (unsigned)(number % LAUNCHES);
    struct place place = {.newest = PARAMETERS + 1 + number, .began = PARAMETERS + number - at};
    place.phase = at < HALF ? 0 : at < 2 * HALF ? 1 : 2;
    place.layer = at < HALF ? at / PER_LAYER : at < 2 * HALF ? LAYERS - 1 - (at - HALF) / PER_LAYER : (at - 2 * HALF) / 10;
    place.step = place.phase < 2 ? at % PER_LAYER : at % 10;
    return place;
}

/* 80 kernels for forward, 80 for backward, 40 for the update. */
static uint32_t function_at(const struct place *place)
{
    const unsigned variant = place->layer % VARIANTS;
    return 1 + place->phase * VARIANTS * PER_LAYER + variant * (place->phase < 2 ? PER_LAYER : 10) + place->step;
}

static void make_touch(struct spw_touch *touch, const struct place *place, unsigned index)
{
    const uint64_t parameter = 1 + place->layer * 12 + (place->step + index) % 12;
    const uint64_t saved = place->began + 1 + place->layer * PER_LAYER + (place->step * 3 + index) % PER_LAYER;
    *touch = (struct spw_touch){.alloc = parameter, .access = SPW_ACCESS_READ};
    if (index == 0) {
        touch->alloc = place->newest;
        touch->access = SPW_ACCESS_WRITE;
    } else if (index < 6 && place->phase < 2) {
        touch->alloc = place->phase == 1 && index < 4 ? saved : place->newest - index * (1 + place->step % 3);
    } else if (index == 9) {
        touch->alloc = 1;
        touch->offset = 512 * (uint64_t)(place->layer * 40 + place->step);
        touch->bytes = 4096 * (uint64_t)(1 + place->layer);
        touch->access = SPW_ACCESS_BOTH;
    }
}

/* Makes the next operation, and an allocation before it and a free after it for modes that use them. */
static void next(struct loop *loop)
{
    const struct place place = where(loop->number);
    loop->noise = loop->noise * UINT64_C(6364136223846793005) + 1442695040888963407;
    loop->time_ns += 4000 + (loop->noise >> 52);
    loop->alloc = (struct spw_record){.kind = SPW_RECORD_ALLOC,
                                      .alloc = {.id = place.newest,
                                                .kind = SPW_ALLOC_ASYNC,
                                                .address = UINT64_C(0x7f0000000000) + (loop->number % 40 << 21),
                                                .bytes = (uint64_t)4096 * (1 + place.step * 31) * (1 + place.layer % 5),
                                                .stream = 1,
                                                .site = 1 + place.step,
                                                .time_ns = loop->time_ns}};
    loop->op = (struct spw_record){.kind = SPW_RECORD_OP,
                                   .op = {.kind = SPW_OP_LAUNCH,
                                          .stream = 1,
                                          .time_ns = loop->time_ns + 800,
                                          .function = function_at(&place),
                                          .grid = {64 + place.step * 32, place.step % 7 ? 1 : 1 + place.layer, 1},
                                          .block = {256, 1, 1},
                                          .shared_bytes = place.step % 3 ? 0 : 49152,
                                          .touch_count = TOUCHES,
                                          .touches = loop->touches}};
    loop->free = (struct spw_record){.kind = SPW_RECORD_FREE,
                                     .free = {.id = place.newest - 40, .stream = 1, .time_ns = loop->time_ns + 1500}};
    for (unsigned i = 0; i < TOUCHES; i++)
        make_touch(&loop->touches[i], &place, i);
    loop->number++;
}

static int check(int r, const char *what)
{
    if (r >= 0)
        return r;
    fprintf(stderr, "trace: %s: %s\n", what, strerror(-r));
    exit(3);
}

static void only_encode(uint64_t count, char how)
{
    static struct spw_encoder encoder;
    struct loop loop = {0};
    encoder.records = malloc(SPW_FRAME_MANY_BYTES);
    encoder.times = malloc(SPW_FRAME_MANY_BYTES);
    if (!encoder.records || !encoder.times)
        exit(3);
    spw_encoder_begin(&encoder);
    for (uint64_t i = 0; i < count; i++) {
        if (how != 's' || i == 0)
            next(&loop);
        if (how == 'n')
            continue;
        if (how == 's')
            loop.op.op.touch_count = 8;
        /* As the record of the allocation would set it. */
        encoder.slots[SPW_SLOT_ALLOC] = loop.alloc.alloc.id + 1;
        check(spw_encode(&encoder, &loop.op), "encode");
        if ((encoder.records_at - encoder.records) + (encoder.times_at - encoder.times) >= SPW_FRAME_FULL_BYTES)
            spw_encoder_begin(&encoder);
    }
    free(encoder.records);
    free(encoder.times);
}

static void write_loop(uint64_t count, const char *path, bool allocs)
{
    struct loop loop = {0};
    struct spw_trace_writer *writer;
    struct stat made;
    check(spw_trace_writer_create(path, &writer), path);
    for (uint64_t i = 0; i < count; i++) {
        next(&loop);
        if (allocs)
            check(spw_trace_put(writer, &loop.alloc), path);
        check(spw_trace_put(writer, &loop.op), path);
        if (allocs && i > 40)
            check(spw_trace_put(writer, &loop.free), path);
    }
    check(spw_trace_writer_destroy(writer), path);
    if (stat(path, &made) == 0)
        printf("%.2f\n", (double)made.st_size / (double)count);
}

static void read_all(const char *path)
{
    struct timespec begin, end;
    struct spw_trace_reader *reader;
    struct spw_trace_problem problem = {0};
    const struct spw_record *record;
    uint64_t records = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (spw_trace_open(path, &reader, &problem) < 0)
        check(-1, problem.reason);
    while (spw_trace_next(reader, &record, &problem) == 1)
        records++;
    spw_trace_close(reader);
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    printf("%llu %.3f %.0f\n", (unsigned long long)records, seconds, (double)records / seconds);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (argc == 3 && (strcmp(what, "nothing") == 0 || strcmp(what, "encode") == 0 || strcmp(what, "steady") == 0))
        only_encode(count, what[0]);
    else if (argc == 4 && (strcmp(what, "write") == 0 || strcmp(what, "allocs") == 0))
        write_loop(count, argv[3], what[0] == 'a');
    else if (argc == 3 && strcmp(what, "read") == 0)
        read_all(argv[2]);
    else
        return fprintf(stderr, "usage: trace nothing | encode | steady COUNT, write | allocs COUNT FILE, read FILE\n"), 2;
    return 0;
}
