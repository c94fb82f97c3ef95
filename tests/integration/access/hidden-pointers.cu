// hidden-pointers.cu - a program that hides its pointers in every way known, and checks each result itself.
//
// Many blocks of memory, each holding a counter at either end. A kernel that is told some of them in the way under test adds
// to the counters and returns their sum; between two such kernels all other blocks are used openly, so that under
// a budget the ones under test have been evicted by then. Knows nothing of spillway. Exit status 0: all sums were right.
//
//     hidden-pointers [WAY [ROUNDS]]
//
// WAY: plain struct table chain moved within uneven rewritten symbol graph graph-table graph-nodes; all of them without it.
// Four rounds with two choices of blocks in turn; or ROUNDS rounds that are all alike, an iteration.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call) check((call), #call, __LINE__)

static void check(cudaError_t error, const char *call, int line)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "hidden-pointers: line %d: %s: %s\n", line, call, cudaGetErrorString(error));
    std::exit(1);
}

typedef unsigned long long Word;

constexpr int BLOCKS = 16, FEW = 3;
#ifndef SMALL_BLOCKS
constexpr size_t BLOCK_BYTES = size_t(24) << 20;
#else
constexpr size_t BLOCK_BYTES = size_t(64) << 10;
#endif
constexpr size_t LAST = BLOCK_BYTES / sizeof(Word) - 1;

struct Node {
    Word *block;
    Node *next;
};

struct Several { // pointers in the middle of other things, as a metadata struct holds them
    int count;
    float scale[7];
    Word *blocks[FEW];
    char name[5];
};

__device__ Word *in_a_symbol[FEW];

__device__ inline Word touch(Word *block, Word add)
{
    block[0] += add;
    block[LAST] += 2 * add;
    return block[0] + block[LAST];
}

__global__ void fill(Word *block, Word value)
{
    block[0] = value;
    block[LAST] = 2 * value;
}

__global__ void plain(Word *a, Word *b, Word *c, Word add, Word *sum)
{
    *sum = touch(a, add) + touch(b, add) + touch(c, add);
}

__global__ void by_struct(Several several, Word add, Word *sum)
{
    *sum = 0;
    for (int i = 0; i < several.count; i++)
        *sum += touch(several.blocks[i], add);
}

__global__ void by_table(Word **table, Word add, Word *sum)
{
    *sum = 0;
    for (int i = 0; i < FEW; i++)
        *sum += touch(table[i], add);
}

__global__ void by_chain(const Node *first, Word add, Word *sum)
{
    *sum = 0;
    for (const Node *node = first; node; node = node->next)
        *sum += touch(node->block, add);
}

__global__ void by_symbol(Word add, Word *sum)
{
    *sum = 0;
    for (int i = 0; i < FEW; i++)
        *sum += touch(in_a_symbol[i], add);
}

// The blocks, what the host knows about them, and the way under test.
struct Program {
    Word *blocks[BLOCKS];
    Word value[BLOCKS]; // each block holds value and twice the value
    Word *sum;
    int wrong = 0;

    Program()
    {
        CHECK(cudaMalloc((void **)&sum, sizeof *sum));
        for (int i = 0; i < BLOCKS; i++) {
            CHECK(cudaMalloc((void **)&blocks[i], BLOCK_BYTES));
            value[i] = Word(1000) * (i + 1);
            fill<<<1, 1>>>(blocks[i], value[i]);
            CHECK(cudaGetLastError());
        }
    }

    ~Program()
    {
        for (Word *block : blocks)
            CHECK(cudaFree(block));
        CHECK(cudaFree(sum));
    }

    // Uses all blocks but `kept`, so that the kept ones are what a full device gives up.
    void use_others(const int *kept)
    {
        for (int i = 0; i < BLOCKS; i++) {
            bool is_kept = false;
            for (int k = 0; k < FEW; k++)
                is_kept |= kept[k] == i;
            if (is_kept)
                continue;
            value[i] += 1;
            fill<<<1, 1>>>(blocks[i], value[i]);
            CHECK(cudaGetLastError());
        }
    }

    // What the kernel under test must have returned, given that it has just added to the blocks.
    void expect(const char *way, const int *used, Word add)
    {
        Word want = 0, got = 0;
        for (int k = 0; k < FEW; k++) {
            value[used[k]] += add;
            want += 3 * value[used[k]];
        }
        CHECK(cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost));
        if (got == want)
            return;
        std::fprintf(stderr, "hidden-pointers: %s: the sum is %llu and should be %llu\n", way, got, want);
        wrong++;
    }
};

static void way_plain(Program &p, const int *use, Word add)
{
    plain<<<1, 1>>>(p.blocks[use[0]], p.blocks[use[1]], p.blocks[use[2]], add, p.sum);
}

static void way_struct(Program &p, const int *use, Word add)
{
    Several several = {};
    several.count = FEW;
    for (int k = 0; k < FEW; k++)
        several.blocks[k] = p.blocks[use[k]];
    by_struct<<<1, 1>>>(several, add, p.sum);
}

// A table in a block of its own, kept from one call to the next: the kernel is told only where it is.
static Word **table;

static void make_table(Program &p, const int *use)
{
    Word *rows[FEW];
    for (int k = 0; k < FEW; k++)
        rows[k] = p.blocks[use[k]];
    if (!table)
        CHECK(cudaMalloc((void **)&table, 4096));
    CHECK(cudaMemcpy(table, rows, sizeof rows, cudaMemcpyHostToDevice));
}

static void way_table(Program &p, const int *use, Word add)
{
    make_table(p, use);
    p.use_others(use);
    by_table<<<1, 1>>>(table, add, p.sum);
}

