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
    unsigned refs; /* streams and events that know it */
};

CUresult capture_begin(struct stream *stream, struct graph *graph, const CUgraphNode *dependencies, size_t count,
                       CUstreamCaptureMode mode);
CUresult capture_end(struct stream *stream, struct graph **ret_graph);
/* The operation as the newest node of the stream. Takes it. */
CUresult capture_add(struct stream *stream, struct op *op);
CUresult capture_node(struct stream *stream, CUgraphNodeType type, struct op *op, struct graph_node **ret_node);
CUresult capture_alloc(struct stream *stream, size_t bytes, CUdeviceptr *ret_address);
CUresult capture_free(struct stream *stream, CUdeviceptr address);
/* What the stream's next node depends on, from now on. */
CUresult capture_set_frontier(struct stream *stream, const CUgraphNode *nodes, size_t count, bool add);
CUresult capture_record(struct event *event, struct stream *stream);
CUresult capture_wait(struct stream *stream, const struct event *event);
void capture_forget_event(struct event *event);
/* Whether some stream of the context is being captured. */
bool capture_running(const struct context *context);
#endif
