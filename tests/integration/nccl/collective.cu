/* collective.cu - tensors of which more are in use than fit, and some of them go through NCCL, in groups: their kernel runs
 * behind others that need memory.
 *
 *     collective [--tensors N] [--rounds N] [--others N] [--library FILE] [--other FILE]
 *
 * With --others each round takes tensors that are so many further on than those of the round before.
 * With COLLECTIVE_BY_NAME it looks NCCL's calls up, in FILE, and in every second round in the other one's.
 * Prints a checksum of each round. Exit status 3: a CUDA call failed, or NCCL. */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <vector>

enum { COUNT = 65536 }; /* floats in a tensor */

extern "C" int ncclCommDestroy(void *comm);
extern "C" int ncclGroupStart();
extern "C" int ncclGroupEnd();
extern "C" int ncclAllReduce(const float *from, float *to, size_t count, int type, int op, void *comm, cudaStream_t stream);

struct library {
    decltype(&ncclCommDestroy) CommDestroy;
    decltype(&ncclGroupStart) GroupStart;
    decltype(&ncclGroupEnd) GroupEnd;
    decltype(&ncclAllReduce) AllReduce;
};

static void check(int result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "collective: %s: %d\n", what, result);
    exit(3);
}

static struct library find(const char *path)
{
#ifdef COLLECTIVE_BY_NAME
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    check(!library, path);
    return {(decltype(&ncclCommDestroy))dlsym(library, "ncclCommDestroy"),
            (decltype(&ncclGroupStart))dlsym(library, "ncclGroupStart"),
            (decltype(&ncclGroupEnd))dlsym(library, "ncclGroupEnd"),
            (decltype(&ncclAllReduce))dlsym(library, "ncclAllReduce")};
#else
    return {ncclCommDestroy, ncclGroupStart, ncclGroupEnd, ncclAllReduce};
#endif
}

static __global__ void add_kernel(float *a, float by, int count)
{
    for (int i = 0; i < count; i++)
        a[i] += by;
}

static float sum_of(const std::vector<float *> &tensors)
{
    std::vector<float> host(COUNT);
    float sum = 0;
    for (float *a : tensors) {
        check(cudaMemcpy(host.data(), a, COUNT * sizeof(float), cudaMemcpyDeviceToHost), "a copy");
        for (float x : host)
            sum += x / COUNT;
    }
    return sum;
}

int main(int argc, char **argv)
{
    int count = 24, rounds = 6, others = 0;
    const char *path = nullptr, *other = nullptr;
    for (int i = 1; i + 1 < argc; i += 2)
        if (!strcmp(argv[i], "--library") || !strcmp(argv[i], "--other"))
            (!strcmp(argv[i], "--other") ? other : path) = argv[i + 1];
        else
            (!strcmp(argv[i], "--tensors") ? count : !strcmp(argv[i], "--others") ? others : rounds) = atoi(argv[i + 1]);
    const struct library libraries[] = {find(path), find(other ? other : path)};
    cudaStream_t stream;
    std::vector<float *> tensors((size_t)count);
    check(cudaStreamCreate(&stream), "a stream");
    for (float *&a : tensors) {
        check(cudaMalloc((void **)&a, COUNT * sizeof(float)), "memory");
        check(cudaMemsetAsync(a, 0, COUNT * sizeof(float), stream), "a set");
    }
    for (int round = 0; round < rounds; round++) {
        const struct library &nccl = libraries[round % 2];
        std::rotate(tensors.begin(), tensors.begin() + others % count, tensors.end());
        check(nccl.GroupStart(), "a group");
        check(nccl.AllReduce(tensors[0], tensors[1], COUNT, 7, 0, nullptr, stream), "a reduction");
        check(nccl.AllReduce(tensors[2], tensors[2], COUNT, 7, 0, nullptr, stream), "a reduction in place");
        for (size_t i = 3; i < tensors.size(); i++) /* those of the group were used longest ago when its kernel runs */
            add_kernel<<<1, 1, 0, stream>>>(tensors[i], (float)(round + 1), COUNT);
        check(nccl.GroupEnd(), "the end of a group");
        for (int i = 0; i < 3; i++)
            add_kernel<<<1, 1, 0, stream>>>(tensors[(size_t)i], 0.5f, COUNT);
        check(cudaStreamSynchronize(stream), "a round");
        printf("round %d %a\n", round, (double)sum_of(tensors));
    }
    for (const struct library &nccl : libraries)
        check(nccl.CommDestroy(nullptr), "the end of NCCL");
    for (float *a : tensors)
        check(cudaFree(a), "the end of a tensor");
    check(cudaStreamDestroy(stream), "the end of a stream");
    return 0;
}
