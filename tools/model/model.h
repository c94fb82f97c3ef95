/* model.h - a trace as the tools see it: which process ran, what the run needed, and one iteration in full.
 *
 * A trace may be long, an iteration is not. So the file is read twice: first for definitions, totals and where
 * iterations begin, then for the one iteration that is examined. Memory is bounded by the definitions, the live
 * allocations and that iteration, not by the length of the trace. The model owns everything here. */
#ifndef SPILLWAY_TOOLS_MODEL_H
#define SPILLWAY_TOOLS_MODEL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

#define MODEL_NONE  UINT32_MAX
#define MODEL_NO_OP UINT64_MAX

struct model_device {
    uint32_t ordinal;
    char *name;
    uint64_t total_bytes, free_bytes, budget_bytes; /* total, free: at the start; budget 0: none */
    uint64_t peak_bytes;                            /* most bytes allocated at once in the run */
    uint64_t peak_op;                               /* number of operations before that moment */
    uint64_t live_bytes_at_end;
    struct spw_record_machine machine; /* what the run within a budget uses; 0: unknown */
};

struct model_function {
    char *name;     /* as the driver returns it */
    char *readable; /* demangled, without parameters */
    bool parsed;
    uint64_t launches;
};

struct model_module {
    char *path;
    uint64_t start, end, file_offset;
    uint8_t build_id[64];
    uint32_t build_id_bytes;
};

struct model_site { /* a call stack, innermost first */
    uint32_t count;
    uint64_t *frames;
    uint64_t allocations, bytes; /* totals of the run */
};

struct model_stream {
    uint32_t device, flags;
    bool legacy, per_thread;
};

struct model_shape { /* an iteration that repeats */
    uint32_t id;
    uint64_t length;   /* operations */
    uint64_t count;    /* complete iterations of it in the trace */
    uint64_t first_op; /* first operations of the first and the last of them */
    uint64_t last_op;
    uint64_t time_ns;                           /* median of their host times */
    uint64_t least_peak_bytes, most_peak_bytes; /* least and most peak of its iterations, all devices together */
};

struct model_refusal { /* a kernel that a run within a budget does not replay */
    uint32_t device;   /* ordinal */
    /* Its name as the driver returns it, or the beginning of a long one; or a kind of call. */
    char *kernel;
    char *readable;      /* the same, demangled */
    char *reason, *text; /* a name; a sentence that continues after the kernel's name */
    uint32_t operations; /* of an iteration */
    uint64_t bytes;      /* made by them and needed later: copied or kept */
};

enum model_category { /* guessed from lifetime and use, and always called a guess */
                      /* Lives on; read by many operations, written in the last part of the iteration. */
                      MODEL_PARAMETER,
                      MODEL_GRADIENT,   /* of a parameter's size; written late, read by the update */
                      MODEL_OPTIMIZER,  /* lives on; only the update touches it */
                      MODEL_ACTIVATION, /* made in the first half, used again in the second */
                      MODEL_WORKSPACE,  /* touched by one operation, or by a few adjacent ones */
                      MODEL_INPUT,      /* filled from the host, then read */
                      MODEL_OTHER,
                      MODEL_CATEGORIES
};
const char *model_category_name(enum model_category category);

struct model_tensor { /* an allocation that is alive in the iteration */
    uint64_t alloc;   /* its id in the trace */
    uint64_t bytes, address;
    uint32_t device;
    enum spw_alloc_kind kind;
    uint32_t site;   /* index into sites; MODEL_NONE: unknown */
    bool persistent; /* alive before the first and after the last operation */
    /* Operations of the iteration, as in spillway-iteration/1; persistent: 0 and the last. */
    uint32_t alloc_before, free_after;
    uint32_t ordinal; /* k-th allocation of the iteration; MODEL_NONE: it existed before */
    enum model_category category;
    uint32_t use_count;           /* operations that touch it */
    uint32_t first_use, last_use; /* MODEL_NONE: never used */
    uint32_t first_write;         /* the operation that makes it; MODEL_NONE: none */
    uint64_t longest_idle_ns;     /* between two successive uses (across the boundary, for one that lives on) */
    uint32_t idle_from, idle_to;  /* those two uses */
    bool lives_on;                /* allocated in the iteration, and not freed in it */
    bool gone;                    /* freed before the first operation; a complete model has none of these */
    /* Only copies and sets, whose ends are known, touch it; otherwise touches may be reads or writes. */
    bool certain_writes;
};

struct model_touch {
    uint32_t tensor; /* index */
    uint64_t offset, bytes;
    enum spw_access access;
    bool believed; /* it reads, and probably does not write: only observation says so */
};

