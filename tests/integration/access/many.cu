// many.cu - updates thousands of tensors in one launch, as a multi-tensor optimizer does: by a table of their addresses in
// device memory, or by a structure of them among the parameters. Activations are still there then, and not needed. Knows
// nothing of spillway; prints what is in all tensors.
//
//     many table|struct [STEPS]
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) check((call), #call, __LINE__)

static void check(cudaError_t error, const char *call, int line)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "many: line %d: %s: %s\n", line, call, cudaGetErrorString(error));
    std::exit(3);
}

typedef unsigned long long Word;

constexpr int TENSORS = 2000, IN_STRUCT = 1000, ACTIVATIONS = 24;
constexpr size_t BYTES = size_t(64) << 10, LAST = BYTES / sizeof(Word) - 1, LARGE = size_t(8) << 20;

struct Many {
    Word *tensor[IN_STRUCT];
};

__device__ void update_one(Word *tensor, Word add)
{
    tensor[0] = tensor[0] * 3 + add;
    tensor[LAST] = tensor[LAST] * 5 + tensor[0];
}

__global__ void update_by_table(Word *const *table, int count, Word add)
{
    for (int i = 0; i < count; i++)
        update_one(table[i], add + i);
}

__global__ void update_by_struct(Many many, int count, Word add)
{
    for (int i = 0; i < count; i++)
        update_one(many.tensor[i], add + i);
}

__global__ void make(const Word *tensor, Word *activation, Word add)
{
    activation[0] = tensor[0] + add;
    activation[LARGE / sizeof(Word) - 1] = activation[0] * 7;
}

__global__ void use(Word *tensor, const Word *activation)
{
    tensor[1] += activation[0] ^ activation[LARGE / sizeof(Word) - 1];
}

__global__ void fill(Word *tensor, Word value)
{
    for (size_t i = 0; i <= LAST; i++)
        tensor[i] = value;
}

int main(int argc, char **argv)
{
    const bool by_table = argc < 2 || std::strcmp(argv[1], "struct") != 0;
    const int steps = argc > 2 ? std::atoi(argv[2]) : 6, count = by_table ? TENSORS : IN_STRUCT;
    std::vector<Word *> tensors(count);
    Word **table = nullptr, *activations[ACTIVATIONS];
    Many many = {};
    CHECK(cudaMalloc((void **)&table, count * sizeof(Word)));
    for (int i = 0; i < count; i++) {
        CHECK(cudaMalloc((void **)&tensors[i], BYTES));
        fill<<<1, 1>>>(tensors[i], 1000 + i);
        if (!by_table)
            many.tensor[i] = tensors[i];
    }
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < ACTIVATIONS; i++) {
            CHECK(cudaMalloc((void **)&activations[i], LARGE));
            make<<<1, 1>>>(tensors[i], activations[i], step);
        }
        for (int i = ACTIVATIONS - 1; i >= 0; i--)
            use<<<1, 1>>>(tensors[i], activations[i]);
        if (by_table) {
            CHECK(cudaMemcpyAsync(table, tensors.data(), count * sizeof(Word), cudaMemcpyHostToDevice, 0));
            update_by_table<<<1, 1>>>(table, count, step);
        } else {
            update_by_struct<<<1, 1>>>(many, count, step);
        }
        for (Word *activation : activations)
            CHECK(cudaFree(activation));
    }
    Word sum = 0;
    std::vector<Word> words(BYTES / sizeof(Word));
    for (Word *tensor : tensors) {
        CHECK(cudaMemcpy(words.data(), tensor, BYTES, cudaMemcpyDeviceToHost));
        for (Word word : words)
            sum = sum * 31 + word;
        CHECK(cudaFree(tensor));
    }
    CHECK(cudaFree(table));
    std::printf("tensors %016llx\n", sum);
    return 0;
}
