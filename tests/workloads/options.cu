/* options.cu - reads the command line that all training programs share. */
#include "options.h"
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZE = 256,
    LAYERS,
    WIDTH,
    HEADS,
    BATCH,
    SEQUENCE,
    STEPS,
    SEED,
    STREAMS,
    ACCUMULATE,
    EVALUATE,
    SCHEDULE,
    SHORT,
    KEEP,
    NOISE,
    TIMES,
    DROPOUT,
    IN_PLACE,
    FUSED,
    ALLOC,
    DEVICE,
    DATA,
    CHECK_GRADIENTS
};

static const struct argp_option known[] = {
    {"size", SIZE, "tiny|small|base", 0, "dimensions that fit together (small); each can be changed alone:", 0},
    {"layers", LAYERS, "N", 0, "layers, or blocks per stage", 0},
    {"width", WIDTH, "N", 0, "numbers per token, image or pixel", 0},
    {"heads", HEADS, "N", 0, "attention heads; width must be a multiple", 0},
    {"batch", BATCH, "N", 0, "sequences or images per forward pass", 0},
    {"sequence", SEQUENCE, "N", 0, "bytes of text per sequence", 0},
    {"steps", STEPS, "N", 0, "training steps", 0},
    {"seed", SEED, "N", 0, "of the first parameters and the order of the data (1)", 0},
    {"streams", STREAMS, "N", 0, "1 to 4: input copies, weight gradients and the update on streams of their own (1)", 0},
    {"accumulate", ACCUMULATE, "K", 0, "sum the gradients of K batches before each update (1)", 0},
    {"evaluate-every", EVALUATE, "N", 0, "after every N steps a forward pass on data held out (never)", 0},
    {"batch-schedule", SCHEDULE, "N,N,...", 0, "batch sizes of the steps, used in turn", 0},
    {"short-last", SHORT, nullptr, 0, "the last step's batch has half the size", 0},
    {"keep-losses", KEEP, nullptr, 0, "each batch's loss stays on the device, in memory of its own", 0},
    {"noise", NOISE, "N", 0, "in every N-th step a few kernels more, at a place that changes (never)", 0},
    {"step-times", TIMES, nullptr, 0, "print how long each step took", 0},
    {"dropout", DROPOUT, "P", 0, "while training, zero this share of some activations (0)", 0},
    {"in-place", IN_PLACE, nullptr, 0, "activations, or their gradients, take the place of what they are computed from", 0},
    {"fused", FUSED, nullptr, 0, "the optimizer updates several parameters with each kernel", 0},
    {"alloc", ALLOC, "plain|async", 0, "cudaMalloc or cudaMallocAsync (async)", 0},
    {"device", DEVICE, "N", 0, "which device (0)", 0},
    {"data", DATA, "FILE", 0, "learn from this file", 0},
    {"check", CHECK_GRADIENTS, nullptr, 0, "compare all gradients with finite differences, and train nothing", 0},
    {},
};

struct reading {
    const struct program *program;
    struct options options;
    struct dimensions chosen; /* 0: not on the command line */
    const char *size;
};

static long number(struct argp_state *state, const char *name, const char *text, long least, long most)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < least || value > most)
        argp_error(state, "--%s=%s: expected a number from %ld to %ld", name, text, least, most);
    return value;
}

static float share(struct argp_state *state, const char *name, const char *text)
{
    char *end;
    float value = strtof(text, &end);
    if (end == text || *end || !(value >= 0 && value < 1))
        argp_error(state, "--%s=%s: expected a number from 0 to less than 1", name, text);
    return value;
}

static void read_schedule(struct argp_state *state, const char *text, std::vector<int> &ret_schedule)
{
    std::string rest = text;
    ret_schedule.clear();
    for (size_t comma; !rest.empty(); rest = comma == std::string::npos ? "" : rest.substr(comma + 1)) {
        comma = rest.find(',');
        ret_schedule.push_back((int)number(state, "batch-schedule", rest.substr(0, comma).c_str(), 1, 1 << 20));
    }
    if (ret_schedule.empty())
        argp_error(state, "--batch-schedule: expected batch sizes, as in 8,8,5");
}

/* A dimension from the command line, from the size, and what it must be. */
static int dimension(struct argp_state *state, const char *name, int chosen, int usual)
{
    if (chosen && !usual)
        argp_error(state, "--%s means nothing to this program", name);
    return chosen ? chosen : usual;
}

