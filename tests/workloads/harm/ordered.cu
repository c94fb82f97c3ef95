/* ordered.cu - a layer whose two streams are ordered by the host alone: a function of the host's holds one of them back
 * until the program has seen the other one end. The simulated device does not see such an order: SIMGPU_ORDER=off. */
#include "layer.h"
#include <atomic>
#include <thread>

__global__ void change_kernel(uint32_t *a, size_t n)
{
    SPAN (i, n)
        a[i] = a[i] * ODD + 1013904223u;
}
SIMGPU_FOOTPRINT(change_kernel, (uint32_t * a, size_t n), EACH *n, RW(a, n))

/* A second stream changes what y is made of: before y, or once it is late behind y, with the same calls in the same order.
 */
class ordered_by_host : public layer
{
  public:
    ordered_by_host(training &t, size_t count) : count(count), side(t.persistent(count, 47))
    {
        CHECK(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    }
    ~ordered_by_host() override
    {
        (void)cudaStreamDestroy(beside);
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y = make(count);
        uint32_t clock[2];
        plain(x, x, from);
        t.keep(from);
        CHECK(cudaMemcpyAsync(clock, t.clock.data(), sizeof(clock), cudaMemcpyDeviceToHost, stream_of(COMPUTE)));
        CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
        const bool is_late = IS_LATE(clock);
        may_go = !is_late;
        CHECK(cudaLaunchHostFunc(beside, wait, this));
        change_kernel<<<blocks_for(count), THREADS, 0, beside>>>(side.data(), count);
        CHECK_LAUNCH(change_kernel);
        if (!is_late)
            CHECK(cudaStreamSynchronize(beside));
        plain(from, side, y);
        t.keep(y);
        CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
        may_go = true;
        CHECK(cudaStreamSynchronize(beside));
        return y;
    }

  private:
    static void wait(void *self)
    {
        while (!((ordered_by_host *)self)->may_go)
            std::this_thread::yield();
    }
    const size_t count;
    const words side;
    cudaStream_t beside = nullptr;
    std::atomic<bool> may_go{true};
};

const std::vector<struct kind> ordered_kinds = {
    {"ordered", create<ordered_by_host>,
     "a second stream changes what y is made of, once it is late behind y: a function of the host's holds it back"},
};
