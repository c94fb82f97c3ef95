/* graphs.cu - kinds of layers in which a captured graph writes or moves what others are made of: no launch shows it. */
#include "layer.h"

__global__ void stir_kernel(uint32_t *z, size_t n, const uint32_t *clock, bool late_only)
{
    if (late_only && clock[0] < clock[1])
        return;
    SPAN (i, n)
        z[i] = MIXED(z[i], clock[0]);
}
SIMGPU_FOOTPRINT(stir_kernel, (uint32_t * z, size_t n, const uint32_t *clock, bool late_only), EACH *n, RW(z, n),
                 R(clock, 2))

__global__ void into_kernel(const uint32_t *x, const uint32_t *z, uint32_t *y, size_t n)
{
    SPAN (i, n)
        y[i] = MIXED(x[i], z[i]);
}
SIMGPU_FOOTPRINT(into_kernel, (const uint32_t *x, const uint32_t *z, uint32_t *y, size_t n), EACH *n, R(x, n), R(z, n),
                 W(y, n))

/* What the stream is given between begin() and end() is captured, and launched as often as wanted. */
class captured
{
  public:
    ~captured()
    {
        if (exec)
            CHECK(cudaGraphExecDestroy(exec));
    }
    void begin()
    {
        CHECK(cudaStreamBeginCapture(stream_of(COMPUTE), cudaStreamCaptureModeThreadLocal));
    }
    void end()
    {
        cudaGraph_t graph;
        CHECK(cudaStreamEndCapture(stream_of(COMPUTE), &graph));
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        CHECK(cudaGraphDestroy(graph));
    }
    void launch() const
    {
        CHECK(cudaGraphLaunch(exec, stream_of(COMPUTE)));
    }

  private:
    cudaGraphExec_t exec = nullptr;
};

/* --- y is made of x and of a lasting tensor that a graph changes --- */

class stirred : public layer
{
  public:
    enum when { EACH_STEP, BETWEEN, LATE_BETWEEN, SUDDENLY };

    stirred(training &t, size_t words_each, int is_when)
        : count(words_each), when(is_when), persistent(t.persistent(words_each, 8001 + (uint32_t)words_each))
    {
        if (when != SUDDENLY)
            capture(t);
    }
    words forward(training &t, const words &x) override
    {
        if (when == EACH_STEP)
            graph.launch();
        words from = make(count), y = plain(plain(x, persistent), x), z = make(count);
        plain(x, x, from);
        LAUNCH(into_kernel, count, from.data(), persistent.data(), z.data(), count);
        t.keep(y);
        t.keep(from);
        t.keep(z);
        return z;
    }
    void between(training &t) override
    {
        if (when == SUDDENLY && t.step == SUDDEN_STEP)
            capture(t);
        if (when != EACH_STEP && (when != SUDDENLY || t.step >= SUDDEN_STEP))
            graph.launch();
    }

  private:
    enum { SUDDEN_STEP = 27 };

    void capture(const training &t)
    {
        graph.begin();
        LAUNCH(stir_kernel, count, persistent.data(), count, t.clock.data(), when == LATE_BETWEEN);
        graph.end();
    }

    const size_t count;
    const int when;
    const words persistent;
    captured graph;
};

/* --- a graph makes the tensor, in a place of its own, from which it is copied --- */

class made_by_graph : public layer
{
  public:
    made_by_graph(training &t, size_t words_each)
        : count(words_each), in(t.persistent(words_each, 8101)), out(t.persistent(words_each, 8102))
    {
        graph.begin();
        LAUNCH(into_kernel, count, in.data(), in.data(), out.data(), count);
        LAUNCH(stir_kernel, count, out.data(), count, t.clock.data(), false);
        graph.end();
    }
    words forward(training &t, const words &x) override
    {
        words y = make(count), z = make(count);
        plain(x, x, in);
        graph.launch();
        CHECK(cudaMemcpyAsync(y.data(), out.data(), y.bytes(), cudaMemcpyDeviceToDevice, stream_of(COMPUTE)));
        LAUNCH(into_kernel, count, y.data(), out.data(), z.data(), count);
        t.keep(y);
        t.keep(z);
        return z;
    }

  private:
    const size_t count;
    const words in, out;
    captured graph;
};

/* --- a graph that is captured anew in each step, over tensors of that step --- */

class captured_anew : public layer
{
  public:
    captured_anew(training &, size_t words_each) : count(words_each)
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y = make(count), z = make(count);
        plain(x, x, from);
        plain(from, x, y);
        captured graph;
        graph.begin();
        LAUNCH(stir_kernel, count, y.data(), count, t.clock.data(), false);
        LAUNCH(into_kernel, count, from.data(), y.data(), z.data(), count);
        graph.end();
        graph.launch();
        t.keep(from);
        t.keep(y);
        t.keep(z);
        return plain(z, y);
    }

  private:
    const size_t count;
};

const std::vector<struct kind> graph_kinds = {
    {"graph-each", create_variant<stirred, stirred::EACH_STEP>, "a graph changes in each step what tensors are made of"},
    {"graph-between", create_variant<stirred, stirred::BETWEEN>, "the same between the two parts of a step"},
    {"graph-late", create_variant<stirred, stirred::LATE_BETWEEN>, "the same, once the data say so"},
    {"graph-sudden", create_variant<stirred, stirred::SUDDENLY>, "the same, by a graph that is captured in a late step"},
    {"graph-makes", create<made_by_graph>, "a graph makes a tensor, which is copied from there"},
    {"graph-anew", create<captured_anew>, "a graph of the tensors of each step, captured anew"},
};
