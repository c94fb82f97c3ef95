/* record.h - what a trace says: one kind of record per kind of thing that a program does or that a reader needs to know.
 *
 * The recorder (shim) fills these, writer.h turns them into bytes, reader.h gives them back in the same order. Plain
 * numbers: no CUDA, no pointers into the program. docs/trace-format.md tells the bytes.
 *
 * Numbering. Operations are numbered from 0 in the order of their records, whatever their stream. Allocations, functions,
 * modules, sites, streams and events have ids given by whoever records, from 1 on; 0 is "none" or "unknown". An id is
 * defined before it is used, except where the part of the file that defined it is lost. Times are host time in
 * nanoseconds since the trace began; device times come with SPW_RECORD_DURATION only. */
#ifndef SPILLWAY_TRACE_RECORD_H
#define SPILLWAY_TRACE_RECORD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spw_record_kind {
    SPW_RECORD_PROCESS,  /* first: who was traced */
    SPW_RECORD_DEVICE,   /* a device of the process */
    SPW_RECORD_MODULE,   /* a shared object that call stacks point into */
    SPW_RECORD_SITE,     /* a call stack that allocations come from */
    SPW_RECORD_FUNCTION, /* a kernel */
    SPW_RECORD_STREAM,   /* a stream, when first used */
    SPW_RECORD_ALLOC,
    SPW_RECORD_FREE,
    SPW_RECORD_OP,       /* anything that a stream carries out: the next operation's number */
    SPW_RECORD_EVENT,    /* an event recorded on, or waited for by, a stream */
    SPW_RECORD_WAIT,     /* the host waited for the device */
    SPW_RECORD_DURATION, /* when an earlier operation ran on the device */
    SPW_RECORD_MARK,     /* something about the course of the run: an iteration began, timing began or ended */
    SPW_RECORD_COUNTERS, /* what spillway itself moved so far (mode swap) */
    SPW_RECORD_LOST,     /* records that could not be written stood here */
    SPW_RECORD_END,      /* the process ended by itself */
    SPW_RECORD_REFUSAL,  /* what spillway found out cannot be recomputed (mode swap) */
    SPW_RECORD_MACHINE,  /* what a run within a budget takes into account of a device */
    SPW_RECORD_KINDS
};

enum { SPW_RECORD_TEXT = 4095, SPW_RECORD_FRAMES = 128, SPW_RECORD_TOUCHES = 65535 }; /* longest text, stack, list */

struct spw_record_process {
    uint32_t pid, rank;       /* rank among the processes of the run, 0 when alone */
    uint64_t started_unix_ns; /* wall clock at time 0 of the trace */
    const char *mode;         /* "trace" or "swap" */
    const char *version;      /* of spillway */
    const char *command;      /* the command line, words separated by spaces */
    const char *host;
};

struct spw_record_device {
    uint32_t device; /* ordinal */
    const char *name;
    uint64_t total_bytes, free_bytes; /* at the start */
    uint64_t budget_bytes;            /* 0: none */
};

struct spw_record_module {
    uint32_t id;
    uint64_t start, end;  /* addresses in the process */
    uint64_t file_offset; /* of `start`'s byte in the file */
    const char *path;
    const uint8_t *build_id;
    uint32_t build_id_bytes; /* 0..64 */
};

struct spw_record_site {
    uint32_t id;
    uint32_t count;         /* of frames, innermost first */
    const uint64_t *frames; /* return addresses in the process */
};

struct spw_record_function {
    uint32_t id;
    const char *name; /* mangled, as the driver gives it */
    bool parsed;      /* its parameters' layout is known: touches are complete as far as direct pointers go */
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
    SPW_ALLOC_VMM,    /* physical memory that the program mapped itself */
    SPW_ALLOC_GLOBAL, /* a variable of a module */
    SPW_ALLOC_IMPORT, /* another process's or API's */
    SPW_ALLOC_HOST,   /* pinned host memory, allocated or registered */
    SPW_ALLOC_KINDS
};

struct spw_record_alloc {
    uint64_t id;     /* rises by one with each allocation, from 1 */
    uint32_t device; /* for HOST: 0 */
    enum spw_alloc_kind kind;
    uint64_t address, bytes;
    uint32_t stream; /* ASYNC: ordered by this one; else 0 */
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
    SPW_OP_COPY_D2D, /* peers too */
    SPW_OP_COPY_H2H,
    SPW_OP_SET,
    SPW_OP_HOST_FUNCTION,
    SPW_OP_VALUE, /* a stream waits for or writes a word of memory */
    SPW_OP_KINDS
};

/* Or-ed. BOTH also when not known. Beside one of these: LOOSE, the operation is not recognised by it (struct
 * spw_iteration_add); BELIEVED, that it only reads was observed, and nothing else says so. */
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
    uint64_t offset; /* of the address given, within the allocation */
    uint64_t bytes;  /* from there on; 0: not known, up to all of the allocation */
    enum spw_access access;
};

struct spw_record_op {
    enum spw_op_kind kind;
    uint32_t stream;
    uint64_t time_ns;                         /* when the call was made */
    bool captured;                            /* went into a graph that is being captured: not carried out now */
    bool synchronous;                         /* the call returned after it was done */
    bool everything;                          /* may touch any allocation: its parameters could not be read */
    uint32_t function;                        /* LAUNCH */
    uint32_t grid[3], block[3], shared_bytes; /* LAUNCH */
    uint64_t bytes;                           /* copies and sets: moved or written */
    uint32_t touch_count;
    const struct spw_touch *touches; /* in the order of the parameters; destination before source for copies */
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
    uint64_t start_ns, duration_ns; /* device time; start counted from the first timed operation of its device */
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
    uint64_t stalled_ns;                         /* so far: the host stood still for room */
};

struct spw_record_lost {
    uint64_t records;
};

struct spw_record_end {
    uint64_t time_ns, ops, allocs;
};

struct spw_record_refusal { /* operations of one kernel that are not run again, for one reason */
    uint32_t device;
    uint32_t index;      /* in the device's list, of which the last one is good; 0 begins another */
    uint32_t operations; /* of an iteration */
    uint64_t bytes;      /* that they made, and that cannot be dropped for it */
    const char *kernel;  /* mangled, as the driver gives it; or the kind of call */
    const char *reason;  /* a name */
    const char *text;    /* the same for people: "it ..." */
};

struct spw_record_machine { /* rates: 0, not known */
    uint32_t device;
    uint32_t duplex_ppm;                       /* of a copy's speed, what is left beside one in the other direction */
    uint64_t d2h_bytes_per_s, h2d_bytes_per_s; /* of copies between pinned host memory and the device, each alone */
    uint64_t granule_bytes;                    /* device memory is handed out in multiples of it */
    uint64_t small_bytes;                      /* what is smaller never leaves the device */
    uint64_t move_ns;                          /* that each copy takes longer than its bytes, for mapping */
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
