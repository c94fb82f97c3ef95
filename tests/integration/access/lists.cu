// lists.cu - updates tensors by lists of them, as PyTorch's optimizers do: few of a kernel's struct of addresses is filled
// in, and behind that lies what was there before, addresses of other tensors, each time others. Checks each result itself.
//
//     lists WAY [STEPS]
//
// WAY: small large turns fused fused-large scalars scalars-large ex; with turns every other list is shorter. Structs and
// names are those of ATen/native/cuda/MultiTensorApply.cuh; knows nothing of spillway. Exit status 0: all numbers were
// right; 3: a CUDA call failed.
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
    std::fprintf(stderr, "lists: line %d: %s: %s\n", line, call, cudaGetErrorString(error));
    std::exit(3);
}

namespace at
{
namespace native
{
namespace
{

constexpr int CHUNK = 65536;

template <bool large> struct Sizes;
template <> struct Sizes<false> {
    using Index = unsigned char;
    static constexpr int blocks = 320, tensors[] = {110, 64, 48, 36, 30};
};
template <> struct Sizes<true> {
    using Index = uint16_t;
    static constexpr int blocks = 2240, tensors[] = {770, 448, 336, 252, 210};
};

template <int n, bool large> struct TensorListMetadata {
    static constexpr int lists = n, tensors = Sizes<large>::tensors[n - 1], blocks = Sizes<large>::blocks;
    const void *addresses[n][tensors];
    int64_t numel[tensors];
    typename Sizes<large>::Index block_to_tensor[blocks];
    int block_to_chunk[blocks];
    int start;
};

template <typename Scalar, int n, bool large> struct TensorListScalarListMetadata {
    static constexpr int lists = n, tensors = Sizes<large>::tensors[n - 1], blocks = Sizes<large>::blocks;
    const void *addresses[n][tensors];
    int64_t numel[tensors];
    Scalar each[tensors];
    typename Sizes<large>::Index block_to_tensor[blocks];
    int block_to_chunk[blocks];
};

template <int n, bool large> struct FusedOptimizerTensorListMetadata {
    static constexpr int lists = n, tensors = Sizes<large>::tensors[n - 1], blocks = Sizes<large>::blocks;
    const void *addresses[n][tensors];
    int64_t numel[tensors];
    const void *each[tensors];
    typename Sizes<large>::Index block_to_tensor[blocks];
    int block_to_chunk[blocks];
    int start;
};

// The first list of tensors gets something of the second; with three, the third gets it too.
struct Update {
    template <typename Metadata> __device__ void operator()(const Metadata &l, float by) const
    {
        const int tensor = l.block_to_tensor[blockIdx.x], chunk = l.block_to_chunk[blockIdx.x];
        const int64_t first = int64_t(chunk) * CHUNK, left = l.numel[tensor] - first;
        float *to = (float *)l.addresses[0][tensor] + first;
        const float *from = (const float *)l.addresses[1][tensor] + first;
        by *= factor(l, tensor);
        for (int64_t i = threadIdx.x; i < left && i < CHUNK; i += blockDim.x) {
            to[i] += by * from[i];
            if (Metadata::lists > 2)
                ((float *)l.addresses[Metadata::lists - 1][tensor] + first)[i] += by;
        }
    }

    template <int n, bool large> __device__ static float factor(const TensorListMetadata<n, large> &, int)
    {
        return 1;
    }
    template <int n, bool large>
    __device__ static float factor(const TensorListScalarListMetadata<float, n, large> &l, int tensor)
    {
        return l.each[tensor];
    }
    template <int n, bool large>
    __device__ static float factor(const FusedOptimizerTensorListMetadata<n, large> &l, int tensor)
    {
        return *(const float *)l.each[tensor];
    }
};

template <typename Metadata, typename Functor, typename... Arguments>
__global__ void multi_tensor_apply_kernel(Metadata lists, Functor functor, Arguments... arguments)
{
    functor(lists, arguments...);
}

} // namespace
} // namespace native
} // namespace at

using namespace at::native;

__global__ void fill(float *to, int64_t n, float value)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = value;
}

// ---- the tensors ----

constexpr int GROUPS = 40, LISTS = 3, AT_ONCE = 4;
constexpr size_t FACTOR_BYTES = 64 << 10; // as large as a granule, so that each can be gone while others are there

struct Group {
    int64_t numel;
    float *tensors[LISTS];
    float *factor;
    float value[LISTS]; // that each element should have
};
static std::vector<Group> groups(GROUPS);

static void make_groups()
{
    for (int g = 0; g < GROUPS; g++) {
        Group &group = groups[g];
        group.numel = 2 * CHUNK + 1 + g * 100;
        for (int list = 0; list < LISTS; list++) {
            group.value[list] = float(1 + g + list);
            CHECK(cudaMalloc((void **)&group.tensors[list], group.numel * sizeof(float)));
            fill<<<1, 1>>>(group.tensors[list], group.numel, group.value[list]);
        }
        CHECK(cudaMalloc((void **)&group.factor, FACTOR_BYTES));
        fill<<<1, 1>>>(group.factor, 1, float(1 + g % 3));
    }
    CHECK(cudaGetLastError());
}

