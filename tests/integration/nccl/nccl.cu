/* nccl.cu - stands for NCCL: a library of its name, whose kernel finds the buffers of a group by a structure in device
 * memory. */
#include <cuda_runtime.h>
#include <vector>

struct work {
    const float *from;
    float *to;
    size_t count;
};

static __global__ void note_kernel(struct work *at, const float *from, float *to, size_t count)
{
    at->from = from;
    at->to = to;
    at->count = count;
}

/* Of one rank the sum is what it has; 1 is added, so that it shows. */
static __global__ void collective_kernel(const struct work *works, int count)
{
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < works[i].count; k++)
            works[i].to[k] = works[i].from[k] + 1;
}

static std::vector<work> group;
static bool is_open;
static cudaStream_t of_group;
static struct work *on_device;

enum { MOST = 16, INTERNAL_ERROR = 3 }; /* what goes wrong in here; what spillway refuses is another one */

static int run(cudaStream_t stream)
{
    if (!on_device && cudaMalloc((void **)&on_device, MOST * sizeof(*on_device)) != cudaSuccess)
        return INTERNAL_ERROR;
    collective_kernel<<<1, 1, 0, stream>>>(on_device, (int)group.size());
    group.clear();
    return cudaGetLastError() == cudaSuccess ? 0 : INTERNAL_ERROR;
}

extern "C" int ncclCommDestroy(void *comm)
{
    const bool done = cudaFree(on_device) == cudaSuccess;
    on_device = nullptr;
    return done ? 0 : INTERNAL_ERROR;
}

extern "C" int ncclGroupStart()
{
    is_open = true;
    return 0;
}

/* Where the buffers are was noted by kernels that nobody can tell from others. */
extern "C" int ncclGroupEnd()
{
    is_open = false;
    return run(of_group);
}

extern "C" int ncclAllReduce(const float *from, float *to, size_t count, int type, int op, void *comm, cudaStream_t stream)
{
    if (!on_device && cudaMalloc((void **)&on_device, MOST * sizeof(*on_device)) != cudaSuccess)
        return INTERNAL_ERROR;
    if (group.size() == MOST)
        return 5;
    note_kernel<<<1, 1, 0, stream>>>(on_device + group.size(), from, to, count);
    group.push_back({from, to, count});
    of_group = stream;
    return is_open ? 0 : run(stream);
}
