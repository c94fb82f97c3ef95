/* beside.cu - captures, or launches, on a thread of its own. */
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

beside::beside(training &t, size_t count, enum beside_work what, int turns_in_all, int steps_between)
    : first(t.persistent(count, 7001)), second(t.persistent(count, 7002)), idle(t.persistent(count, 7003)), work(what),
      turns(turns_in_all), period(steps_between)
{
    CHECK(cudaStreamCreate(&stream)); /* nobody may use the default stream while this one captures */
    wait_for_device();
    early = captured(0);
    CHECK(cudaGraphLaunch(early, stream));
    const size_t n = idle.count();
    beside_kernel<<<blocks_for(n), THREADS>>>(idle.data(), idle.data(), n);
    CHECK_LAUNCH(beside_kernel);
    thread = std::thread([this] { run(); });
    while (work == CAPTURES && !has_begun)
        pause();
}

beside::~beside()
{
    if (thread.joinable())
        end();
    CHECK(cudaGraphExecDestroy(early));
    CHECK(cudaStreamDestroy(stream));
}

/* A capture that takes its time, at least until this step. */
cudaGraphExec_t beside::captured(int until)
{
    const size_t n = first.count();
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    has_begun = until > 0;
    while (step < until)
        pause();
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

/* A chain through tensors that live for a moment. */
void beside::launch_some()
{
    enum { LENGTH = 6 };
    const size_t n = first.count(), bytes = first.bytes();
    uint32_t *made[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
        void *where;
        CHECK(cudaMallocAsync(&where, bytes, stream));
        made[i] = static_cast<uint32_t *>(where);
        CHECK(cudaMemcpyAsync(made[i], i ? made[i - 1] : first.data(), bytes, cudaMemcpyDeviceToDevice, stream));
        beside_kernel<<<blocks_for(n), THREADS, 0, stream>>>(second.data(), made[i], n);
        CHECK_LAUNCH(beside_kernel);
    }
    for (int i = LENGTH - 1; i >= 0; i--) {
        beside_kernel<<<blocks_for(n), THREADS, 0, stream>>>(made[i], first.data(), n);
        CHECK_LAUNCH(beside_kernel);
        CHECK(cudaFreeAsync(made[i], stream));
    }
}

void beside::run()
{
    if (work == CAPTURES)
        CHECK(cudaGraphExecDestroy(captured(2)));
    while (step < 2)
        pause();
    for (int turn = 0; turn < turns;) {
        cudaGraphExec_t exec = work == CAPTURES ? captured(0) : nullptr;
        for (; turn < turns && step >= turn * period; turn++)
            if (exec)
                CHECK(cudaGraphLaunch(exec, stream));
            else
                launch_some();
        CHECK(cudaStreamSynchronize(stream));
        if (exec)
            CHECK(cudaGraphExecDestroy(exec));
        pause();
    }
}

void beside::end()
{
    step = INT_MAX;
    thread.join();
}
