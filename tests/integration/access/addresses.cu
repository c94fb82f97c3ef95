// addresses.cu - a program that keeps addresses in device memory which no call shows: in uploads of any size, stored by
// kernels, changed while they wait to be copied, copied by graphs.
//
// Tensors, each a counter at either end. In each step every tensor is used openly, activations come and go, and a kernel
// that is told a table alone adds to the tensors that the table leads to. Knows nothing of spillway. Prints a line for each
// step, and at the end what is in all tensors.
//
//     addresses WAY [STEPS]
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call) check((call), #call, __LINE__)

static void check(cudaError_t error, const char *call, int line)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "addresses: line %d: %s: %s\n", line, call, cudaGetErrorString(error));
    std::exit(3);
}

#define CHECK_DRIVER(call) check((call) == CUDA_SUCCESS ? cudaSuccess : cudaErrorUnknown, #call, __LINE__)

typedef unsigned long long Word;

constexpr int TENSORS = 24, FEW = 4, SAME = 8;
constexpr size_t PITCH = 8192, ROWS = 640, BYTES = size_t(512) << 10, LAST = BYTES / sizeof(Word) - 1;

struct Few {
    Word *tensor[FEW];
};

// Each tensor but those of the table, in turn.
__global__ void use(Word *tensor, Word *activation, Word add)
{
    tensor[0] = tensor[0] * 3 + add;
    tensor[LAST] += tensor[0];
    activation[0] = tensor[0];
    activation[LAST] = tensor[LAST];
}

__global__ void finish(Word *tensor, const Word *activation)
{
    tensor[1] += activation[0] ^ activation[LAST];
}

__global__ void scale(const Word *tensor, Word *activation, Word add)
{
    for (size_t i = 0; i <= LAST; i++)
        activation[i] = tensor[i] * 3 + add;
}

__global__ void gather(const Word *activation, Word *sum)
{
    *sum = *sum * 31 + activation[0] + activation[LAST];
}

__global__ void fill(Word *tensor, Word value)
{
    for (size_t i = 0; i <= LAST; i++)
        tensor[i] = value;
}

// Entry i leads to tensor i % FEW; those that are read lie all over the table.
__global__ void by_table(Word *const *table, size_t entries, Word add, Word *sum)
{
    *sum = 0;
    for (size_t i = 0; i < FEW; i++) {
        Word *tensor = table[entries / FEW * i / FEW * FEW + i];
        tensor[0] += add + i;
        tensor[LAST] = tensor[LAST] * 5 + tensor[0];
        *sum = *sum * 31 + tensor[0] + tensor[LAST];
    }
}

__global__ void build(Word **table, size_t entries, Few few)
{
    for (size_t i = 0; i < entries; i++)
        table[i] = few.tensor[i % FEW];
}

// As the one before, by parameters that are words.
__global__ void build_of_words(Word **table, Word *a, Word *b, Word *c, Word *d)
{
    Word *of[] = {a, b, c, d};
    for (size_t i = 0; i < FEW; i++)
        table[i] = of[i];
}

__global__ void build_of_table(Word **to, Word *const *from, size_t entries)
{
    for (size_t i = 0; i < entries; i++)
        to[i] = from[i / FEW * FEW + (i + 1) % FEW];
}

