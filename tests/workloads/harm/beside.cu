/* beside.cu - captures on a thread of its own. */
#include "beside.h"
#include <chrono>
#include <limits.h>

__global__ void beside_kernel(const uint32_t *x, uint32_t *y, size_t n)
{
    SPAN (i, n)
        y[i] = MIXED(y[i], x[n - 1 - i]);
}
SIMGPU_FOOTPRINT(beside_kernel, (const uint32_t *x, uint32_t *y, size_t n), EACH *n, R(x, n), RW(y, n))

static void pause()
{
    std::this_thread::sleep_for(std::chrono::microseconds(300));
}

beside::beside(training &t, size_t count, int launches_in_all, int steps_between)
    : first(t.persistent(count, 7001)), second(t.persistent(count, 7002)), launches(launches_in_all), period(steps_between)
{
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    wait_for_device();
    early = captured();
    CHECK(cudaGraphLaunch(early, stream));
    thread = std::thread([this] { run(); });
}

beside::~beside()
{
    if (thread.joinable())
        result();
    CHECK(cudaGraphExecDestroy(early));
    CHECK(cudaStreamDestroy(stream));
}

/* A capture that takes its time. */
cudaGraphExec_t beside::captured()
{
    const size_t n = first.count();
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 3; i++) {
        beside_kernel<<<blocks_for(n), THREADS, 0, stream>>>(first.data(), second.data(), n);
        CHECK_LAUNCH(beside_kernel);
        pause();
        beside_kernel<<<blocks_for(n), THREADS, 0, stream>>>(second.data(), first.data(), n);
        CHECK_LAUNCH(beside_kernel);
    }
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

void beside::run()
{
    while (step < 2)
        pause();
    for (int launched = 0; launched < launches;) {
        cudaGraphExec_t exec = captured();
        for (; launched < launches && step >= launched * period; launched++)
            CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaGraphExecDestroy(exec));
        pause();
    }
}

words beside::result()
{
    step = INT_MAX;
    thread.join();
    return first;
}
