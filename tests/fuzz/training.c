/* training.c - a small training program as the recorder would tell it: definitions, parameters, then steps of forward,
 * backward and update, some of them timed. */
#include "training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORWARD = 1, BACKWARD, UPDATE, NAMELESS, FUNCTIONS };
enum { MAIN_STREAM = 1, COPY_STREAM, STREAMS };
enum { MODULES = 2, SITES = 6, FRAMES = 4, FRAME_STEPS = 2, TIMED_FROM = 10, TIMED_TO = 12 };
enum { INPUT_BYTES = 3 << 16, LAYER_BYTES = 1 << 20 };

struct program {
    struct spw_trace_writer *writer;
    uint64_t time_ns, device_ns, ops, allocs;
    uint64_t parameter[TRAINING_LAYERS], state[TRAINING_LAYERS], activation[TRAINING_LAYERS], gradient[TRAINING_LAYERS];
    uint64_t first_op; /* of the step */
};

static void put(struct program *p, const struct spw_record *record)
{
    if (spw_trace_put(p->writer, record) < 0) {
        fprintf(stderr, "training: a record cannot be written\n");
        abort();
    }
}

static void put_definitions(struct program *p)
{
    static const char *const names[FUNCTIONS] = {"", "_Z7forwardIfEvPKT_PS0_i", "_Z8backwardPKfS0_Pf", "adam<\"fused\">",
                                                 "k\xe4rnel"};
    put(p, &(struct spw_record){.kind = SPW_RECORD_PROCESS,
                                .process = {.pid = 4711,
                                            .started_unix_ns = UINT64_C(1800000000000000000),
                                            .mode = "trace",
                                            .version = "1.0",
                                            .command = "python3 train.py --note 'a\nb'",
                                            .host = "host"}});
    put(p, &(struct spw_record){
               .kind = SPW_RECORD_DEVICE,
               .device = {.name = "a device", .total_bytes = UINT64_C(8) << 30, .free_bytes = UINT64_C(7) << 30}});
    for (uint32_t i = 1; i <= MODULES; i++)
        put(p, &(struct spw_record){.kind = SPW_RECORD_MODULE,
                                    .module = {.id = i,
                                               .start = (uint64_t)i << 32,
                                               .end = ((uint64_t)i << 32) + (1 << 20),
                                               .path = i == 1 ? "/proc/self/exe" : "/opt/train/libmodel.so",
                                               .build_id = (const uint8_t *)"0123456789",
                                               .build_id_bytes = i == 1 ? 0 : 10}});
    for (uint32_t i = 1; i <= SITES; i++) {
        uint64_t frames[FRAMES];
        for (uint32_t k = 0; k < FRAMES; k++)
            frames[k] = ((uint64_t)(1 + (i + k) % MODULES) << 32) + 0x2000 + 0x40 * (uint64_t)i + 0x1000 * (uint64_t)k;
        put(p, &(struct spw_record){.kind = SPW_RECORD_SITE, .site = {.id = i, .count = FRAMES, .frames = frames}});
    }
    for (uint32_t i = 1; i < FUNCTIONS; i++)
        put(p, &(struct spw_record){.kind = SPW_RECORD_FUNCTION,
                                    .function = {.id = i, .name = names[i], .parsed = i != NAMELESS}});
    for (uint32_t i = 1; i < STREAMS; i++)
        put(p, &(struct spw_record){.kind = SPW_RECORD_STREAM, .stream = {.id = i, .legacy = i == MAIN_STREAM}});
}

static uint64_t put_alloc(struct program *p, uint32_t site, uint64_t bytes)
{
    const uint64_t id = ++p->allocs;
    put(p, &(struct spw_record){.kind = SPW_RECORD_ALLOC,
                                .alloc = {.id = id,
                                          .kind = SPW_ALLOC_PLAIN,
                                          .address = UINT64_C(0x7f0000000000) + id % 32 * LAYER_BYTES,
                                          .bytes = bytes,
                                          .site = site,
                                          .time_ns = p->time_ns += 700}});
    return id;
}

static void put_free(struct program *p, uint64_t id)
{
    put(p, &(struct spw_record){.kind = SPW_RECORD_FREE, .free = {.id = id, .time_ns = p->time_ns += 300}});
}