struct model_op {
    enum spw_op_kind kind;
    uint32_t function; /* index; MODEL_NONE: none */
    uint32_t stream;   /* index */
    uint64_t number;   /* in the trace */
    uint64_t time_ns;  /* host time of the call */
    bool timed;
    uint64_t start_ns, duration_ns; /* on the device; start relative to the iteration's first; valid if timed */
    /* The part of duration_ns in which no operation that began earlier was running. */
    uint64_t share_ns;
    uint64_t bytes;
    uint32_t grid[3], block[3], shared_bytes;
    bool captured, synchronous, everything;
    uint32_t first_touch, touch_count; /* in touches; each tensor at most once */
    uint64_t live_bytes;               /* of all devices, while it runs */
};

enum model_phase_kind { MODEL_FORWARD, MODEL_BACKWARD, MODEL_UPDATE, MODEL_PHASES };

/* Operations [first, end). Guessed: forward until memory stops growing, update from where optimizer state is used. */
struct model_phase {
    uint32_t first, end;
    uint64_t peak_bytes, duration_ns;
};

struct model_wait {
    enum spw_wait_kind kind;
    uint32_t before; /* the next operation of the iteration */
    uint64_t time_ns, duration_ns;
};

struct symbols;

struct model {
    /* The run. */
    uint32_t pid, rank;
    uint64_t started_unix_ns;
    char *mode, *version, *command, *host;
    bool ended;    /* it ended by itself; else the trace was cut off */
    uint64_t lost; /* records that could not be written */
    uint64_t duration_ns, ops, allocs, frees, waits, waited_ns;
    uint64_t op_count[SPW_OP_KINDS], op_bytes[SPW_OP_KINDS];
    struct model_device *devices;
    uint32_t device_count;
    struct model_function *functions;
    uint32_t function_count; /* the index is the trace's id; 0 is unused */
    struct model_module *modules;
    uint32_t module_count; /* likewise */
    struct model_site *sites;
    uint32_t site_count; /* likewise */
    struct model_stream *streams;
    uint32_t stream_count; /* likewise */
    struct model_shape *shapes;
    uint32_t shape_count;
    bool sizes_change;              /* the iterations were found by their kernels alone: tensors have other sizes in each */
    struct model_refusal *refusals; /* by device, the latest list of each */
    uint32_t refusal_count;

    /* The iteration; iteration_count is 0 if none was found. */
    uint32_t shape;    /* index into shapes */
    uint64_t first_op; /* in the trace */
    struct model_op *iteration;
    uint32_t iteration_count;
    struct model_touch *touches;
    uint32_t touch_count;
    struct model_tensor *tensors;
    uint32_t tensor_count;
    struct model_wait *iteration_waits;
    uint32_t iteration_wait_count;
    struct model_phase phases[MODEL_PHASES];
    bool timed;                            /* all its operations are, except captured ones, which take no time */
    uint64_t iteration_ns;                 /* device time from the first start to the last end, or host time if not timed */
    uint64_t compute_ns;                   /* sum of the durations of all but copies between host and device */
    uint64_t persistent_bytes, peak_bytes; /* in the iteration, all devices together */
    uint32_t peak_at;                      /* operation */

    struct symbols *symbols; /* symbols.h; created when first needed */
    char **site_names;       /* likewise */
};

struct model_options {
    bool partial; /* return what could be read of a damaged file */
    /* The operation whose iteration is wanted; MODEL_NO_OP: the best one (timed, of the most frequent shape). */
    uint64_t at_op;
    /* Bytes of the file in both passes; NULL: not called. */
    void (*progress)(void *context, uint64_t done, uint64_t all);
    void *context;
};

/* Reads a trace. Returns 0 and *ret_model, or a negative errno and the problem. -EBADMSG: the file is damaged; with
 * `partial`, *ret_model has what could be read, and the result is still -EBADMSG. */
int model_read(const char *path, const struct model_options *options, struct model **ret_model,
               struct spw_trace_problem *ret_problem);
void model_free(struct model *model);

/* Returns where an address of a stack lies, for people: function, file and line if there is debug information (libdw),
 * else the nearest symbol, else "file+0x…". The model keeps the text. */
const char *model_frame_text(struct model *model, uint64_t frame);

/* Returns the name of an operation: the kernel's readable name, or what it copies. */
const char *model_op_name(const struct model *model, const struct model_op *op);

/* Returns the most informative frame: the innermost one that belongs neither to the CUDA runtime nor to an allocator
 * (malloc-like wrappers of frameworks are skipped by name). "unknown" for site MODEL_NONE or if nothing is known. */
const char *model_site_text(struct model *model, uint32_t site);

/* Returns that frame, preceded by the frame that distinguishes the site from all others of the iteration (site_names.h). */
const char *model_site_name(struct model *model, uint32_t site);
#endif
