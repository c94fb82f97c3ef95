/* capture.h - captures a stream: operations become nodes of a graph instead of being submitted. */
#ifndef SIMGPU_DRIVER_CAPTURE_H
#define SIMGPU_DRIVER_CAPTURE_H
#include "graph.h"

struct capture {
    struct graph *graph;
    struct stream *origin;
    CUstreamCaptureMode mode;
    uint64_t id;
    bool graph_is_ours; /* created by us, not given to cuStreamBeginCaptureToGraph() */
    bool invalidated;
    unsigned refs;            /* number of streams and events that refer to it */
    uint64_t thread;          /* that began it */
    struct stream *members;   /* the origin, and the streams that have joined through events */
    bool lost;                /* a stream was destroyed with work that had not come back to the origin */
    struct graph_node **left; /* the last nodes of destroyed streams */
    size_t left_count;
    struct capture *next; /* in the list of all active captures */
};

CUresult capture_begin(struct stream *stream, struct graph *graph, const CUgraphNode *dependencies, size_t count,
                       CUstreamCaptureMode mode);
CUresult capture_end(struct stream *stream, struct graph **ret_graph);
/* Adds the operation, which it takes over, as the newest node of the stream. */
CUresult capture_add(struct stream *stream, struct op *op);
CUresult capture_node(struct stream *stream, CUgraphNodeType type, struct op *op, struct graph_node **ret_node);
/* Adds an event record or wait node. */
CUresult capture_event_node(struct stream *stream, CUgraphNodeType type, struct event *event);
CUresult capture_alloc(struct stream *stream, struct device *device, size_t bytes, CUdeviceptr *ret_address);
CUresult capture_free(struct stream *stream, CUdeviceptr address);
/* Sets what the stream's next node depends on. CUDA_ERROR_INVALID_VALUE: not nodes of the graph. */
CUresult capture_set_frontier(struct stream *stream, const CUgraphNode *nodes, size_t count, bool add);
CUresult capture_record(struct event *event, struct stream *stream);
CUresult capture_wait(struct stream *stream, const struct event *event);
void capture_forget_event(struct event *event);
/* Handles the end of the stream's handle. What the stream captured must still come back to the origin. If the origin
 * ends, the whole capture ends, since no call could end it any more. */
void capture_forget_stream(struct stream *stream);

/* Invalidates the capture, since a call did what captures forbid. Returns `error`, or
 * CUDA_ERROR_STREAM_CAPTURE_INVALIDATED if it was invalid before. */
CUresult capture_violated(struct capture *capture, CUresult error);
/* Does the same for all captures in which streams of the context take part; CUDA_SUCCESS: there are none. */
CUresult capture_context_violated(struct context *context, CUresult error);
/* Handles a use of the context's legacy default stream: captures of streams that synchronise with it become invalid. */
CUresult capture_legacy_used(struct context *context);
/* Returns true if a stream that synchronises with the context's legacy default stream is being captured. */
bool capture_blocks_legacy(const struct context *context);
/* Checks whether this thread may make a call that no stream orders, such as cuMemAlloc(). Returns CUDA_SUCCESS, or
 * CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED; then the captures that forbid it become invalid. */
CUresult capture_permits_unsafe(void);
/* Returns true if no capture restricts this thread, whoever captures. */
bool capture_is_relaxed(void);
/* Returns true if any capture is active. */
bool capture_any(void);
/* Returns true if an active capture adds to the graph. */
bool capture_fills(const struct graph *graph);
/* Sets this thread's mode, and returns the previous one. */
CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode);
#endif
