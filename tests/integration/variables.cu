/* variables.cu - a net whose kernels use variables of their module that no parameter leads to: one that kernels change late,
 * one in which they count their launches, a constant that is another one in each step.
 *
 *     variables [--layers N] [--steps N] [--kibibytes N] [--late] [--captured | --node | --set]
 *
 * --late: nothing is counted, so that nobody notices before a variable is changed that there is one.
 * The constant is written by a graph, and once more in the middle of each step: by a copy that was captured, by a node that
 * copies, or by one that sets, which is told another value each time.
 * Prints the losses, and at the end what the variables hold. Exit status 3: a CUDA call failed. */
#include "nets.h"

__device__ float pushed = 1.0f;   /* by kernels, in steps 30 and 90 */
__device__ unsigned launches = 0; /* of mixing */
__constant__ float share = 0.5f;  /* by the program, in each step */

static const int PUSHES[] = {30, 90};

/* out = (share * a + b) * pushed, and a little more in each launch. */
__global__ void mix_counted(float *out, const float *a, const float *b, int n)
{
    const float more = (float)(++launches % 1024) / 4096.0f;
    for (int i = 0; i < n; i++)
        out[i] = (share * a[i] + b[i]) * pushed + more;
}
SIMGPU_FOOTPRINT(mix_counted, (float *out, const float *a, const float *b, int n), 100.0 * n, W(out, n), R(a, n), R(b, n))

/* The same without counting. */
__global__ void mix_pushed(float *out, const float *a, const float *b, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = (share * a[i] + b[i]) * pushed;
}
SIMGPU_FOOTPRINT(mix_pushed, (float *out, const float *a, const float *b, int n), 100.0 * n, W(out, n), R(a, n), R(b, n))

static bool late;

static void mix_in(const struct net &in, float *out, const float *a, const float *b)
{
    if (late)
        mix_pushed<<<1, 1, 0, in.stream>>>(out, a, b, in.n);
    else
        mix_counted<<<1, 1, 0, in.stream>>>(out, a, b, in.n);
}

__global__ void push(float factor)
{
    pushed *= factor;
}
SIMGPU_FOOTPRINT(push, (float factor), factor > 0 ? 1.0 : 1.0)

static const char *by_graph; /* how; NULL: by calls */

/* A graph that makes the constant what is at `from`, page-locked, when it is launched. */
struct writer {
    CUgraphExec exec = nullptr;
    CUgraphNode node = nullptr;
    CUcontext context;
    CUdeviceptr to;
    float *from;

    CUDA_MEMSET_NODE_PARAMS set() const
    {
        CUDA_MEMSET_NODE_PARAMS p = {};
        p.dst = to;
        p.elementSize = sizeof(unsigned);
        p.width = p.height = 1;
        memcpy(&p.value, from, sizeof p.value);
        return p;
    }

    void make(cudaStream_t stream)
    {
        CUgraph graph;
        CHECK(cuCtxGetCurrent(&context));
        CHECK(cudaMallocHost((void **)&from, sizeof *from));
        CHECK(cudaGetSymbolAddress((void **)&to, share));
        *from = 0.5f;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        if (strcmp(by_graph, "--captured") == 0)
            CHECK(cudaMemcpyToSymbolAsync(share, from, sizeof *from, 0, cudaMemcpyHostToDevice, stream));
        CHECK(cudaStreamEndCapture(stream, (cudaGraph_t *)&graph));
        if (strcmp(by_graph, "--node") == 0) {
            CUDA_MEMCPY3D copy = {};
            copy.srcMemoryType = CU_MEMORYTYPE_HOST;
            copy.srcHost = from;
            copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
            copy.dstDevice = to;
            copy.WidthInBytes = sizeof *from;
            copy.Height = copy.Depth = 1;
            CHECK(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context));
        } else if (strcmp(by_graph, "--set") == 0) {
            const CUDA_MEMSET_NODE_PARAMS p = set();
            CHECK(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &p, context));
        }
        CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    }

    void write(cudaStream_t stream, float value)
    {
        if (!exec)
            make(stream);
        *from = value;
        if (strcmp(by_graph, "--set") == 0) {
            const CUDA_MEMSET_NODE_PARAMS p = set();
            CHECK(cuGraphExecMemsetNodeSetParams(exec, node, &p, context));
        }
        CHECK(cuGraphLaunch(exec, stream));
    }
};
static writer first, middle;

static void step(struct net &in, int number)
{
    const float now = 0.5f + (float)(number % 8) / 64.0f;
    if (by_graph)
        first.write(in.stream, now);
    else
        CHECK(cudaMemcpyToSymbolAsync(share, &now, sizeof now, 0, cudaMemcpyHostToDevice, in.stream));
    std::vector<float *> values = {make(in.stream)};
    CHECK(cudaMemsetAsync(values[0], 0, tensor_bytes(), in.stream));
    for (float *w : in.weights) {
        values.push_back(make(in.stream));
        mix_in(in, values.back(), values[values.size() - 2], w);
    }
    for (int at : PUSHES)
        if (at == number)
            push<<<1, 1, 0, in.stream>>>(1.0625f);
    if (by_graph && number % 2)
        middle.write(in.stream, now + 0.125f);
    float *gradient = make(in.stream);
    CHECK(cudaMemcpyAsync(gradient, values.back(), tensor_bytes(), cudaMemcpyDeviceToDevice, in.stream));
    CHECK(cudaMemcpyAsync(in.loss, gradient + in.n / 2, sizeof *in.loss, cudaMemcpyDeviceToHost, in.stream));
    for (size_t l = in.weights.size(); l-- > 0;) {
        CHECK(cudaFreeAsync(values.back(), in.stream));
        values.pop_back();
        float *next = make(in.stream);
        mix_in(in, next, gradient, values.back());
        update<<<1, 1, 0, in.stream>>>(in.weights[l], gradient, -0.001f, in.n);
        CHECK(cudaFreeAsync(gradient, in.stream));
        gradient = next;
    }
    CHECK(cudaFreeAsync(gradient, in.stream));
    CHECK(cudaFreeAsync(values[0], in.stream));
    CHECK(cudaGetLastError());
}

int main(int argc, char **argv)
{
    (void)argc;
    for (char **at = argv + 1; *at; at++)
        if (strcmp(*at, "--late") == 0)
            late = true;
        else if (strcmp(*at, "--captured") == 0 || strcmp(*at, "--node") == 0 || strcmp(*at, "--set") == 0)
            by_graph = *at;
        else if (!read_number(at))
            wonder(*at);
    struct net in(0);
    for (int number = 1; number <= o.steps; number++) {
        step(in, number);
        printf("loss 0x%08x\n", in.finish());
    }
    unsigned counted = 0;
    float last = 0;
    CHECK(cudaMemcpyFromSymbol(&counted, launches, sizeof counted));
    CHECK(cudaMemcpyFromSymbol(&last, pushed, sizeof last));
    printf("%u launches, pushed to %a\n", counted, (double)last);
    in.close();
    return 0;
}
