/* recorder.h - records what the program does in a trace; works the same whether spillway moves tensors or not.
 *
 * The wrappers of noted calls (calls.h) report each call that succeeded: note_*.c say what a call means, the recorder knows
 * allocations, streams and functions by id, and hands the records to the trace's writer. If the writer fails (because a
 * disk is full), that is logged once, recording ends and the program goes on. */
#ifndef SPILLWAY_SHIM_RECORDER_H
#define SPILLWAY_SHIM_RECORDER_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../trace/record.h"
#include "iteration_finder.h"
#include "ours.h"

struct spw_scan_doubted;
struct spw_status_page;

/* Nonzero while there is a trace to write to: between a successful start and the end of the process. Recorder lock;
 * wrappers go by SPW_NOTES (live.h). */
extern int spw_recording SPW_OURS;

/* Begins a trace in the file that the settings name. Returns 0, or a negative errno if the file cannot be written, which is
 * logged. */
int spw_recorder_start(void);

/* Writes what is left and closes the file; nothing is recorded afterwards. Happens by itself at the end of the process. */
void spw_recorder_stop(void);

/* In a forked child: forgets the parent's trace without writing to it. */
void spw_recorder_in_child(void);

void spw_recorder_reset(void); /* forgets everything: for tests */

/* Returns what is known of the iteration: all zeroes before one is found, and if no trace is written. Takes the recorder's
 * lock, a leaf. */
struct spw_traced_iteration spw_recorder_learned(void);

/* ---- one noted call ---- */

struct spw_timed; /* a pair of events around an operation (timing.h) */

struct spw_note {
    uint64_t began_ns;
    CUstream stream; /* as the driver gets it: CU_STREAM_PER_THREAD if a per-thread call said 0 */
    const void *caller;
    struct spw_timed *timed;
    uint64_t op; /* number of the operation that the call turned out to be; SPW_NO_OP: none (yet) */
};

#define SPW_NO_OP UINT64_MAX

/* The noted call that this thread is in. */
extern _Thread_local struct spw_note spw_note_now __attribute__((tls_model("initial-exec")));

/* Called by the wrapper around a noted call. Before a call that waits, what is not in the file yet is written: the program
 * may not come back from it. */
void spw_note_begin(CUstream stream, const void *caller, bool waits);
void spw_note_end(void);

/* ---- what a noted call does; no lock held, any thread, between spw_note_begin() and spw_note_end() ---- */

/* A stretch of memory that an operation touches. Addresses that lie in no known allocation are ignored. */
struct spw_reach {
    CUdeviceptr address;
    uint64_t bytes; /* 0: not known, up to all of the allocation */
    enum spw_access access;
};

void spw_recorder_alloc(enum spw_alloc_kind kind, CUdeviceptr address, uint64_t bytes);
void spw_record_alloc_once(enum spw_alloc_kind kind, CUdeviceptr address, uint64_t bytes); /* unless it is known already */

/* Call before the driver frees the memory: another thread may be given the address at once. */
void spw_recorder_free(CUdeviceptr address, bool in_stream_order);
void spw_record_free_range(CUdeviceptr address, uint64_t bytes); /* frees all allocations in it */

/* Records an operation on the call's stream. Its `op` has kind, bytes, grid, block, shared_bytes, synchronous and
 * everything filled in. A copy with the kind SPW_OP_KINDS gets its kind from its ends, the first of which is the
 * destination. */
void spw_recorder_op(struct spw_record *operation, const struct spw_reach *reach, unsigned count);

/* What was found in the parameters of a launch: all words that could be addresses in [low, high), without those in *doubted
 * (NULL: none). Negative count: the parameters could not be read. */
struct spw_launch_hits {
    const CUdeviceptr *list;
    int count;
    CUdeviceptr low, high;
    const struct spw_scan_doubted *doubted;
    const struct spw_layout *layout;
    void *const *params; /* NULL: they are passed in another way */
};

/* Records a launch. If the kernel's type, or the library call that launches it, says that it only reads something, the
 * trace says so too. */
void spw_record_launch(struct spw_record *operation, CUfunction function, const struct spw_launch_hits *hits);

/* Returns the bounds of all addresses that were ever allocated: [low, high). */
void spw_record_bounds(CUdeviceptr *ret_low, CUdeviceptr *ret_high);

/* For copies: searches small copies from the host for addresses (their source can be read now), takes known addresses along
 * with copies on the device, and forgets addresses that are overwritten. */
void spw_record_copied(CUdeviceptr destination, CUdeviceptr source, size_t bytes);
void spw_record_overwritten(CUdeviceptr destination, size_t bytes);

void spw_recorder_wait(enum spw_wait_kind kind, CUevent event); /* the event for SPW_WAIT_EVENT, else NULL */
void spw_recorder_event(CUevent event, bool wait);

/* What was recorded during a capture becomes the graph's. Launching an executable graph touches all of that, or anything if
 * the graph was not captured. */
void spw_record_captured(CUgraph graph);
void spw_record_instantiated(CUgraph graph, CUgraphExec exec);
void spw_record_graph_launch(CUgraphExec exec);
void spw_record_graph_gone(const void *graph_or_exec);

/* Call when the program itself says that an iteration begins. Any thread, at any time; before the start it counts as said
 * at the start. */
void spw_record_hint(void);

/* Forget handles that mean nothing, or something else, from now on. */
void spw_record_stream_gone(CUstream stream);
void spw_record_event_gone(CUevent event);
void spw_record_functions_gone(void);
void spw_record_context_gone(CUcontext context);
void spw_record_context_changed(void); /* the calling thread has made another context current */

/* Fills in the figures of the iteration on the status page. */
void spw_recorder_fill_status(struct spw_status_page *page, const struct spw_traced_iteration *learned);
#endif
