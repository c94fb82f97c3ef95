/* model.h - a trace as the tools see it: who ran, what the run needed, and one iteration in full.
 *
 * A trace may be long, an iteration is not: the file is read twice, first for definitions, totals and where iterations
 * begin, then for the one iteration that is looked at. Memory is bounded by the definitions, the live allocations and that
 * iteration, not by the length of the trace. Everything here is owned by the model. */
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
    uint64_t total_bytes, free_bytes, budget_bytes; /* at the start; budget 0: none */
    uint64_t peak_bytes;                            /* most that was allocated at once in the run */
    uint64_t peak_op;                               /* operations before that moment */
    uint64_t live_bytes_at_end;
    struct spw_record_machine machine; /* what the run within a budget takes into account; 0: not known */
};

struct model_function {
    char *name;     /* as the driver gives it */
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
    uint64_t allocations, bytes; /* over the run */
};

struct model_stream {
    uint32_t device, flags;
    bool legacy, per_thread;
};

struct model_shape { /* an iteration that repeats */
    uint32_t id;
    uint64_t length;   /* operations */
    uint64_t count;    /* iterations of it that the trace has complete */
    uint64_t first_op; /* of the first and of the last of them */
    uint64_t last_op;
    uint64_t time_ns; /* host time of one: median */
};

struct model_refusal {   /* a kernel that a run within a budget does not compute again */
    uint32_t device;     /* ordinal */
    char *kernel;        /* its name as the driver gives it, or the beginning of a long one; or a kind of call */
    char *readable;      /* the same, demangled */
    char *reason, *text; /* a name; a sentence that goes on from the kernel's name */
    uint32_t operations; /* of an iteration */
    uint64_t bytes;      /* that they made and that are wanted later: copied or kept */
};

enum model_category {                   /* guessed from life and use, and always called a guess */
                      MODEL_PARAMETER,  /* lives on; read by many operations, written by the last part of the iteration */
                      MODEL_GRADIENT,   /* of a parameter's size; written late, read by the update */
                      MODEL_OPTIMIZER,  /* lives on; touched by the update alone */
                      MODEL_ACTIVATION, /* made in the first half, used again in the second */
                      MODEL_WORKSPACE,  /* touched by one operation, or a few next to each other */
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
    uint32_t site;   /* index into sites, MODEL_NONE when unknown */
    bool persistent; /* alive before the first and after the last operation */
    uint32_t alloc_before,
        free_after;   /* operations of the iteration, as in spillway-iteration/1; persistent: 0 and the last */
    uint32_t ordinal; /* k-th allocation of the iteration; MODEL_NONE for what was there before */
    enum model_category category;
    uint32_t use_count;           /* operations that touch it */
    uint32_t first_use, last_use; /* MODEL_NONE: never used */
    uint32_t first_write;         /* who makes it: operation, MODEL_NONE */
    uint64_t longest_idle_ns;     /* between two uses next to each other (over the boundary, for what lives on) */
    uint32_t idle_from, idle_to;  /* these two uses */
    bool lives_on;                /* allocated in the iteration, and not freed in it */
    bool gone;                    /* freed before the first operation; none of these is left when the model is complete */
    bool certain_writes; /* only copies and sets, whose ends are known, touch it; else touches may be reads or writes */
};

struct model_touch {
    uint32_t tensor; /* index */
    uint64_t offset, bytes;
    enum spw_access access;
    bool believed; /* it reads; that it does not write as well was observed, and nothing else says so */
};

struct model_op {
    enum spw_op_kind kind;
    uint32_t function; /* index, MODEL_NONE */
    uint32_t stream;   /* index */
    uint64_t number;   /* in the trace */
    uint64_t time_ns;  /* of the call, host */
    bool timed;
    uint64_t start_ns, duration_ns; /* on the device, start from the iteration's first; valid when timed */
    uint64_t share_ns;              /* of duration_ns, in which no other that began before was going on */
    uint64_t bytes;
    uint32_t grid[3], block[3], shared_bytes;
    bool captured, synchronous, everything;
    uint32_t first_touch, touch_count; /* into touches; each tensor once */
    uint64_t live_bytes;               /* of all devices together, while it runs */
};

enum model_phase_kind { MODEL_FORWARD, MODEL_BACKWARD, MODEL_UPDATE, MODEL_PHASES };

struct model_phase { /* operations [first, end); guessed: forward until memory stops growing, update from where optimizer
                        state is used */
    uint32_t first, end;
    uint64_t peak_bytes, duration_ns;
};

struct model_wait {
    enum spw_wait_kind kind;
    uint32_t before; /* operation of the iteration that comes next */
    uint64_t time_ns, duration_ns;
};

struct symbols;

struct model {
    /* the run */
    uint32_t pid, rank;
    uint64_t started_unix_ns;
    char *mode, *version, *command, *host;
    bool ended;    /* by itself; else the trace was cut off */
    uint64_t lost; /* records that could not be written */
    uint64_t duration_ns, ops, allocs, frees, waits, waited_ns;
    uint64_t op_count[SPW_OP_KINDS], op_bytes[SPW_OP_KINDS];
    struct model_device *devices;
    uint32_t device_count;
    struct model_function *functions;
    uint32_t function_count; /* index is the trace's id; 0 is nobody's */
    struct model_module *modules;
    uint32_t module_count; /* likewise */
    struct model_site *sites;
    uint32_t site_count; /* likewise */
    struct model_stream *streams;
    uint32_t stream_count; /* likewise */
    struct model_shape *shapes;
    uint32_t shape_count;
    struct model_refusal *refusals; /* by device, as they were told last */
    uint32_t refusal_count;

    /* the iteration; iteration_count is 0 when none was found */
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
    bool timed;            /* all operations of the iteration are, but captured ones, which take no time */
    uint64_t iteration_ns; /* device time from the first start to the last end, or host time where not timed */
    uint64_t compute_ns;   /* sum of the durations of what is no copy between host and device */
    uint64_t persistent_bytes, peak_bytes; /* over the iteration, all devices */
    uint32_t peak_at;                      /* operation */

    struct symbols *symbols; /* symbols.h; made when first needed */
    char **site_names;       /* likewise */
};

struct model_options {
    bool partial; /* report what could be read of a damaged file */
    uint64_t
        at_op; /* the iteration that holds this operation; MODEL_NO_OP: the best one (timed, of the most frequent shape) */
    void (*progress)(void *context, uint64_t done, uint64_t all); /* bytes of the file over both passes; NULL: none */
    void *context;
};

/* 0 and *ret_model; else negative and the problem: -EBADMSG for a damaged file (with `partial` what could be read is there
 * too, and the result is -EBADMSG all the same), else an errno. */
int model_read(const char *path, const struct model_options *options, struct model **ret_model,
               struct spw_trace_problem *ret_problem);
void model_free(struct model *model);

/* Where an address of a stack lies, for people: function, file and line where debug information is at hand (libdw), else the
 * nearest symbol, else "file+0x…". Kept by the model. */
const char *model_frame_text(struct model *model, uint64_t frame);

/* What an operation is called: the kernel's readable name, or what it copies. */
const char *model_op_name(const struct model *model, const struct model_op *op);

/* The frame that says most: the innermost that is neither the CUDA runtime's nor an allocator's (malloc-like wrappers of
 * frameworks are skipped by name). MODEL_NONE site or nothing known: "unknown". */
const char *model_site_text(struct model *model, uint32_t site);

/* The same, and before it the frame that tells it from all other sites of the iteration (site_names.h). */
const char *model_site_name(struct model *model, uint32_t site);
#endif
