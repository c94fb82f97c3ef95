/* capture.h - a stream being captured: what would be submitted becomes nodes of a graph. */
#ifndef SIMGPU_DRIVER_CAPTURE_H
#define SIMGPU_DRIVER_CAPTURE_H
#include "graph.h"

struct capture {
    struct graph *graph;
    struct stream *origin;
    CUstreamCaptureMode mode;
    uint64_t id;
    bool graph_is_ours; /* not given by cuStreamBeginCaptureToGraph() */
    bool invalidated;
    unsigned refs;            /* streams and events that know it */
    uint64_t thread;          /* where it was begun */
    struct stream *members;   /* the origin, and what has joined it through events */
    bool lost;                /* a stream went with work that had not come back to the origin */
    struct graph_node **left; /* what destroyed streams ended with */
    size_t left_count;
    struct capture *next; /* of all that are going on */
};

CUresult capture_begin(struct stream *stream, struct graph *graph, const CUgraphNode *dependencies, size_t count,
                       CUstreamCaptureMode mode);
CUresult capture_end(struct stream *stream, struct graph **ret_graph);
/* The operation as the newest node of the stream. Takes it. */
CUresult capture_add(struct stream *stream, struct op *op);
CUresult capture_node(struct stream *stream, CUgraphNodeType type, struct op *op, struct graph_node **ret_node);
/* An event record or wait node. */
CUresult capture_event_node(struct stream *stream, CUgraphNodeType type, struct event *event);
CUresult capture_alloc(struct stream *stream, struct device *device, size_t bytes, CUdeviceptr *ret_address);
CUresult capture_free(struct stream *stream, CUdeviceptr address);
/* What the stream's next node depends on, from now on. CUDA_ERROR_INVALID_VALUE: not nodes of the graph. */
CUresult capture_set_frontier(struct stream *stream, const CUgraphNode *nodes, size_t count, bool add);
CUresult capture_record(struct event *event, struct stream *stream);
CUresult capture_wait(struct stream *stream, const struct event *event);
void capture_forget_event(struct event *event);
/* The stream's handle ends. What it captured must come back to the origin all the same; the origin takes the whole capture
 * with it, because nobody could end it any more. */
void capture_forget_stream(struct stream *stream);

/* What a call did that captures forbid: the capture is invalid from now on. Returns `error`, or
 * CUDA_ERROR_STREAM_CAPTURE_INVALIDATED if it was so before. */
CUresult capture_violated(struct capture *capture, CUresult error);
/* The same for all captures that streams of the context take part in; CUDA_SUCCESS: there are none. */
CUresult capture_context_violated(struct context *context, CUresult error);
/* The legacy default stream of the context is used: the captures of streams that take turns with it are invalid. */
CUresult capture_legacy_used(struct context *context);
/* Whether a stream that takes turns with the legacy default stream of the context is being captured. */
bool capture_blocks_legacy(const struct context *context);
/* Whether a call that no stream orders, such as cuMemAlloc(), may be made by this thread now: CUDA_SUCCESS, or
 * CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the captures that forbid it are invalid from now on. */
CUresult capture_permits_unsafe(void);
/* Whether this thread is bound by no capture, whoever captures. */
bool capture_is_relaxed(void);
/* Whether any capture is going on. */
bool capture_any(void);
/* Whether one goes on that adds to the graph. */
bool capture_fills(const struct graph *graph);
/* This thread's mode; returns the one before. */
CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode);
#endif