// Words that are the address of some tensor, or some number.
static void leave_rubbish(void *at, size_t bytes)
{
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        const float *stale = groups[std::rand() % GROUPS].tensors[std::rand() % LISTS];
        const uint64_t word = std::rand() % 2 ? (uint64_t)stale : (uint64_t)std::rand();
        std::memcpy((char *)at + i, &word, sizeof word);
    }
}

// ---- launches ----

static float put_each(const Group &, int, TensorListMetadata<2, false> &)
{
    return 1;
}
static float put_each(const Group &, int, TensorListMetadata<2, true> &)
{
    return 1;
}
template <bool large> static float put_each(const Group &group, int slot, FusedOptimizerTensorListMetadata<3, large> &l)
{
    l.each[slot] = group.factor;
    return float(1 + (&group - groups.data()) % 3);
}
template <bool large> static float put_each(const Group &, int slot, TensorListScalarListMetadata<float, 2, large> &l)
{
    return l.each[slot] = float(slot + 1);
}

template <typename Metadata> static void launch(const Metadata &lists, int blocks, float by, bool extended)
{
    if (!extended) {
        multi_tensor_apply_kernel<<<blocks, 1>>>(lists, Update(), by);
        CHECK(cudaGetLastError());
        return;
    }
    Update update;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(1);
    void *arguments[] = {(void *)&lists, &update, &by};
    CHECK(cudaLaunchKernelExC(&config, (const void *)multi_tensor_apply_kernel<Metadata, Update, float>, arguments));
}

template <typename Metadata> static void update(int first, float by, bool extended, int count = AT_ONCE)
{
    static Metadata lists;
    int blocks = 0;
    leave_rubbish(&lists, sizeof lists);
    for (int slot = 0; slot < count; slot++) {
        Group &group = groups[first + slot];
        for (int list = 0; list < Metadata::lists; list++)
            lists.addresses[list][slot] = group.tensors[list];
        lists.numel[slot] = group.numel;
        const float factor = put_each(group, slot, lists);
        for (int chunk = 0; chunk * int64_t(CHUNK) < group.numel; chunk++, blocks++) {
            lists.block_to_tensor[blocks] = (typename Sizes<false>::Index)slot;
            lists.block_to_chunk[blocks] = chunk;
        }
        group.value[0] += by * factor * group.value[1];
        if (Metadata::lists > 2)
            group.value[2] += by * factor;
    }
    launch(lists, blocks, by, extended);
}

static void step(const char *way, int first, float by)
{
    if (std::strcmp(way, "small") == 0)
        update<TensorListMetadata<2, false>>(first, by, false);
    else if (std::strcmp(way, "large") == 0)
        update<TensorListMetadata<2, true>>(first, by, false);
    else if (std::strcmp(way, "turns") == 0)
        update<TensorListMetadata<2, true>>(first, by, false, AT_ONCE - first / AT_ONCE % 2);
    else if (std::strcmp(way, "fused") == 0)
        update<FusedOptimizerTensorListMetadata<3, false>>(first, by, false);
    else if (std::strcmp(way, "fused-large") == 0)
        update<FusedOptimizerTensorListMetadata<3, true>>(first, by, false);
    else if (std::strcmp(way, "scalars") == 0)
        update<TensorListScalarListMetadata<float, 2, false>>(first, by, false);
    else if (std::strcmp(way, "scalars-large") == 0)
        update<TensorListScalarListMetadata<float, 2, true>>(first, by, false);
    else
        update<TensorListMetadata<2, true>>(first, by, true);
}

static int wrong_in(const Group &group)
{
    int wrong = 0;
    std::vector<float> got(group.numel);
    for (int list = 0; list < LISTS; list++) {
        CHECK(cudaMemcpy(got.data(), group.tensors[list], group.numel * sizeof(float), cudaMemcpyDeviceToHost));
        for (float x : got)
            wrong += x != group.value[list];
    }
    return wrong;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "small";
    const int steps = argc > 2 ? std::atoi(argv[2]) : 3;
    int wrong = 0;
    make_groups();
    for (int s = 0; s < steps; s++) {
        for (int first = 0; first < GROUPS; first += AT_ONCE)
            step(way, first, 2);
        CHECK(cudaDeviceSynchronize());
    }
    for (Group &group : groups) {
        wrong += wrong_in(group);
        for (float *tensor : group.tensors)
            CHECK(cudaFree(tensor));
        CHECK(cudaFree(group.factor));
    }
    std::printf("%s %d steps %d wrong\n", way, steps, wrong);
    return wrong != 0;
}
