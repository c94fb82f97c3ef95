/* examples.c - small traces to begin with: of every kind of record, of a loop, of many shapes, of one huge operation, of
 * a training program. */
#include "examples.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "records.h"
#include "training.h"
#include "writer.h"

static struct made_record made;

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    perror(what);
    abort();
}

static void put(struct spw_trace_writer *writer)
{
    require(spw_trace_put(writer, &made.record) == 0, "the example's record");
}

static void put_launch(struct spw_trace_writer *writer, uint32_t number, uint32_t shapes, uint32_t touches)
{
    made.record = (struct spw_record){.kind = SPW_RECORD_OP,
                                      .op = {.kind = SPW_OP_LAUNCH,
                                             .function = 1 + number % shapes,
                                             .grid = {16, 1, 1},
                                             .block = {256, 1, 1},
                                             .time_ns = 5000 * (uint64_t)number,
                                             .touch_count = touches,
                                             .touches = made.touches}};
    for (uint32_t i = 0; i < touches; i++)
        made.touches[i] = (struct spw_touch){.alloc = 1 + number * (i % 3) + i, .access = SPW_ACCESS_READ};
    put(writer);
}

static void put_examples(struct spw_trace_writer *writer, unsigned which)
{
    if (which < 3)
        for (uint32_t i = 0; i < 60u << which; i++) {
            make_record(&made, 1000 * which + i);
            if (made.record.kind == SPW_RECORD_OP && made.record.op.touch_count > RECORDS_TOUCHES)
                continue;
            put(writer);
            if (i % 16 == 15)
                require(spw_trace_flush(writer) == 0, "the example's frame");
        }
    else if (which == 3)
        for (uint32_t i = 0; i < 300; i++)
            put_launch(writer, i, 7, 8);
    else if (which == 4)
        for (uint32_t i = 0; i < 5000; i++)
            put_launch(writer, i, 5000, 1);
    else if (which == 5)
        put_launch(writer, 1, 1, 20000);
    else
        put_training(writer);
}

uint8_t *make_example(unsigned which, size_t *ret_bytes)
{
    char path[64];
    struct spw_trace_writer *writer;
    struct stat written;
    snprintf(path, sizeof path, "/tmp/spillway-example-%d.trace", (int)getpid());
    require(spw_trace_writer_create(path, &writer) == 0, path);
    put_examples(writer, which);
    require(spw_trace_writer_destroy(writer) == 0 && stat(path, &written) == 0, path);
    uint8_t *bytes = malloc((size_t)written.st_size);
    FILE *file = fopen(path, "rb");
    require(bytes && file && fread(bytes, 1, (size_t)written.st_size, file) == (size_t)written.st_size, path);
    (void)fclose(file);
    (void)unlink(path);
    *ret_bytes = (size_t)written.st_size;
    return bytes;
}