/* An operation that reads and writes two tensors each, of which 0 is none. */
static void put_op(struct program *p, enum spw_op_kind kind, uint32_t function, const uint64_t reads[2], uint64_t write)
{
    struct spw_touch touches[3];
    uint32_t count = 0;
    for (unsigned i = 0; i < 2; i++)
        if (reads[i])
            touches[count++] = (struct spw_touch){.alloc = reads[i], .access = SPW_ACCESS_READ};
    if (write)
        touches[count++] = (struct spw_touch){.alloc = write, .access = SPW_ACCESS_WRITE};
    const bool launch = kind == SPW_OP_LAUNCH;
    put(p, &(struct spw_record){.kind = SPW_RECORD_OP,
                                .op = {.kind = kind,
                                       .stream = launch ? MAIN_STREAM : COPY_STREAM,
                                       .time_ns = p->time_ns += 5000 + p->ops % 7,
                                       .synchronous = kind == SPW_OP_COPY_D2H,
                                       .function = function,
                                       .grid = {launch ? 256 : 0, launch, launch},
                                       .block = {launch ? 128 : 0, launch, launch},
                                       .bytes = launch ? 0 : INPUT_BYTES,
                                       .touch_count = count,
                                       .touches = touches}});
    p->ops++;
}

static void put_launch(struct program *p, uint32_t function, uint64_t a, uint64_t b, uint64_t write)
{
    put_op(p, SPW_OP_LAUNCH, function, (const uint64_t[]){a, b}, write);
}

static void put_durations(struct program *p)
{
    for (uint64_t op = p->first_op; op < p->ops; op++)
        put(p,
            &(struct spw_record){.kind = SPW_RECORD_DURATION,
                                 .duration = {.op = op, .start_ns = p->device_ns += 9000, .duration_ns = 8000 + op % 50}});
}

static void put_mark(struct program *p, enum spw_mark_kind kind)
{
    put(p, &(struct spw_record){.kind = SPW_RECORD_MARK, .mark = {.kind = kind, .op = p->ops}});
}

/* TRAINING_OPS operations. */
static void put_step(struct program *p)
{
    const uint64_t input = put_alloc(p, 1, INPUT_BYTES);
    p->first_op = p->ops;
    put_op(p, SPW_OP_COPY_H2D, 0, (const uint64_t[]){0, 0}, input);
    for (int i = 0; i < TRAINING_LAYERS; i++) {
        p->activation[i] = put_alloc(p, 2, LAYER_BYTES << (i & 1));
        put_launch(p, FORWARD, i ? p->activation[i - 1] : input, p->parameter[i], p->activation[i]);
    }
    put_op(p, SPW_OP_COPY_D2H, 0, (const uint64_t[]){p->activation[TRAINING_LAYERS - 1], 0}, 0);
    for (int i = TRAINING_LAYERS; i-- > 0;) {
        p->gradient[i] = put_alloc(p, 3, LAYER_BYTES);
        put_launch(p, BACKWARD, p->activation[i], p->parameter[i], p->gradient[i]);
        put_launch(p, NAMELESS, p->gradient[i], 0, p->gradient[i]);
        put_free(p, p->activation[i]);
    }
    put_free(p, input);
    for (int i = 0; i < TRAINING_LAYERS; i++) {
        put_launch(p, UPDATE, p->gradient[i], p->state[i], p->parameter[i]);
        put_free(p, p->gradient[i]);
    }
    put_op(p, SPW_OP_SET, 0, (const uint64_t[]){0, 0}, p->state[0]);
    put(p, &(struct spw_record){.kind = SPW_RECORD_WAIT, .wait = {.time_ns = p->time_ns += 100, .duration_ns = 4000}});
}

void put_training(struct spw_trace_writer *writer)
{
    struct program program = {.writer = writer}, *p = &program;
    put_definitions(p);
    for (uint32_t i = 0; i < TRAINING_LAYERS; i++) {
        p->parameter[i] = put_alloc(p, 4, LAYER_BYTES);
        p->state[i] = put_alloc(p, 5, 2 * LAYER_BYTES);
    }
    for (unsigned step = 0; step < TRAINING_STEPS; step++) {
        if (step == TIMED_FROM || step == TIMED_TO)
            put_mark(p, step == TIMED_FROM ? SPW_MARK_TIMING_BEGIN : SPW_MARK_TIMING_END);
        put_step(p);
        if (step >= TIMED_FROM && step < TIMED_TO)
            put_durations(p);
        if (step % FRAME_STEPS == 0 && spw_trace_flush(writer) < 0)
            abort();
    }
    put(p, &(struct spw_record){.kind = SPW_RECORD_END, .end = {.time_ns = p->time_ns, .ops = p->ops, .allocs = p->allocs}});
}
