/* choices.cu - reads the command line of replay; knows all kinds of layers by name. */
#include "choices.h"
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <string>

static const struct kind kinds[] = {
    {"plain", true, false, forward_plain},       {"matmul", true, false, forward_matmul},
    {"atomics", true, false, forward_atomics},   {"global", true, false, forward_global},
    {"in-place", true, false, forward_in_place}, {"struct", true, false, forward_struct},
    {"copy", true, false, forward_copy},         {"set", true, false, forward_set},
    {"chain", true, false, forward_chain},       {"two-outputs", true, false, forward_two_outputs},
    {"clock", false, false, forward_clock},      {"counter", false, false, forward_counter},
    {"half", false, false, forward_half},        {"old", false, false, forward_old},
    {"scale", false, false, forward_scale},      {"turns", false, false, forward_turns},
    {"updated", false, true, forward_updated},   {"reused", false, true, forward_reused},
    {"aside", false, true, forward_aside},       {"told", false, true, forward_told},
    {"tracks", false, true, forward_tracks},     {"wears", false, true, forward_wears},
    {"tally", false, true, forward_tally},       {"random", false, true, forward_random},
};

enum { KINDS = 256, ROUNDS, SIZE, ROWS_OF, COLUMNS_OF, STEPS, SEED, TIMES, NAIVE, ALLOC, DEVICE };

static const struct argp_option known[] = {
    {"kinds", KINDS, "A,B,...", 0,
     "kinds of layers, in this order: plain, matmul, atomics, global, in-place, struct, copy, set, chain, two-outputs "
     "(these), clock, counter, half, old, scale, turns; or all; or tracks, wears; or those whose inputs are changed: "
     "updated, reused, aside (by another stream), told (by the host); or those that go on from variables of the module: "
     "tally, random",
     0},
    {"rounds", ROUNDS, "N", 0, "layers of each kind (2)", 0},
    {"size", SIZE, "tiny|small|base", 0, "of tensors (small); or:", 0},
    {"rows", ROWS_OF, "N", 0, "of each tensor", 0},
    {"columns", COLUMNS_OF, "N", 0, "of each tensor", 0},
    {"steps", STEPS, "N", 0, "training steps (8)", 0},
    {"seed", SEED, "N", 0, "of inputs and first weights (1)", 0},
    {"step-times", TIMES, nullptr, 0, "print how long each step took", 0},
    {"naive-replay", NAIVE, nullptr, 0,
     "the backward part uses, instead of what was kept, what its last operation makes in other memory now: shows which "
     "kinds that does not do for",
     0},
    {"alloc", ALLOC, "plain|async", 0, "cudaMalloc or cudaMallocAsync (async)", 0},
    {"device", DEVICE, "N", 0, "which device (0)", 0},
    {},
};

struct reading {
    struct choices choices;
    std::vector<const kind *> kinds;
    const char *size;
    size_t rows, columns; /* 0: by size */
    int rounds;
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

static void read_kinds(struct argp_state *state, std::string rest, std::vector<const kind *> &ret_kinds)
{
    ret_kinds.clear();
    for (size_t comma = 0; comma != std::string::npos; rest = comma == std::string::npos ? "" : rest.substr(comma + 1)) {
        comma = rest.find(',');
        const std::string name = rest.substr(0, comma);
        bool found = false;
        for (const kind &k : kinds)
            if (name == k.name || (name == "all" && !k.is_hazard)) {
                ret_kinds.push_back(&k);
                found = true;
            }
        if (!found)
            argp_error(state, "--kinds: there is no kind '%s'", name.c_str());
    }
}

static void combine(struct argp_state *state, struct reading *r)
{
    static const struct {
        const char *name;
        size_t rows, columns;
    } sizes[] = {{"tiny", 128, 64}, {"small", 1024, 64}, {"base", 16384, 1024}};
    struct choices &c = r->choices;
    c.rows = 0;
    for (const auto &size : sizes)
        if (!strcmp(size.name, r->size)) {
            c.rows = r->rows ? r->rows : size.rows;
            c.columns = r->columns ? r->columns : size.columns;
        }
    if (!c.rows)
        argp_error(state, "--size=%s: expected tiny, small or base", r->size);
    c.streams = 1;
    for (const kind *k : r->kinds)
        c.streams = k->compute == forward_aside ? 2 : c.streams;
    for (int i = 0; i < r->rounds; i++)
        c.layers.insert(c.layers.end(), r->kinds.begin(), r->kinds.end());
}

static error_t read_option(int key, char *text, struct argp_state *state)
{
    struct reading *r = (struct reading *)state->input;
    struct choices &c = r->choices;
    switch (key) {
    case KINDS:
        read_kinds(state, text, r->kinds);
        return 0;
    case ROUNDS:
        r->rounds = (int)number(state, "rounds", text, 1, 1000);
        return 0;
    case SIZE:
        r->size = text;
        return 0;
    case ROWS_OF:
        r->rows = (size_t)number(state, "rows", text, 1, 1 << 24);
        return 0;
    case COLUMNS_OF:
        r->columns = (size_t)number(state, "columns", text, 4, 1 << 14);
        return 0;
    case STEPS:
        c.steps = (int)number(state, "steps", text, 1, 1000000);
        return 0;
    case SEED:
        c.seed = (uint64_t)number(state, "seed", text, 0, 1000000000);
        return 0;
    case TIMES:
        c.step_times = true;
        return 0;
    case NAIVE:
        c.naive = true;
        return 0;
    case ALLOC:
        if (strcmp(text, "plain") && strcmp(text, "async"))
            argp_error(state, "--alloc=%s: expected plain or async", text);
        c.allocator = strcmp(text, "plain") ? ALLOCATE_ASYNC : ALLOCATE_PLAIN;
        return 0;
    case DEVICE:
        c.device = (int)number(state, "device", text, 0, 1000);
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

struct choices read_choices(int argc, char **argv)
{
    static const char about[] =
        "Layers of kernels that a second launch gives the same bits for, or does not: trains with them, "
        "and checks that what is read in the backward part is what was made in the forward part.";
    struct reading r = {{}, {}, "small", 0, 0, 2};
    const struct argp parser = {known, read_option, nullptr, about, nullptr, nullptr, nullptr};
    for (const kind &k : kinds)
        if (k.usual)
            r.kinds.push_back(&k);
    r.choices.steps = 8;
    r.choices.seed = 1;
    r.choices.allocator = ALLOCATE_ASYNC;
    argp_err_exit_status = 2;
    argp_parse(&parser, argc, argv, 0, nullptr, &r);
    return r.choices;
}
