/* graph.h - describes one iteration as numbers: operations in order with durations, tensors with sizes, reads and writes.
 *
 * A caller fills a graph with spw_graph_add_tensor() and spw_graph_add_op() and closes it with spw_graph_finish(), which
 * refuses an invalid iteration and derives the remaining fields. After that the graph does not change, and any number of
 * planners may read it.
 *
 * Schedules for a graph follow model S+ (docs/planning.md): operations run in order on one compute lane, and each raises
 * the version of every tensor that it writes. Meanwhile one copy lane in each direction moves whole tensors. */
#ifndef SPILLWAY_PLANNER_GRAPH_H
#define SPILLWAY_PLANNER_GRAPH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest side buffer in bytes. A tensor of at most this size that an operation both reads and writes (running
 * statistics, counters) is left out of account when the operation is replayed: the replay works on a saved copy of its
 * contents. */
#define SPW_SIDE_BUFFER_BYTES 65536u
#define SPW_NO_INDEX          UINT32_MAX

struct spw_graph_tensor {
    uint64_t id;                       /* the caller's name for the tensor */
    uint64_t bytes;                    /* 0 is accepted */
    double d2h_us, h2d_us;             /* < 0: bytes / the lane's bandwidth, filled in by spw_graph_finish() */
    uint32_t alloc_before, free_after; /* indices of operations; ignored if the tensor is persistent */
    /* Alive before the first and after the last operation; its contents carry over. */
    bool persistent;
    /* On the device before the first operation, and not needed after its last use. */
    bool initial;
    bool evictable; /* false: neither copied out nor dropped before its last use */
    /* It is not read while it is copied out, nor copied out while it is read. */
    bool copied_alone;
    const char *name; /* borrowed; may be NULL */

    /* derived: its uses in order are graph->uses[first_use ..] */
    uint32_t first_use, use_count;
    uint32_t last_version; /* number of operations that write it */
};

struct spw_graph_op {
    double us; /* >= 0 */
    /* Run again on the same bytes, it gives the same bytes and changes nothing but its writes. */
    bool replayable;
    /* How many reads at the end of its list only keep a tensor in place up to this operation, which does not itself read
     * it. A replay leaves them out of account. */
    uint32_t held_count;
    const char *name;                  /* borrowed; may be NULL */
    uint32_t first_read, read_count;   /* in graph->touched */
    uint32_t first_write, write_count; /* likewise, directly after the reads */
};

/* One operation's access to one tensor. */
struct spw_touched_tensor {
    uint32_t tensor;
    uint32_t version; /* of a read: the version read; of a write: the version that it leaves */
    bool in_place;    /* the operation both reads and writes the tensor */
    bool side;        /* left out of account in a replay: a held read, or a side buffer */
};

/* One operation's use of a tensor. Version 0 is the contents at the start; the n-th write leaves version n. */
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
    uint64_t persistent_bytes; /* sum over the persistent tensors */
    uint64_t peak_bytes;       /* most bytes alive at once when nothing is evicted */
    /* Most bytes that an operation needs together with what may not be evicted: a lower bound on the budget. */
    uint64_t least_bytes;
    uint32_t least_op; /* the operation that needs them */
    double compute_us; /* sum of the durations */
};

/* Describes an error in terms of the file format: path is "ops[12].reads[3]", expected is "the id of a tensor". */
struct spw_graph_problem {
    char path[64];
    char expected[192];
};

/* Creates an empty graph. The functions here keep no references to their arguments, except to names. Returns 0 or
 * -ENOMEM. */
int spw_graph_create(double d2h_bytes_per_us, double h2d_bytes_per_us, struct spw_graph **ret_graph);
void spw_graph_destroy(struct spw_graph *graph); /* NULL is allowed */

/* Appends a tensor; its index is the number of tensors before it. Only the fields down to `name` are used. Returns 0 or
 * -ENOMEM. */
int spw_graph_add_tensor(struct spw_graph *graph, const struct spw_graph_tensor *tensor);
/* Appends the next operation. `reads` and `writes` are indices of tensors, which may be added later. Returns 0 or
 * -ENOMEM. */
int spw_graph_add_op(struct spw_graph *graph, const struct spw_graph_op *op, const uint32_t *reads, uint32_t read_count,
                     const uint32_t *writes, uint32_t write_count);
/* Checks the graph and derives the remaining fields. Returns 0, -EINVAL with `ret_problem` set, or -ENOMEM. The caller
 * keeps the graph in any case. */
int spw_graph_finish(struct spw_graph *graph, struct spw_graph_problem *ret_problem);

/* Rounds the sizes of tensors of at least `from_bytes` up to multiples of `granule_bytes`, as a device allocates memory.
 * Copy times stay the same. Returns 0 or -ENOMEM. */
int spw_graph_round_up(struct spw_graph *graph, uint64_t granule_bytes, uint64_t from_bytes);

/* Returns the operation that leaves `version` (>= 1) of the tensor. */
uint32_t spw_graph_producer(const struct spw_graph *graph, uint32_t tensor, uint32_t version);
/* Returns the index, among the tensor's uses, of its first use by operation `op` or a later one; use_count if there is
 * none. */
uint32_t spw_graph_use_from(const struct spw_graph *graph, uint32_t tensor, uint32_t op);
/* Returns true if a schedule may replay the operation at all: it is replayable, and updates no persistent tensor in place
 * except for side buffers. Its inputs need not be present or replayable. */
bool spw_graph_can_replay(const struct spw_graph *graph, uint32_t op);
#endif
