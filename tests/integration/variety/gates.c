/* gates.c - streams that wait for what the program does only after it has submitted much more, on other streams: by a
 * function of the host's, in a graph or not, by a value that the host writes, and by another stream that does so, also
 * at last alone, after many rounds without any. Meanwhile a crowd is used, for which others have to make room; what lies
 * behind a gate was used before all of it. */
#include "driver.h"

#include <semaphore.h>
#include <string.h>

enum { PIECE = 256 << 10, CROWD = 24, BEHIND = 4, ROUNDS = 24, ROUNDS_BEFORE = 40 };

static CUstream busy;
static CUdeviceptr crowd[CROWD];
static sem_t posted;
static volatile uint32_t *written; /* pinned memory of the host */
static CUdeviceptr written_at;
static uint32_t round_number;

static void CUDA_CB wait_for_post(void *unused)
{
    (void)unused;
    while (sem_wait(&posted) != 0)
        continue;
}

static CUstream make_stream(void)
{
    CUstream s;
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    return s;
}

static CUdeviceptr make_piece(void)
{
    CUdeviceptr a;
    CHECK(cuMemAlloc(&a, PIECE));
    return a;
}

/* All of it in turn, on a stream that waits for nobody; and the host waits for that. */
static void use_crowd(void)
{
    for (unsigned i = 0; i < CROWD; i++) {
        CHECK(cuMemsetD32Async(crowd[i], round_number * 0x01010101u + i, PIECE / 8, busy));
        CHECK(cuMemcpyDtoDAsync(crowd[i] + PIECE / 2, crowd[i], PIECE / 2, busy));
    }
    CHECK(cuStreamSynchronize(busy));
}

static uint64_t sum_of_crowd(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < CROWD; i++)
        sum = sum * 31 + device_sum(crowd[i], PIECE);
    return sum;
}

enum kind { NO_GATE, HOST_FUNCTION, VALUE, ANOTHER_STREAM, GRAPH, AT_LAST };

static CUgraphExec make_graph(CUstream s)
{
    CUgraph graph;
    CUgraphExec exec;
    CHECK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cuLaunchHostFunc(s, wait_for_post, NULL));
    CHECK(cuStreamEndCapture(s, &graph));
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return exec;
}

static void shut(CUstream s, enum kind kind)
{
    static CUstream first;
    static CUevent event;
    static CUgraphExec graph;
    if (kind == HOST_FUNCTION)
        CHECK(cuLaunchHostFunc(s, wait_for_post, NULL));
    else if (kind == VALUE)
        CHECK(cuStreamWaitValue32(s, written_at, round_number, CU_STREAM_WAIT_VALUE_GEQ));
    if (kind == GRAPH) {
        graph = graph ? graph : make_graph(s);
        CHECK(cuGraphLaunch(graph, s));
    }
    if (kind != ANOTHER_STREAM)
        return;
    if (!first) {
        first = make_stream();
        CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    }
    shut(first, HOST_FUNCTION);
    CHECK(cuEventRecord(event, first));
    CHECK(cuStreamWaitEvent(s, event, 0));
}

static void open_gate(enum kind kind)
{
    if (kind == VALUE)
        *written = round_number;
    else if (kind != NO_GATE)
        sem_post(&posted);
}

/* Work behind a gate on memory that is used by nobody else, some of it freed at once, while the crowd is used. */
static void once(CUstream s, const CUdeviceptr *behind, enum kind kind)
{
    CUdeviceptr freed;
    round_number++;
    CHECK(cuMemAllocAsync(&freed, PIECE, s));
    shut(s, kind);
    CHECK(cuMemsetD32Async(freed, round_number, PIECE / 4, s));
    for (unsigned i = 0; i < BEHIND; i++)
        CHECK(cuMemcpyDtoDAsync(behind[i], freed, PIECE, s));
    CHECK(cuMemFreeAsync(freed, s));
    use_crowd();
    use_crowd();
    open_gate(kind);
    CHECK(cuStreamSynchronize(s));
}

static void rounds(const char *name, enum kind kind)
{
    CUdeviceptr behind[BEHIND];
    uint64_t sum = 0;
    CUstream s = make_stream();
    for (unsigned i = 0; i < BEHIND; i++)
        behind[i] = make_piece();
    for (unsigned i = 0; i < (kind == AT_LAST ? ROUNDS_BEFORE + 3 : ROUNDS); i++) {
        once(s, behind, kind != AT_LAST ? kind : i < ROUNDS_BEFORE ? NO_GATE : ANOTHER_STREAM);
        for (unsigned k = 0; k < BEHIND; k++)
            sum = sum * 31 + device_sum(behind[k], PIECE);
        sum = sum * 31 + sum_of_crowd();
    }
    printf("%s: %016llx\n", name, (unsigned long long)sum);
    for (unsigned i = 0; i < BEHIND; i++)
        CHECK(cuMemFree(behind[i]));
    CHECK(cuStreamDestroy(s));
}

int main(int argc, char **argv)
{
    void *host;
    (void)start();
    sem_init(&posted, 0, 0);
    busy = make_stream();
    CHECK(cuMemHostAlloc(&host, sizeof(*written), CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuMemHostGetDevicePointer(&written_at, host, 0));
    written = host;
    *written = 0;
    for (unsigned i = 0; i < CROWD; i++)
        crowd[i] = make_piece();
    use_crowd();
    use_crowd();
    if (argc < 2 || strcmp(argv[1], "host-function") == 0)
        rounds("behind a function of the host's", HOST_FUNCTION);
    if (argc < 2 || strcmp(argv[1], "another-stream") == 0)
        rounds("behind another stream", ANOTHER_STREAM);
    if (argc < 2 || strcmp(argv[1], "graph") == 0)
        rounds("behind a graph", GRAPH);
    if (argc < 2 || strcmp(argv[1], "value") == 0)
        rounds("behind a value", VALUE);
    if (argc < 2 || strcmp(argv[1], "at-last") == 0)
        rounds("behind another stream at last", AT_LAST);
    for (unsigned i = 0; i < CROWD; i++)
        CHECK(cuMemFree(crowd[i]));
    return 0;
}