__global__ void swap(Word **a, Word **b, size_t entries)
{
    for (size_t i = 0; i < entries; i++) {
        Word *kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

// Word 2 of each tensor leads to the next.
__global__ void link(Word *from, Word *to)
{
    from[2] = (Word)to;
}

__global__ void by_list(Word *first, Word add, Word *sum)
{
    *sum = 0;
    for (Word *tensor = first; tensor; tensor = (Word *)tensor[2]) {
        tensor[0] += add;
        tensor[LAST] = tensor[LAST] * 5 + tensor[0];
        *sum = *sum * 31 + tensor[0] + tensor[LAST];
    }
}

// The first of the list becomes the last.
__global__ void relink(Word *head)
{
    Word *first = (Word *)head[0], *last = first;
    while (last[2])
        last = (Word *)last[2];
    head[0] = first[2];
    last[2] = (Word)first;
    first[2] = 0;
}

__global__ void by_head(const Word *head, Word add, Word *sum)
{
    *sum = 0;
    for (Word *tensor = (Word *)head[0]; tensor; tensor = (Word *)tensor[2]) {
        tensor[0] += add;
        *sum = *sum * 31 + tensor[0];
    }
}

// A table where no parameter leads.
__device__ Word *variable[FEW];

__global__ void by_variable(Word add, Word *sum)
{
    *sum = 0;
    for (size_t i = 0; i < FEW; i++) {
        variable[i][0] += add + i;
        *sum = *sum * 31 + variable[i][0];
    }
}

struct Program {
    std::string way;
    Word *tensors[TENSORS], *sum;
    Word **table = nullptr, **other = nullptr;
    size_t entries = 16;
    std::vector<Word *> host;
    Word **pinned = nullptr;
    Few few = {};
    CUgraphExec graph = nullptr;
    CUgraphNode copying = nullptr; // in the graph
    int first = 0, step = 0;
    cudaStream_t stream, beside;

    bool is(const char *name) const
    {
        return way == name;
    }

    // The table is made before memory is short.
    bool is_early() const
    {
        return is("early") || is("first") || is("rebuilt");
    }

    explicit Program(const char *name) : way(name)
    {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
        CHECK(cudaMalloc((void **)&sum, sizeof *sum));
        if (is("upload-128k") || is("list"))
            entries = (size_t(128) << 10) / sizeof(Word);
        if (is("anew"))
            entries = FEW;
        if (is("upload-2m") || is("kernel-2m"))
            entries = (size_t(2) << 20) / sizeof(Word);
        if (is("upload-5m"))
            entries = (size_t(5) << 20) / sizeof(Word);
        if (is_early())
            build_early();
        for (int i = 0; i < TENSORS; i++) {
            if (is_early() && i % 5 == 0 && i < 20)
                continue;
            CHECK(cudaMalloc((void **)&tensors[i], BYTES));
            fill<<<1, 1, 0, stream>>>(tensors[i], 1000 + i);
            if (is("list"))
                link<<<1, 1, 0, stream>>>(tensors[i], nullptr);
        }
        size_t bytes = entries * sizeof(Word) < BYTES ? BYTES : entries * sizeof(Word);
        if (is("rows"))
            bytes = ROWS * PITCH;
        if (!table) {
            CHECK(cudaMalloc((void **)&table, bytes));
            CHECK(cudaMemsetAsync(table, 0, bytes, stream));
        }
        CHECK(cudaMalloc((void **)&other,
                         is("swapped") || is("chained") || is("copied") || is("rows") || is("overwritten") ? bytes : 64));
        const size_t pinned_bytes = is("freed") ? BYTES : 2 * entries * sizeof(Word);
        CHECK(cudaMallocHost((void **)&pinned, pinned_bytes));
        std::memset(pinned, 0, pinned_bytes);
        choose(0);
    }

    // As long as there is memory for all that there is.
    void build_early()
    {
        CHECK(cudaMalloc((void **)&table, BYTES));
        for (int i = 0; i < FEW; i++) {
            CHECK(cudaMalloc((void **)&tensors[i * 5], BYTES));
            fill<<<1, 1, 0, stream>>>(tensors[i * 5], 1000 + i * 5);
        }
        choose(0);
        build<<<1, 1, 0, stream>>>(table, entries, few);
        CHECK(cudaStreamSynchronize(stream));
    }

    void choose(int from)
    {
        first = from % TENSORS;
        for (int i = 0; i < FEW; i++)
            few.tensor[i] = tensors[(first + i * 5) % TENSORS];
    }

    void upload()
    {
        host.resize(entries);
        for (size_t i = 0; i < entries; i++)
            host[i] = few.tensor[i % FEW];
        CHECK(cudaMemcpyAsync(table, host.data(), entries * sizeof(Word), cudaMemcpyHostToDevice, stream));
        CHECK(cudaStreamSynchronize(stream));
    }

    static void change(void *told)
    {
        Program *p = (Program *)told;
        for (size_t i = 0; i < p->entries; i++)
            p->pinned[i] = p->few.tensor[i % FEW];
    }

    bool uses_graph() const
    {
        return way.compare(0, 5, "graph") == 0;
    }

    CUDA_MEMCPY3D upload_node(Word **from) const
    {
        CUDA_MEMCPY3D copy = {};
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = from;
        copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = (CUdeviceptr)table;
        copy.WidthInBytes = entries * sizeof(Word);
        copy.Height = copy.Depth = 1;
        return copy;
    }

    // Copies the table to the device, and follows it in most ways.
    CUgraph make_graph(Word **from)
    {
        CUgraph made, whole;
        CUgraphNode following = nullptr, changing, child;
        size_t count = 1;
        CUcontext context;
        CHECK_DRIVER(cuCtxGetCurrent(&context));
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        if (is("graph-captured"))
            CHECK(cudaMemcpyAsync(table, from, entries * sizeof(Word), cudaMemcpyHostToDevice, stream));
        if (!is("graph-alone"))
            by_table<<<1, 1, 0, stream>>>(table, entries, 1, sum);
        CHECK(cudaStreamEndCapture(stream, (cudaGraph_t *)&made));
        if (is("graph-captured"))
            return made;
        if (!is("graph-alone"))
            CHECK_DRIVER(cuGraphGetNodes(made, &following, &count));
        const CUDA_MEMCPY3D copy = upload_node(from);
        CHECK_DRIVER(cuGraphAddMemcpyNode(&copying, made, nullptr, 0, &copy, context));
        if (following)
            CHECK_DRIVER(cuGraphAddDependencies(made, &copying, &following, nullptr, 1));
        if (is("graph-host")) {
            const CUDA_HOST_NODE_PARAMS host_function = {change, this};
            CHECK_DRIVER(cuGraphAddHostNode(&changing, made, nullptr, 0, &host_function));
            CHECK_DRIVER(cuGraphAddDependencies(made, &changing, &copying, nullptr, 1));
        }
        if (!is("graph-child"))
            return made;
        CHECK_DRIVER(cuGraphCreate(&whole, 0));
        CHECK_DRIVER(cuGraphAddChildGraphNode(&child, whole, nullptr, 0, made));
        CHECK_DRIVER(cuGraphDestroy(made));
        return whole;
    }

    // The host changes what the graph copies, or the graph is told to copy from elsewhere.
    void launch_graph()
    {
        const bool anew = step % 7 == 0;
        Word **from = is("graph-set") || is("graph-updated") ? pinned + step / 7 % 2 * entries : pinned;
        if (anew)
            choose(step / 7 * 11);
        if (!graph) {
            CUgraph made = make_graph(from);
            CHECK_DRIVER(cuGraphInstantiateWithFlags(&graph, made, 0));
            if (!is("graph-set")) // which names a node of it later
                CHECK_DRIVER(cuGraphDestroy(made));
        } else if (anew && is("graph-set")) {
            CUcontext context;
            const CUDA_MEMCPY3D copy = upload_node(from);
            CHECK_DRIVER(cuCtxGetCurrent(&context));
            CHECK_DRIVER(cuGraphExecMemcpyNodeSetParams(graph, copying, &copy, context));
        } else if (anew && is("graph-updated")) {
            CUgraphExecUpdateResultInfo told;
            CUgraph made = make_graph(from);
            CHECK_DRIVER(cuGraphExecUpdate(graph, made, &told));
            CHECK_DRIVER(cuGraphDestroy(made));
        }
        if (is("graph-behind-host"))
            CHECK(cudaLaunchHostFunc(stream, change, this));
        for (size_t i = 0; i < entries && !is("graph-host") && !is("graph-behind-host"); i++)
            from[i] = few.tensor[i % FEW];
        CHECK_DRIVER(cuGraphLaunch(graph, stream));
        if (is("graph-alone"))
            by_table<<<1, 1, 0, stream>>>(table, entries, 1, sum);
    }

    // Before the others are used.
    void prepare()
    {
        if (way.compare(0, 6, "upload") == 0) {
            if (step % 4 == 0) {
                choose(step);
                upload();
            }
        } else if (is("pinned") || is("pinned-at-once")) {
            choose(step / 4 * 7);
            std::memset(pinned, 0, entries * sizeof(Word));
            CHECK(cudaLaunchHostFunc(stream, change, this));
            CHECK(cudaMemcpyAsync(table, pinned, entries * sizeof(Word), cudaMemcpyHostToDevice, stream));
        } else if (is("kernel") || is("kernel-2m")) {
            if (step == 0)
                build<<<1, 1, 0, stream>>>(table, entries, few);
        } else if (is("anew")) {
            choose(step % 3 * 7);
            build_of_words<<<1, 1, 0, stream>>>(table, few.tensor[0], few.tensor[1], few.tensor[2], few.tensor[3]);
        } else if (is("rebuilt")) { // the same again and again, and one day another
            choose(step < SAME ? 0 : step * 7);
            build<<<1, 1, 0, stream>>>(table, entries, few);
        } else if (is("passing") || is("overwritten")) { // tables that are gone at once, and one day one that stays
            if (step < SAME)
                pass();
            if (step >= SAME && (step - SAME) % 3 == 0) {
                choose(step * 7);
                build<<<1, 1, 0, stream>>>(table, entries, few);
            }
        } else if (is("chained") || is("copied")) {
            if (step % 5 == 0) {
                choose(step / 5 * 2);
                build<<<1, 1, 0, stream>>>(other, entries, few);
            }
            if (is("chained"))
                build_of_table<<<1, 1, 0, stream>>>(table, other, entries);
            else
                CHECK(cudaMemcpyAsync(table, other, entries * sizeof(Word), cudaMemcpyDeviceToDevice, stream));
        } else if (is("rows")) { // of a table that was made four steps before, and is written over
            if (step == 0)
                build<<<1, 1, 0, stream>>>(table, entries, few);
            if (step % 6 == 0) {
                choose(step / 6 * 2 + 1);
                build<<<1, 1, 0, stream>>>(other, entries, few);
                use_all();
                CHECK(cudaStreamSynchronize(stream));
            } else if (step % 6 == 4) {
                CHECK(cudaMemcpy2DAsync(table, PITCH, other, PITCH, PITCH - 64, ROWS, cudaMemcpyDeviceToDevice, stream));
                CHECK(cudaMemsetAsync(other, 0, ROWS * PITCH, stream));
            }
        } else if (is("variable")) {
            if (step % 3 == 0) {
                build<<<1, 1, 0, stream>>>(table, entries, few);
                CHECK(cudaMemcpyToSymbolAsync(variable, table, sizeof variable, 0, cudaMemcpyDeviceToDevice, stream));
            }
        } else if (is("set") || is("value")) {
            if (step % 3 == 0)
                write_words();
        } else if (is("swapped")) {
            if (step == 0) {
                build<<<1, 1, 0, stream>>>(table, entries, few);
                choose(11);
                build<<<1, 1, 0, stream>>>(other, entries, few);
            }
            swap<<<1, 1, 0, stream>>>(table, other, entries);
        } else if (is("reallocated")) {
            for (int i = 0; i < FEW; i++)
                renew(i * 5);
            choose(0);
            build<<<1, 1, 0, stream>>>(table, entries, few);
        } else if (is("freed")) {
            free_under_way();
        } else if (is("list")) {
            if (step == 0) {
                for (int i = 0; i < FEW - 1; i++)
                    link<<<1, 1, 0, stream>>>(few.tensor[i], few.tensor[i + 1]);
                CHECK(cudaMemcpyAsync(table, few.tensor, sizeof(Word), cudaMemcpyHostToDevice, stream));
            } else {
                relink<<<1, 1, 0, stream>>>((Word *)table);
            }
        }
    }

    // A tensor that only the table leads to is freed while a kernel follows the table, and the memory is used again beside
    // that. cudaFree waits for the device.
    void free_under_way()
    {
        const Word zero = 0;
        Word *brief, *fresh;
        choose(step * 5);
        CHECK(cudaMalloc((void **)&brief, BYTES));
        fill<<<1, 1, 0, stream>>>(brief, step);
        few.tensor[0] = brief;
        build<<<1, 1, 0, stream>>>(table, entries, few);
        CHECK(cudaStreamSynchronize(stream));
        for (int i = 0; i < 10; i++)
            CHECK(cudaMemcpyAsync(pinned, few.tensor[1], BYTES, cudaMemcpyDeviceToHost, stream));
        by_table<<<1, 1, 0, stream>>>(table, entries, step + 1, sum);
        CHECK(cudaFree(brief));
        CHECK(cudaMalloc((void **)&fresh, BYTES));
        CHECK(cudaMemcpyAsync(fresh, &zero, sizeof zero, cudaMemcpyHostToDevice, beside));
        CHECK(cudaStreamSynchronize(beside));
        CHECK(cudaFree(fresh));
        say();
        choose(step * 5);
        build<<<1, 1, 0, stream>>>(table, entries, few);
    }

    // Built, followed and given back, or written over, before anybody has read it.
    void pass()
    {
        for (int i = 0; i < 3; i++) {
            Word **passing = other;
            choose(step * 5 + i);
            if (is("passing"))
                CHECK(cudaMallocAsync((void **)&passing, BYTES, stream));
            build<<<1, 1, 0, stream>>>(passing, entries, few);
            by_table<<<1, 1, 0, stream>>>(passing, entries, step + 1, sum);
            if (is("passing"))
                CHECK(cudaFreeAsync(passing, stream));
            else
                CHECK(cudaMemsetAsync(passing, 0, entries * sizeof(Word), stream));
        }
    }

    // By calls that are given the address, or one half after the other.
    void write_words()
    {
        if (is("set"))
            choose(step / 3 * 7);
        for (size_t i = 0; i < entries; i++) {
            const Word word = (Word)few.tensor[i % FEW];
            if (is("value"))
                CHECK_DRIVER(cuStreamWriteValue64(stream, (CUdeviceptr)(table + i), word, 0));
            for (int half = 0; half < 2 && is("set"); half++)
                CHECK_DRIVER(
                    cuMemsetD32Async((CUdeviceptr)(table + i) + 4 * half, (unsigned)(word >> 32 * half), 1, stream));
        }
    }

    // The tensor is freed, and another takes its place, often at another address.
    void renew(int i)
    {
        Word *fresh;
        CHECK(cudaMallocAsync((void **)&fresh, BYTES, stream));
        CHECK(cudaMemcpyAsync(fresh, tensors[i], BYTES, cudaMemcpyDeviceToDevice, stream));
        CHECK(step < 2 ? cudaFree(tensors[i]) : cudaFreeAsync(tensors[i], stream));
        tensors[i] = fresh;
    }

    void use_all()
    {
        Word *activations[6];
        for (int i = 0; i < TENSORS; i += 6) {
            for (int k = 0; k < 6; k++) {
                CHECK(cudaMallocAsync((void **)&activations[k], BYTES, stream));
                use<<<1, 1, 0, stream>>>(tensors[i + k], activations[k], step);
            }
            for (int k = 5; k >= 0; k--) {
                finish<<<1, 1, 0, stream>>>(tensors[i + k], activations[k]);
                CHECK(cudaFreeAsync(activations[k], stream));
            }
        }
    }

    void say()
    {
        Word got;
        CHECK(cudaMemcpyAsync(&got, sum, sizeof got, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        std::printf("step %d %016llx\n", step, got);
    }

    // What is used for the first time takes the memory of what was not used for the longest time: of what the table leads
    // to.
    void run_first()
    {
        Word *fresh;
        CHECK(cudaMalloc((void **)&fresh, 2 * BYTES));
        for (int i = 0; i < TENSORS; i++)
            if (i % 5 || i == 20)
                finish<<<1, 1, 0, stream>>>(tensors[i], tensors[i]);
        by_table<<<1, 1, 0, stream>>>(table, entries, 1, fresh);
        CHECK(cudaMemcpyAsync(sum, fresh, sizeof *sum, cudaMemcpyDeviceToDevice, stream));
        say();
    }

    // Activations are made of tensors, some of which a kernel then changes by a table that was stored just before; they are
    // used after that.
    void run_dropped()
    {
        Word *activations[TENSORS];
        for (int i = 0; i < TENSORS; i++) {
            CHECK(cudaMallocAsync((void **)&activations[i], BYTES, stream));
            scale<<<1, 1, 0, stream>>>(tensors[i], activations[i], step);
        }
        choose(step < 24 ? 0 : step * 5 + 1);
        build<<<1, 1, 0, stream>>>(table, entries, few);
        by_table<<<1, 1, 0, stream>>>(table, entries, step + 1, sum);
        for (int i = TENSORS; i-- > 0;) {
            gather<<<1, 1, 0, stream>>>(activations[i], sum);
            CHECK(cudaFreeAsync(activations[i], stream));
        }
        say();
        step++;
    }

    void run_step()
    {
        if (is("dropped")) {
            run_dropped();
            return;
        }
        if (is("first")) {
            if (step++ == 0)
                run_first();
            return;
        }
        if (!is("pinned-at-once"))
            prepare();
        use_all();
        if (is("pinned-at-once"))
            prepare();
        if (uses_graph())
            launch_graph();
        else if (is("list"))
            by_head<<<1, 1, 0, stream>>>((Word *)table, step + 1, sum);
        else if (is("variable"))
            by_variable<<<1, 1, 0, stream>>>(step + 1, sum);
        else if (!(is("passing") || is("overwritten")) || step >= SAME)
            by_table<<<1, 1, 0, stream>>>(table, entries, step + 1, sum);
        CHECK(cudaGetLastError());
        say();
        step++;
    }

    void end()
    {
        std::vector<Word> data(LAST + 1);
        for (int i = 0; i < TENSORS; i++) {
            Word all = 0;
            CHECK(cudaMemcpy(data.data(), tensors[i], BYTES, cudaMemcpyDeviceToHost));
            for (size_t k = 0; k <= LAST; k++)
                all = all * 31 + (k == 2 && is("list") ? 0 : data[k]);
            std::printf("tensor %d %016llx\n", i, all);
        }
    }
};

int main(int argc, char **argv)
{
    static Program program(argc > 1 ? argv[1] : "kernel");
    for (int steps = argc > 2 ? std::atoi(argv[2]) : 14; steps > 0; steps--)
        program.run_step();
    program.end();
    return 0;
}
