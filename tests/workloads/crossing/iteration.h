/* iteration.h - an iteration of several streams, drawn by a seed: what is submitted, in which order and to which stream, and
 * just those waits without which two of its operations would race. */
#ifndef CROSSING_ITERATION_H
#define CROSSING_ITERATION_H
#include <stddef.h>
#include <stdint.h>
#include <vector>

enum { MAX_STREAMS = 6, LEGACY = MAX_STREAMS, LANES }; /* the legacy stream comes after the program's own */

enum action_kind {
    ALLOCATE, /* tensor `out` */
    FREE,
    MAKE,        /* out = f(a, b), all of it or one half */
    FOLD,        /* out = f(out, a), all of it or one half */
    ZERO,        /* a half of it, or all */
    SCATTER,     /* out[permuted] = f(a), which leaves gaps once it is late */
    LATE_SIDE,   /* out = f(a, b), and b changes once it is late */
    COUNT,       /* adds up a; `out` is a single word */
    UPLOAD,      /* from the host, which writes anew there in each step */
    COPY_WITHIN, /* out = a on the device, all of it or one half, as far as both go */
    COPY_ROWS,   /* every second row of out = a */
    ZERO_ROWS,   /* every second row of it */
    TO_HOST,     /* out, in pinned memory, = a */
    FROM_HOST,   /* out = a, which is in pinned memory */
    ON_HOST,     /* a host function changes `out`, in pinned memory, in the order of the stream */
    TABLE,       /* out = f(out, b), both by addresses in tensor a, which the host writes there before */
    GRAPH,       /* a graph that was captured before the first step: out = f(out, a), both persistent */
    RECORD,      /* event `event` on the stream */
    WAIT,        /* for event `event`, by the stream */
    HOST_EVENT,  /* the host waits for it */
    HOST_QUERY,  /* the host asks for it until it has come */
    HOST_STREAM  /* the host waits for the stream */
};

enum { LOW = 1, HIGH = 2, BOTH = 3 }; /* halves of a tensor, a bit for each */

struct action {
    enum action_kind kind;
    int stream;
    int a = -1, b = -1, out = -1; /* tensors */
    int part = BOTH;              /* of `out` */
    int part_of_a = BOTH;         /* that is read */
    int event = -1;
};

struct iteration_options {
    uint32_t seed = 1;
    int streams = 3, operations = 60;
    bool in_stream_order = true; /* allocations and frees are operations of a stream; else the host's, which order nothing */
    bool is_wide = false;        /* copies on the device and by rows, host functions, and graphs as well */
    bool crosses_threads = false; /* two host threads share the streams: no wait by the host, and nothing legacy */
};

struct iteration {
    std::vector<action> actions;
    std::vector<size_t> words;    /* of each tensor */
    std::vector<bool> persistent; /* it lives from the first step to the last */
    std::vector<bool> pinned;     /* it is in pinned memory of the host, and persistent */
    std::vector<bool> blocking;   /* of each stream: it waits for the legacy stream, and is waited for */
    int events = 0;
    int tables = -1; /* a persistent tensor of addresses, which are others in each run; or none */
    int result;      /* a persistent tensor that hears of everything */
};

struct iteration draw_iteration(const struct iteration_options &o, size_t words);
#endif