// One word of a table is changed; the two others are still those of the first copy.
static void way_rewritten(Program &p, const int *use, Word add)
{
    int first[FEW] = {(use[0] + 7) % BLOCKS, use[1], use[2]};
    make_table(p, first);
    CHECK(cudaMemcpy(table, &p.blocks[use[0]], sizeof(Word *), cudaMemcpyHostToDevice));
    p.use_others(use);
    by_table<<<1, 1>>>(table, add, p.sum);
}

static void way_moved(Program &p, const int *use, Word add)
{
    static Word **copy;
    make_table(p, use);
    if (!copy)
        CHECK(cudaMalloc((void **)&copy, 4096));
    CHECK(cudaMemcpy(copy, table, FEW * sizeof *copy, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemset(table, 0, FEW * sizeof *table));
    p.use_others(use);
    by_table<<<1, 1>>>(copy, add, p.sum);
}

// The table moves inside its block, onto a part of itself.
static void way_within(Program &p, const int *use, Word add)
{
    make_table(p, use);
    CHECK(cudaMemcpy(table + 64, table, FEW * sizeof *table, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemset(table, 0, FEW * sizeof *table));
    p.use_others(use);
    by_table<<<1, 1>>>(table + 64, add, p.sum);
}

// The copy begins in the middle of a word: with the half of a header that has changed.
static void way_uneven(Program &p, const int *use, Word add)
{
    struct {
        unsigned padding, changed;
        Word *rows[FEW];
    } part = {};
    for (int k = 0; k < FEW; k++)
        part.rows[k] = p.blocks[use[k]];
    if (!table)
        CHECK(cudaMalloc((void **)&table, 4096));
    CHECK(cudaMemcpy((char *)table + 4, &part.changed, sizeof part - 4, cudaMemcpyHostToDevice));
    p.use_others(use);
    by_table<<<1, 1>>>(table + 1, add, p.sum);
}

static void way_chain(Program &p, const int *use, Word add)
{
    static Node *nodes[FEW];
    for (int k = FEW - 1; k >= 0; k--) {
        if (!nodes[k])
            CHECK(cudaMalloc((void **)&nodes[k], sizeof(Node)));
        Node node = {p.blocks[use[k]], k + 1 < FEW ? nodes[k + 1] : nullptr};
        CHECK(cudaMemcpy(nodes[k], &node, sizeof node, cudaMemcpyHostToDevice));
    }
    p.use_others(use);
    by_chain<<<1, 1>>>(nodes[0], add, p.sum);
}

static void way_symbol(Program &p, const int *use, Word add)
{
    Word *rows[FEW];
    for (int k = 0; k < FEW; k++)
        rows[k] = p.blocks[use[k]];
    CHECK(cudaMemcpyToSymbol(in_a_symbol, rows, sizeof rows));
    p.use_others(use);
    by_symbol<<<1, 1>>>(add, p.sum);
}

// Captured once; launched when nothing in the call says what it touches.
static void way_graph(Program &p, const int *use, Word add)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    plain<<<1, 1, 0, stream>>>(p.blocks[use[0]], p.blocks[use[1]], p.blocks[use[2]], add, p.sum);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    p.use_others(use);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(stream));
}

static void launch_graph(cudaGraph_t graph, cudaStream_t stream)
{
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(stream));
}

// The table that a graph uses has another pointer in it when the graph is launched than when it was captured.
static void way_graph_table(Program &p, const int *use, Word add)
{
    const int first[FEW] = {3, use[1], use[2]};
    cudaStream_t stream;
    cudaGraph_t graph;
    make_table(p, first);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    by_table<<<1, 1, 0, stream>>>(table, add, p.sum);
    CHECK(cudaStreamEndCapture(stream, &graph));
    make_table(p, use);
    p.use_others(use);
    CHECK(cudaDeviceSynchronize());
    launch_graph(graph, stream);
}

// Made of nodes instead of being captured.
static void way_graph_nodes(Program &p, const int *use, Word add)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    make_table(p, use);
    Word **at = table;
    void *params[] = {&at, &add, &p.sum};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)by_table;
    kernel.gridDim = kernel.blockDim = dim3(1);
    kernel.kernelParams = params;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
    p.use_others(use);
    CHECK(cudaDeviceSynchronize());
    launch_graph(graph, stream);
}

struct Way {
    const char *name;
    void (*run)(Program &p, const int *use, Word add);
};

static const Way ways[] = {
    {"plain", way_plain},
    {"struct", way_struct},
    {"table", way_table},
    {"chain", way_chain},
    {"moved", way_moved},
    {"within", way_within},
    {"uneven", way_uneven},
    {"rewritten", way_rewritten},
    {"symbol", way_symbol},
    {"graph", way_graph},
    {"graph-table", way_graph_table},
    {"graph-nodes", way_graph_nodes},
};

int main(int argc, char **argv)
{
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 4;
    int wrong = 0, ran = 0;
    for (const Way &way : ways) {
        if (argc > 1 && std::strcmp(argv[1], way.name) != 0)
            continue;
        Program p;
        for (int round = 0; round < rounds; round++) {
            const int turn = argc > 2 ? 0 : round % 2, use[FEW] = {turn, 5 + turn, 11};
            p.use_others(use);
            way.run(p, use, Word(round + 1));
            CHECK(cudaGetLastError());
            p.expect(way.name, use, Word(round + 1));
        }
        wrong += p.wrong;
        ran++;
    }
    if (!ran) {
        std::fprintf(stderr, "hidden-pointers: no such way: %s\n", argv[1]);
        return 2;
    }
    std::printf("%d ways, %d wrong sums\n", ran, wrong);
    return wrong ? 1 : 0;
}
