/* sim.h - the virtual clock: operations are submitted here, and executed when the clock reaches their end. */
#ifndef SIMGPU_DRIVER_SIM_H
#define SIMGPU_DRIVER_SIM_H
#include "objects.h"
#include "op.h"

void sim_init(void);
double sim_host_ns(void);
/* The host has been busy for `ns`; the device goes on meanwhile. */
void sim_spend(double ns);
/* Returns the time for bytes at a rate of `gbps` 1e9 bytes/s, with the scale factor. */
double sim_bytes_ns(double bytes, double gbps);

/* Creates an operation; NULL without memory. It has to be passed to one of the submits, or to op_drop(). */
struct op *op_create(enum op_kind kind, struct context *context, const char *name);
/* Returns an unsubmitted copy, for operations that are templates; NULL without memory. */
struct op *op_clone(const struct op *op);
struct op *op_keep(struct op *op);
void op_drop(struct op *op);
/* Frees what is only needed to execute it. */
void op_release_payload(struct op *op);
/* Adds bytes that it touches; `how`: SIMGPU_WRITES and so on. Returns 0 or -ENOMEM. */
int op_touch(struct op *op, uint64_t address, uint64_t bytes, unsigned how);
/* Makes it start after `earlier` is complete; NULL and complete ones are ignored. Returns 0 or -ENOMEM. */
int op_after(struct op *op, struct op *earlier);
/* Puts it on a timeline, checks its order and submits it. Takes the caller's reference. */
void op_issue(struct op *op, struct timeline *timeline, unsigned long long stream_id);

/* Submits it to a stream, with the semantics of the legacy default stream. Takes the caller's reference. */
CUresult stream_submit(struct stream *stream, struct op *op);
/* Does the same, or makes it a node of the graph into which the stream is captured. Takes the caller's reference. */
CUresult stream_run(struct stream *stream, struct op *op);
/* Gets the stream of a handle (including 0, 1 and 2), or returns the error of the call. */
CUresult stream_resolve(struct context *context, CUstream handle, struct stream **ret_stream);
/* Does the same for a call that adds work to the stream or queries it: refuses what captures forbid, and these captures
 * become invalid. */
CUresult stream_to_use(struct context *context, CUstream handle, struct stream **ret_stream);
/* Refuses what a captured stream cannot do: that capture becomes invalid. Returns `error`. */
CUresult stream_refuse(struct stream *stream, CUresult error);
CUresult stream_create(struct context *context, unsigned flags, int priority, bool hidden, struct stream **ret_stream);
/* Handles the end of the handle; the work goes on. */
void stream_retire(struct stream *stream);
/* Returns the operation for which a wait for the stream waits; NULL: none. */
struct op *stream_newest(struct stream *stream);
struct stream *stream_keep(struct stream *stream);
void stream_drop(struct stream *stream);
/* One reference belongs to the handle, one to each graph node with the event. */
struct event *event_keep(struct event *event);
void event_drop(struct event *event);

/* Waits in virtual time; the lock may be released meanwhile. The host then knows that `op` is complete. */
void sim_wait(struct op *op);
/* Returns true if it is complete now; the host then knows. Runs host functions that it has to wait for. */
bool sim_query(struct op *op);
void sim_wait_context(struct context *context);
void sim_wait_device(struct device *device);
/* Executes what is due on the host clock. Every call calls it. */
void sim_advance(void);
/* Starts the thread for settings.idle_ms. Returns 0, or -EAGAIN if no thread can be created. */
int sim_watch(void);
double sim_end_ns(void); /* the later of the host clock and the device's */
#endif
