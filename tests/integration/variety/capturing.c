/* capturing.c - captures in global mode, the strictest, of work on tensors that other tensors may have taken the room of:
 * sets and copies, memory that is allocated in the capture, and graphs that are launched again after a crowd has been
 * used in between. */
#include "driver.h"

enum { PIECE = 256 << 10, PIECES = 6, CROWD = 24, ROUNDS = 3 };

static CUstream stream;
static CUdeviceptr piece[PIECES];

static CUgraphExec instance(CUgraph graph)
{
    CUgraphExec exec;
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return exec;
}

/* Every piece becomes a copy of the one before, the first one of the last; one takes its way through memory of the graph. */
static CUgraphExec capture_rotation(void)
{
    CUgraph graph;
    CUdeviceptr kept;
    CUstreamCaptureStatus status;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cuMemAllocAsync(&kept, PIECE, stream));
    CHECK(cuMemcpyDtoDAsync(kept, piece[PIECES - 1], PIECE, stream));
    for (int i = PIECES - 1; i > 0; i--)
        CHECK(cuMemcpyDtoDAsync(piece[i], piece[i - 1], PIECE, stream));
    CHECK(cuMemcpyDtoDAsync(piece[0], kept, PIECE, stream));
    CHECK(cuMemFreeAsync(kept, stream));
    CHECK(cuStreamIsCapturing(stream, &status));
    truth("the capture is valid to its end", status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK(cuStreamEndCapture(stream, &graph));
    return instance(graph);
}

/* Sets the first words of a piece that nobody has touched since the crowd was used. */
static CUgraphExec capture_set(CUdeviceptr at)
{
    CUgraph graph;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cuMemsetD32Async(at, 0x5eed, 16, stream));
    CHECK(cuStreamEndCapture(stream, &graph));
    return instance(graph);
}

static void print_pieces(void)
{
    for (int i = 0; i < PIECES; i++)
        printf("piece %d: %016llx\n", i, (unsigned long long)device_sum(piece[i], PIECE));
}

static void launch(CUgraphExec exec)
{
    CHECK(cuCtxSynchronize());
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
}

int main(void)
{
    struct crowd crowd;
    (void)start();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < PIECES; i++) {
        CHECK(cuMemAlloc(&piece[i], PIECE));
        fill_device(piece[i], PIECE, i);
    }
    crowd_make(&crowd, CROWD, PIECE);
    crowd_press(&crowd);
    CUgraphExec rotation = capture_rotation();
    for (int i = 0; i < ROUNDS; i++) {
        launch(rotation);
        print_pieces();
        crowd_press(&crowd);
        CUgraphExec set = capture_set(crowd.piece[i]);
        launch(set);
        CHECK(cuGraphExecDestroy(set));
    }
    CHECK(cuGraphExecDestroy(rotation));
    print_pieces();
    crowd_free(&crowd);
    for (int i = 0; i < PIECES; i++)
        CHECK(cuMemFree(piece[i]));
    CHECK(cuStreamDestroy(stream));
    return 0;
}
