/* op.h - an operation of the simulated device, and the lanes that execute operations in virtual time. */
#ifndef SIMGPU_DRIVER_OP_H
#define SIMGPU_DRIVER_OP_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../image.h"
#include "clock.h"

struct stream;
struct context;
struct device;

enum op_kind {
    OP_KERNEL,
    OP_COPY,
    OP_SET,
    OP_HOST_FUNCTION,
    OP_CALLBACK,
    OP_MARK,
    OP_WRITE_VALUE,
    OP_WAIT_VALUE,
    OP_POOL_FREE,
    OP_GRAPH_ALLOC,
    OP_GRAPH_FREE,
    OP_GRAPH_END
};
enum op_state { OP_PENDING, OP_READY, OP_RUNNING, OP_DONE };
enum lane_kind { LANE_COMPUTE, LANE_H2D, LANE_D2H, LANE_LINK, LANE_COUNT };

struct access { /* bytes that an operation touches */
    uint64_t address, bytes;
    unsigned how; /* SIMGPU_WRITES and so on */
};

struct copy { /* rows of bytes; one row for a plain copy */
    uint64_t source, target;
    size_t width, height, depth;                                   /* bytes in a row, rows in a slice, slices */
    size_t source_pitch, target_pitch, source_slice, target_slice; /* bytes from row to row, from slice to slice */
    int direction;                                                 /* enum copy_direction */
    /* Reads the source at call time, before the operations that the stream waits for: the program allows it. */
    bool reads_now;
    void *staged; /* what was read at call time, or NULL; owned */
};

struct set { /* rows of equal elements */
    uint64_t target;
    size_t width, height, pitch; /* elements in a row, rows, bytes from row to row */
    unsigned element_bytes;
    uint32_t value;
};

struct value { /* a stream memory operation */
    uint64_t address, value;
    unsigned flags;
    bool wide; /* 64 bits */
};

struct op {
    enum op_kind kind;
    enum op_state state;
    unsigned refs;
    unsigned unmet;        /* operations to wait for */
    uint64_t serial;       /* in the order of submission, from 1 */
    uint64_t behind;       /* serial of the last operation that it waited for; 0: none */
    uint64_t graph_launch; /* number of the graph launch to which it belongs, from 1; 0: none */
    struct when when;
    struct context *context;
    unsigned long long stream_id;
    struct lane *lane;
    struct op *next;                     /* in the lane's queue */
    const char *name;                    /* of the kernel or the call; static */
    double submitted_ns, could_start_ns; /* submission; when everything that it waited for was complete */
    double ready_ns;                     /* when it could start; before that, its submission */
    double work_ns;                      /* its remaining work, at the full rate of its lane */
    double end_ns;
    bool declared;  /* the ranges of a kernel are declared, not guessed */
    bool sabotaged; /* moves no bytes */
    /* Of a mark: it follows a copy from the host in a stream that runs no kernels, or waits for such a one. */
    bool brought_in;
    struct op **waiters;
    unsigned waiter_count, waiter_room;
    struct op *waiters_inline[2];
    struct access *accesses;
    unsigned access_count, access_room;
    struct access accesses_inline[8];
    union {
        struct {
            const struct simgpu_kernel *kernel;
            const void *handle;          /* the launched handle */
            struct variables *variables; /* of its module, held; NULL: none */
            struct simgpu_launch launch;
            double link_ns; /* of a kernel that meets others: its time once they are there */
            void *image;    /* the parameters; owned unless it is image_inline */
            uint64_t image_inline[24];
        } run;
        struct copy copy;
        struct set set;
        struct value value;
        struct {
            CUhostFn function;
            CUstreamCallback callback;
            CUstream stream;
            void *data;
        } host;
        struct block *block;
        struct exec *exec; /* whose launch ends here; reference-counted */
    } u;
};

struct lane {                /* does one thing at a time, in the order in which operations became ready */
    struct op *head, **tail; /* ready operations, by time, then serial */
    struct op *running;
    struct lane *partner;             /* the lane that shares the link, or NULL */
    const struct slower_link *slower; /* slower than usual, from some time on; NULL: never */
    double rate, since_ns;            /* of the running operation, and since when */
    double busy_ns;                   /* total time of its operations so far */
};
#endif
