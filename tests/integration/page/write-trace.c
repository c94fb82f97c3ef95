/* write-trace.c - writes traces for the page's tests: FILE and one of `many` (100 000 tensors in an iteration), `offload`
 * (large copies to and from the host), `hostile` (names that try to get out of the page) and `once` (nothing repeats).
 *
 * A made-up training loop: parameters that live on, one activation and one short-lived tensor for each layer on the way
 * forward, used again and freed on the way back, then an update; each of them one operation after the other on one stream.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../trace/writer.h"

#define HOSTILE \
    "</script><script>window.broken=1</script><img src=x onerror=window.broken=1>\"'`${window.broken=1}\xe2\x80\xa8//<!--"

enum { ITERATIONS = 5, TIMED = 3, KERNELS = 40, OP_NS = 4000, COPY_BYTES = 8 << 20, GBS = 20 };

struct kind {
    const char *name, *text; /* `text` stands in every name */
    uint32_t layers;
    bool copies, timed, repeats;
};

static const struct kind kinds[] = {
    {.name = "many", .text = "layer", .layers = 50000, .timed = true, .repeats = true},
    {.name = "offload", .text = "layer", .layers = 30, .copies = true, .timed = true, .repeats = true},
    {.name = "hostile", .text = HOSTILE, .layers = 30, .copies = true, .repeats = true},
    {.name = "once", .text = "layer", .layers = 30},
};

static struct spw_trace_writer *writer;
static const struct kind *kind;
static uint64_t now_ns, device_ns, next_op, next_alloc = 1;
static int iteration;

static void put(const struct spw_record *record)
{
    int r = spw_trace_put(writer, record);
    if (r < 0) {
        fprintf(stderr, "write-trace: %s\n", strerror(-r));
        exit(1);
    }
}

static uint64_t allocate(uint64_t bytes, uint32_t site)
{
    put(&(struct spw_record){.kind = SPW_RECORD_ALLOC,
                             .alloc = {.id = next_alloc,
                                       .kind = SPW_ALLOC_ASYNC,
                                       .address = next_alloc << 24,
                                       .bytes = bytes,
                                       .stream = 1,
                                       .site = site,
                                       .time_ns = now_ns += 100}});
    return next_alloc++;
}

static void release(uint64_t id)
{
    put(&(struct spw_record){.kind = SPW_RECORD_FREE, .free = {.id = id, .stream = 1, .time_ns = now_ns += 100}});
}

static void operate(enum spw_op_kind what, uint32_t function, uint64_t bytes, uint32_t count,
                    const struct spw_touch *touches)
{
    uint64_t duration_ns = bytes ? bytes / GBS : OP_NS;
    put(&(struct spw_record){.kind = SPW_RECORD_OP,
                             .op = {.kind = what,
                                    .stream = 1,
                                    .time_ns = now_ns += 1000,
                                    .function = function,
                                    .grid = {1, 1, 1},
                                    .block = {32, 1, 1},
                                    .bytes = bytes,
                                    .touch_count = count,
                                    .touches = touches}});
    if (kind->timed && iteration == TIMED)
        put(&(struct spw_record){.kind = SPW_RECORD_DURATION, .duration = {next_op, device_ns, duration_ns}});
    device_ns += duration_ns;
    next_op++;
}

static void launch(uint32_t function, uint64_t reads, uint64_t also, uint64_t writes)
{
    const struct spw_touch touches[] = {{.alloc = reads, .access = SPW_ACCESS_READ},
                                        {.alloc = also, .access = SPW_ACCESS_READ},
                                        {.alloc = writes, .access = SPW_ACCESS_WRITE}};
    operate(SPW_OP_LAUNCH, function, 0, 3, touches);
}

