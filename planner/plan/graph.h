/* graph.h - one iteration as numbers: operations in order with their durations, tensors with their sizes, who touches what.
 *
 * A graph is filled by spw_graph_add_tensor() and spw_graph_add_op(), then closed by spw_graph_finish(), which refuses what
 * makes no sense and derives the rest. From then on nobody changes it, and any number of planners may read it.
 *
 * What a schedule for it may do is model S+ (docs/planning.md): operations run in their order on one compute lane, each
 * raises the version of every tensor that it writes, and a copy lane in each direction moves whole tensors meanwhile. */
#ifndef SPILLWAY_PLANNER_GRAPH_H
#define SPILLWAY_PLANNER_GRAPH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A tensor of at most so many bytes that an operation reads and writes is left out of account when it is replayed: the
 * replay works on a saved copy of what it held (running statistics, counters). */
#define SPW_SIDE_BUFFER_BYTES 65536u
#define SPW_NO_INDEX          UINT32_MAX

struct spw_graph_tensor {
    uint64_t id;                       /* what the outside calls it */
    uint64_t bytes;                    /* 0 is accepted */
    double d2h_us, h2d_us;             /* < 0: bytes / the lane's bandwidth; spw_graph_finish() fills them in */
    uint32_t alloc_before, free_after; /* indices of operations; ignored where it is persistent */
    bool persistent;                   /* alive before the first and after the last operation, its content carries over */
    bool initial;                      /* on the device before the first operation, and not needed after its last use */
    bool evictable;                    /* false: is neither copied out nor dropped before its last use */
    bool copied_alone;                 /* neither read while it is copied out, nor copied out while it is read */
    const char *name;                  /* borrowed; may be NULL */

    /* derived: its uses in order, graph->uses[first_use ..] */
    uint32_t first_use, use_count;
    uint32_t last_version; /* number of operations that write it */
};

struct spw_graph_op {
    double us;           /* >= 0 */
    bool replayable;     /* run again on the same bytes it gives the same bytes, and changes nothing outside its writes */
    uint32_t held_count; /* the last so many of its reads are not its own: it only keeps what is there in place up to here.
                          * A replay leaves them out of account */
    const char *name;    /* borrowed; may be NULL */
    uint32_t first_read, read_count;   /* in graph->touched */
    uint32_t first_write, write_count; /* likewise; directly behind the reads */
};

/* One operation's access to one tensor. */
struct spw_touched_tensor {
    uint32_t tensor;
    uint32_t version; /* a read: the version read; a write: the version that is there afterwards */
    bool in_place;    /* the operation both reads and writes the tensor */
    bool side;        /* left out of account in a replay: held; or in place, and small enough to be a side buffer */
};

/* A tensor's use by one operation. Version 0 is what was there at the start; write number n leaves version n. */
struct spw_use {
    uint32_t op;
    uint32_t version; /* before the operation */
    bool reads, writes;
};

struct spw_graph {
    struct spw_graph_tensor *tensors;
    struct spw_graph_op *ops;
    struct spw_touched_tensor *touched;
    struct spw_use *uses;
    uint32_t tensor_count, op_count, touched_count, use_count;
    uint32_t tensor_room, op_room, touched_room;
    double d2h_bytes_per_us, h2d_bytes_per_us; /* > 0 */

    /* derived */
    uint64_t persistent_bytes; /* of all persistent tensors */
    uint64_t peak_bytes;       /* most bytes alive at once with nothing evicted */
    uint64_t least_bytes;      /* most bytes that one operation needs, with what may not leave: no schedule does with less */
    uint32_t least_op;         /* the operation that needs them */
    double compute_us;         /* sum of the durations */
};

/* What is wrong, in terms of the file format: "ops[12].reads[3]", "the id of a tensor". */
struct spw_graph_problem {
    char path[64];
    char expected[192];
};

/* An empty graph. No function here keeps a reference to what it is given but the names. */
int spw_graph_create(double d2h_bytes_per_us, double h2d_bytes_per_us, struct spw_graph **ret_graph);
void spw_graph_destroy(struct spw_graph *graph); /* NULL is fine */

/* Appends; only tensor's fields down to `name` are looked at. 0, or -ENOMEM. Its index is the number of those before it. */
int spw_graph_add_tensor(struct spw_graph *graph, const struct spw_graph_tensor *tensor);
/* Appends the next operation. `reads` and `writes` are indices of tensors, which may be added later. 0, or -ENOMEM. */
int spw_graph_add_op(struct spw_graph *graph, const struct spw_graph_op *op, const uint32_t *reads, uint32_t read_count,
                     const uint32_t *writes, uint32_t write_count);
/* Checks and derives. 0; -EINVAL and `ret_problem`; -ENOMEM. The graph stays the caller's in any case. */
int spw_graph_finish(struct spw_graph *graph, struct spw_graph_problem *ret_problem);

/* Rounds sizes from `from_bytes` on up to multiples of `granule_bytes`, as memory is handed out; copies take as long as
 * before. 0 or -ENOMEM. */
int spw_graph_round_up(struct spw_graph *graph, uint64_t granule_bytes, uint64_t from_bytes);

/* The operation that leaves `version` (>= 1) of the tensor. */
uint32_t spw_graph_producer(const struct spw_graph *graph, uint32_t tensor, uint32_t version);
/* The index in the tensor's uses of its first use by operation `op` or a later one; use_count if there is none. */
uint32_t spw_graph_use_from(const struct spw_graph *graph, uint32_t tensor, uint32_t op);
/* Whether a schedule may have the operation run again at all: it is replayable, and updates no persistent tensor in place
 * but for side buffers. Whether what it reads is still there, or can be made, is another question. */
bool spw_graph_can_replay(const struct spw_graph *graph, uint32_t op);
#endif
