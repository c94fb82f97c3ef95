/* sim.h - the virtual clock: operations are submitted here, and carried out when the clock gets to their end. */
#ifndef SIMGPU_DRIVER_SIM_H
#define SIMGPU_DRIVER_SIM_H
#include "objects.h"
#include "op.h"

void sim_init(void);
double sim_host_ns(void);
/* The host has been busy for so long; the device goes on meanwhile. */
void sim_spend(double ns);
/* Bytes at a rate of 1e9 bytes/s, with the scale factor. */
double sim_bytes_ns(double bytes, double gbps);

/* A new operation, NULL without memory. It goes to one of the submits, or back to op_drop(). */
struct op *op_create(enum op_kind kind, struct context *context, const char *name);
/* A copy that was never submitted, for operations that are templates; NULL without memory. */
struct op *op_clone(const struct op *op);
struct op *op_keep(struct op *op);
void op_drop(struct op *op);
/* Lets go of what only carrying it out needs. */
void op_release_payload(struct op *op);
/* Adds bytes that it touches; `how`: SIMGPU_WRITES and so on. 0 or -ENOMEM. */
int op_touch(struct op *op, uint64_t address, uint64_t bytes, unsigned how);
/* It starts after `earlier` is complete; NULL and complete ones don't matter. 0 or -ENOMEM. */
int op_after(struct op *op, struct op *earlier);
/* Puts it on a timeline, checks its order and lets it go. Takes the caller's reference. */
void op_issue(struct op *op, struct timeline *timeline, unsigned long long stream_id);

/* Takes its turn in a stream, with what the legacy default stream means. Takes the caller's reference. */
CUresult stream_submit(struct stream *stream, struct op *op);
/* The same, or a node of the graph that the stream is captured into. Takes the caller's reference. */
CUresult stream_run(struct stream *stream, struct op *op);
/* The stream of a handle (0, 1 and 2 included), or the error that the call answers. */
CUresult stream_resolve(struct context *context, CUstream handle, struct stream **ret_stream);
/* The same, to add work to it or to ask how far it is: what captures forbid of that is refused, and those captures are
 * invalid from then on. */
CUresult stream_to_use(struct context *context, CUstream handle, struct stream **ret_stream);
/* What the stream can't do while it is captured: that capture is invalid from then on. Returns `error`. */
CUresult stream_refuse(struct stream *stream, CUresult error);
CUresult stream_create(struct context *context, unsigned flags, int priority, bool hidden, struct stream **ret_stream);
/* The handle is gone; the work goes on. */
void stream_retire(struct stream *stream);
/* What a wait for the stream waits for; NULL: nothing. */
struct op *stream_newest(struct stream *stream);
struct stream *stream_keep(struct stream *stream);
void stream_drop(struct stream *stream);
/* One reference is the handle's, one each graph node's that names the event. */
struct event *event_keep(struct event *event);
void event_drop(struct event *event);

/* Waits in virtual time; the lock may be given up meanwhile. The host then knows that `op` is complete. */
void sim_wait(struct op *op);
/* Whether it is complete now; the host then knows. Runs host functions that stand in the way. */
bool sim_query(struct op *op);
void sim_wait_context(struct context *context);
void sim_wait_device(struct device *device);
/* Carries out what is due on the host clock. Called by every call. */
void sim_advance(void);
/* Starts what settings.idle_ms is about. 0, or -EAGAIN: there is no thread to be had. */
int sim_watch(void);
double sim_end_ns(void); /* the later of the host clock and the device's */
#endif