static void combine(struct argp_state *state, struct reading *r)
{
    const char *size = r->size ? r->size : r->options.check ? "tiny" : "small";
    const struct program *p = r->program;
    const struct dimensions &usual = !strcmp(size, "tiny")    ? p->tiny
                                     : !strcmp(size, "small") ? p->small
                                                              : p->base,
                            &c = r->chosen;
    if (strcmp(size, "tiny") && strcmp(size, "small") && strcmp(size, "base"))
        argp_error(state, "--size=%s: expected tiny, small or base", size);
    r->options.size = {
        dimension(state, "layers", c.layers, usual.layers),       dimension(state, "width", c.width, usual.width),
        dimension(state, "heads", c.heads, usual.heads),          dimension(state, "batch", c.batch, usual.batch),
        dimension(state, "sequence", c.sequence, usual.sequence), dimension(state, "steps", c.steps, usual.steps)};
    const struct dimensions &d = r->options.size;
    if (d.heads && d.width % d.heads)
        argp_error(state, "--width=%d is not a multiple of --heads=%d", d.width, d.heads);
    if (r->options.dropout > 0 && !p->dropout)
        argp_error(state, "--dropout means nothing to this program");
    if (r->options.in_place && !p->in_place)
        argp_error(state, "--in-place means nothing to this program");
    if (r->options.short_last && !r->options.schedule.empty())
        argp_error(state, "--short-last and --batch-schedule exclude each other");
}

static error_t read_option(int key, char *text, struct argp_state *state)
{
    struct reading *r = (struct reading *)state->input;
    struct options &o = r->options;
    switch (key) {
    case SIZE:
        r->size = text;
        return 0;
    case LAYERS:
        r->chosen.layers = (int)number(state, "layers", text, 1, 1000);
        return 0;
    case WIDTH:
        r->chosen.width = (int)number(state, "width", text, 1, 1 << 16);
        return 0;
    case HEADS:
        r->chosen.heads = (int)number(state, "heads", text, 1, 1000);
        return 0;
    case BATCH:
        r->chosen.batch = (int)number(state, "batch", text, 1, 1 << 20);
        return 0;
    case SEQUENCE:
        r->chosen.sequence = (int)number(state, "sequence", text, 1, 1 << 14);
        return 0;
    case STEPS:
        r->chosen.steps = (int)number(state, "steps", text, 1, 1000000);
        return 0;
    case SEED:
        o.seed = (uint64_t)number(state, "seed", text, 0, 1000000000);
        return 0;
    case STREAMS:
        o.streams = (int)number(state, "streams", text, 1, 4);
        return 0;
    case ACCUMULATE:
        o.accumulate = (int)number(state, "accumulate", text, 1, 1000);
        return 0;
    case EVALUATE:
        o.evaluate_every = (int)number(state, "evaluate-every", text, 1, 1000000);
        return 0;
    case SCHEDULE:
        read_schedule(state, text, o.schedule);
        return 0;
    case SHORT:
        o.short_last = true;
        return 0;
    case KEEP:
        o.keep_losses = true;
        return 0;
    case NOISE:
        o.noise_every = (int)number(state, "noise", text, 1, 1000000);
        return 0;
    case TIMES:
        o.step_times = true;
        return 0;
    case DROPOUT:
        o.dropout = share(state, "dropout", text);
        return 0;
    case IN_PLACE:
        o.in_place = true;
        return 0;
    case FUSED:
        o.fused = true;
        return 0;
    case ALLOC:
        if (strcmp(text, "plain") && strcmp(text, "async"))
            argp_error(state, "--alloc=%s: expected plain or async", text);
        o.allocator = strcmp(text, "plain") ? ALLOCATE_ASYNC : ALLOCATE_PLAIN;
        return 0;
    case DEVICE:
        o.device = (int)number(state, "device", text, 0, 1000);
        return 0;
    case DATA:
        o.data = text;
        return 0;
    case CHECK_GRADIENTS:
        o.check = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", text);
        return 0;
    case ARGP_KEY_END:
        combine(state, r);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int batch_size(const struct options &o, int step)
{
    if (!o.schedule.empty())
        return o.schedule[step % o.schedule.size()];
    return o.short_last && step == o.size.steps - 1 ? (o.size.batch + 1) / 2 : o.size.batch;
}

int largest_batch(const struct options &o)
{
    int most = o.schedule.empty() ? o.size.batch : 0;
    for (int size : o.schedule)
        most = size > most ? size : most;
    return most;
}

struct options read_options(const struct program &program, int argc, char **argv)
{
    struct reading r = {&program, {}, {}, nullptr};
    const struct argp parser = {known, read_option, nullptr, program.about, nullptr, nullptr, nullptr};
    r.options.seed = r.options.streams = r.options.accumulate = 1;
    argp_err_exit_status = 2;
    if (argp_parse(&parser, argc, argv, 0, nullptr, &r))
        exit(2);
    return r.options;
}