static void define(void)
{
    static char text[SPW_RECORD_TEXT];
    put(&(struct spw_record){
        .kind = SPW_RECORD_PROCESS,
        .process = {.pid = 1, .mode = "trace", .version = "0", .command = kind->text, .host = kind->text}});
    put(&(struct spw_record){.kind = SPW_RECORD_DEVICE,
                             .device = {.name = kind->text, .total_bytes = 1ull << 40, .free_bytes = 1ull << 40}});
    put(&(struct spw_record){
        .kind = SPW_RECORD_MODULE,
        .module = {.id = 1, .start = 4096, .end = 1 << 20, .path = kind->text, .build_id = (const uint8_t *)""}});
    for (uint32_t i = 1; i <= KERNELS; i++) {
        uint64_t frames[] = {8192 + i, 16384 + i, 32768};
        put(&(struct spw_record){.kind = SPW_RECORD_SITE, .site = {.id = i, .count = 3, .frames = frames}});
        snprintf(text, sizeof(text), "%s %u", kind->text, i);
        put(&(struct spw_record){.kind = SPW_RECORD_FUNCTION, .function = {.id = i, .name = text, .parsed = true}});
    }
    put(&(struct spw_record){.kind = SPW_RECORD_STREAM, .stream = {.id = 1}});
    for (uint32_t i = 0; kind->copies && i < 2; i++)
        put(&(struct spw_record){.kind = SPW_RECORD_REFUSAL,
                                 .refusal = {.index = i,
                                             .operations = i + 1,
                                             .bytes = COPY_BYTES,
                                             .kernel = kind->text,
                                             .reason = kind->text,
                                             .text = kind->text}});
}

static void copy(enum spw_op_kind what, uint64_t alloc)
{
    operate(what, 0, COPY_BYTES, 1,
            &(struct spw_touch){.alloc = alloc, .access = what == SPW_OP_COPY_H2D ? SPW_ACCESS_WRITE : SPW_ACCESS_READ});
}

static void iterate(const uint64_t *parameters, uint64_t *made)
{
    uint32_t layers = kind->layers;
    uint64_t gradient;
    for (uint32_t i = 0; i < layers; i++) {
        made[i] = allocate(65536 + 512 * (i % 97), 1 + i % KERNELS);
        uint64_t scratch = allocate(4096 + 512 * (i % 13), 1 + (i + 7) % KERNELS);
        launch(1 + i % KERNELS, i ? made[i - 1] : parameters[0], parameters[i % KERNELS], made[i]);
        launch(1 + (i + 3) % KERNELS, made[i], scratch, scratch);
        release(scratch);
    }
    gradient = allocate(COPY_BYTES, 2);
    for (uint32_t i = layers; i-- > 0;) {
        launch(1 + (i + 11) % KERNELS, made[i], parameters[i % KERNELS], gradient);
        release(made[i]);
    }
    for (uint32_t i = 0; i < KERNELS; i++) {
        if (kind->copies)
            copy(SPW_OP_COPY_D2H, gradient);
        launch(KERNELS, gradient, parameters[i], parameters[i]);
        if (kind->copies)
            copy(SPW_OP_COPY_H2D, parameters[i]);
    }
    release(gradient);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (!strcmp(argv[2], kinds[i].name))
            kind = &kinds[i];
    uint64_t parameters[KERNELS], *made = kind ? calloc(kind->layers, sizeof(*made)) : NULL;
    if (!made || spw_trace_writer_create(argv[1], &writer) < 0) {
        fprintf(stderr, "usage: write-trace FILE many|offload|hostile|once\n");
        return 2;
    }
    define();
    for (int i = 0; i < KERNELS; i++)
        parameters[i] = allocate(COPY_BYTES, 1 + (uint32_t)i);
    for (iteration = 0; iteration < (kind->repeats ? ITERATIONS : 1); iteration++)
        iterate(parameters, made);
    put(&(struct spw_record){.kind = SPW_RECORD_END, .end = {now_ns, next_op, next_alloc - 1}});
    free(made);
    return spw_trace_writer_destroy(writer) < 0;
}
