/* record.h - defines the records of a trace: one kind for each kind of thing that a program does or that a reader needs to
 * know.
 *
 * The recorder (shim) fills records, writer.h encodes them, and reader.h returns them in the same order. They are plain
 * numbers: no CUDA, no pointers into the program. docs/trace-format.md describes the bytes.
 *
 * Numbering. Operations are numbered from 0 in the order of their records, whatever their stream. Allocations,
 * functions, modules, sites, streams and events have ids given by the recorder, from 1 on; 0 is "none" or "unknown". An
 * id is defined before it is used, unless the part of the file that defined it is lost. Times are host time in
 * nanoseconds since the trace began; device times are only in SPW_RECORD_DURATION. */
#ifndef SPILLWAY_TRACE_RECORD_H
#define SPILLWAY_TRACE_RECORD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spw_record_kind {
    SPW_RECORD_PROCESS,  /* the first record: which process was traced */
    SPW_RECORD_DEVICE,   /* a device of the process */
    SPW_RECORD_MODULE,   /* a shared object that call stacks point into */
    SPW_RECORD_SITE,     /* a call stack that allocations come from */
    SPW_RECORD_FUNCTION, /* a kernel */
    SPW_RECORD_STREAM,   /* a stream, when first used */
    SPW_RECORD_ALLOC,
    SPW_RECORD_FREE,
    SPW_RECORD_OP,       /* anything that a stream executes; it has the next operation number */
    SPW_RECORD_EVENT,    /* an event that a stream records or waits for */
    SPW_RECORD_WAIT,     /* the host waited for the device */
    SPW_RECORD_DURATION, /* when an earlier operation ran on the device */
    SPW_RECORD_MARK,     /* about the course of the run: an iteration began, timing began or ended */
    SPW_RECORD_COUNTERS, /* what spillway itself has moved so far (mode swap) */
    SPW_RECORD_LOST,     /* records that could not be written */
    SPW_RECORD_END,      /* the process ended by itself */
    SPW_RECORD_REFUSAL,  /* what spillway found that cannot be recomputed (mode swap) */
    SPW_RECORD_MACHINE,  /* what a run within a budget uses of a device */
    SPW_RECORD_KINDS
};

enum { SPW_RECORD_TEXT = 4095, SPW_RECORD_FRAMES = 128, SPW_RECORD_TOUCHES = 65535 }; /* longest text, stack, list */

struct spw_record_process {
    uint32_t pid, rank;       /* rank among the processes of the run; 0 if it is alone */
    uint64_t started_unix_ns; /* wall clock at time 0 of the trace */
    const char *mode;         /* "trace" or "swap" */
    const char *version;      /* of spillway */
    const char *command;      /* the command line, with spaces between words */
    const char *host;
};

struct spw_record_device {
    uint32_t device; /* ordinal */
    const char *name;
    uint64_t total_bytes, free_bytes; /* free: at the start */
    uint64_t budget_bytes;            /* 0: none */
};

struct spw_record_module {
    uint32_t id;
    uint64_t start, end;  /* addresses in the process */
    uint64_t file_offset; /* of the byte at `start` in the file */
    const char *path;
    const uint8_t *build_id;
    uint32_t build_id_bytes; /* 0..64 */
};

struct spw_record_site {
    uint32_t id;
    uint32_t count;         /* number of frames, innermost first */
    const uint64_t *frames; /* return addresses in the process */
};

struct spw_record_function {
    uint32_t id;
    const char *name; /* mangled, as the driver returns it */
    bool parsed;      /* the layout of its parameters is known: the touches contain all direct pointers */
};

struct spw_record_stream {
    uint32_t id;
    uint32_t device;
    uint32_t flags; /* CU_STREAM_* */
    int32_t priority;
    bool legacy, per_thread; /* the default streams */
};

enum spw_alloc_kind {
    SPW_ALLOC_PLAIN, /* cuMemAlloc and the pitched form */
    SPW_ALLOC_ASYNC, /* stream-ordered, from any pool */
    SPW_ALLOC_MANAGED,
    SPW_ALLOC_VMM,    /* physical memory that the program maps itself */
    SPW_ALLOC_GLOBAL, /* a variable of a module */
    SPW_ALLOC_IMPORT, /* from another process or API */
    SPW_ALLOC_HOST,   /* pinned host memory, allocated or registered */
    SPW_ALLOC_KINDS
};

struct spw_record_alloc {
    uint64_t id;     /* increases by one with each allocation, from 1 */
    uint32_t device; /* for HOST: 0 */
    enum spw_alloc_kind kind;
    uint64_t address, bytes;
    uint32_t stream; /* ASYNC: the stream that orders it; else 0 */
    uint32_t site;
    uint64_t time_ns;
};

struct spw_record_free {
    uint64_t id;
    uint32_t stream;
    uint64_t time_ns;
};

enum spw_op_kind {
    SPW_OP_LAUNCH,
    SPW_OP_GRAPH, /* a whole graph */
    SPW_OP_COPY_H2D,
    SPW_OP_COPY_D2H,
    SPW_OP_COPY_D2D, /* also between peers */
    SPW_OP_COPY_H2H,
    SPW_OP_SET,
    SPW_OP_HOST_FUNCTION,
    SPW_OP_VALUE, /* a stream waits for or writes a word of memory */
    SPW_OP_KINDS
};

/* Or-ed. BOTH also if unknown. Added to one of these: LOOSE, the touch is not part of the operation's identity (struct
 * spw_iteration_op); BELIEVED, only observation says that the touch just reads. */
enum spw_access {
    SPW_ACCESS_READ = 1,
    SPW_ACCESS_WRITE = 2,
    SPW_ACCESS_BOTH = 3,
    SPW_ACCESS_LOOSE = 4,
    SPW_ACCESS_BELIEVED = 8
};

static inline bool spw_access_is_one(unsigned access)
{
    return (access & SPW_ACCESS_BOTH) && access <= (SPW_ACCESS_BOTH | SPW_ACCESS_LOOSE | SPW_ACCESS_BELIEVED);
}

struct spw_touch {
    uint64_t alloc;  /* id */
    uint64_t offset; /* of the address within the allocation */
    uint64_t bytes;  /* from there on; 0: unknown, up to all of the allocation */
    enum spw_access access;
};

struct spw_record_op {
    enum spw_op_kind kind;
    uint32_t stream;
    uint64_t time_ns; /* of the call */
    /* It went into a graph that is being captured: it is not executed now. */
    bool captured;
    bool synchronous; /* the call returned after it was done */
    /* It may touch any allocation, since its parameters could not be read. */
    bool everything;
    uint32_t function;                        /* LAUNCH */
    uint32_t grid[3], block[3], shared_bytes; /* LAUNCH */
    uint64_t bytes;                           /* copies and sets: bytes moved or written */
    uint32_t touch_count;
    /* In the order of the parameters; for copies the destination before the source. */
    const struct spw_touch *touches;
};

struct spw_record_event {
    uint32_t event, stream;
    bool wait; /* the stream waits for the event; false: the event is recorded */
};

enum spw_wait_kind { SPW_WAIT_CONTEXT, SPW_WAIT_STREAM, SPW_WAIT_EVENT, SPW_WAIT_KINDS };

struct spw_record_wait {
    enum spw_wait_kind kind;
    uint32_t what; /* stream or event */
    uint64_t time_ns, duration_ns;
};

struct spw_record_duration {
    uint64_t op;
    /* Device time; start is relative to the first timed operation of its device. */
    uint64_t start_ns, duration_ns;
};

enum spw_mark_kind {
    SPW_MARK_ITERATION,    /* operation `op` is the first of an iteration of `shape`, which has `length` operations */
    SPW_MARK_TIMING_BEGIN, /* operations from `op` on are timed */
    SPW_MARK_TIMING_END,
    SPW_MARK_HINT, /* the program itself said that an iteration begins at `op` */
    SPW_MARK_KINDS
};

struct spw_record_mark {
    enum spw_mark_kind kind;
    uint64_t op, length;
    uint32_t shape;
};

struct spw_record_counters {
    uint64_t time_ns;
    uint32_t device;
    uint64_t mapped_bytes, host_bytes;           /* now */
    uint64_t out_bytes, in_bytes, dropped_bytes; /* so far */
    uint64_t stalled_ns;                         /* so far: time for which the host waited for room */
};

struct spw_record_lost {
    uint64_t records;
};

struct spw_record_end {
    uint64_t time_ns, ops, allocs;
};

struct spw_record_refusal { /* operations of one kernel that are not replayed, for one reason */
    uint32_t device;
    uint32_t index;      /* in the device's list, the last of which counts; 0 begins another list */
    uint32_t operations; /* of an iteration */
    uint64_t bytes;      /* made by them, which cannot be dropped for this reason */
    const char *kernel;  /* mangled, as the driver returns it; or the kind of call */
    const char *reason;  /* a name */
    const char *text;    /* the reason for people: "it ..." */
};

struct spw_record_machine { /* rates: 0: unknown */
    uint32_t device;
    /* Share of a copy's speed that remains while another runs in the other direction. */
    uint32_t duplex_ppm;
    /* Of copies between pinned host memory and the device, one direction at a time. */
    uint64_t d2h_bytes_per_s, h2d_bytes_per_s;
    uint64_t granule_bytes; /* device memory is allocated in multiples of it */
    uint64_t small_bytes;   /* smaller tensors are never evicted */
    uint64_t move_ns;       /* extra time of each copy, for mapping */
};

struct spw_record {
    enum spw_record_kind kind;
    union {
        struct spw_record_process process;
        struct spw_record_device device;
        struct spw_record_module module;
        struct spw_record_site site;
        struct spw_record_function function;
        struct spw_record_stream stream;
        struct spw_record_alloc alloc;
        struct spw_record_free free;
        struct spw_record_op op;
        struct spw_record_event event;
        struct spw_record_wait wait;
        struct spw_record_duration duration;
        struct spw_record_mark mark;
        struct spw_record_counters counters;
        struct spw_record_lost lost;
        struct spw_record_end end;
        struct spw_record_refusal refusal;
        struct spw_record_machine machine;
    };
};
#endif
