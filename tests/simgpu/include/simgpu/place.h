/* place.h - the position of the running thread in its launch, and its block's dynamic shared memory. */
#ifndef SIMGPU_PLACE_H
#define SIMGPU_PLACE_H
#pragma GCC system_header

#include <cstdlib>
#include <cstring>
#include <vector_types.h>
#include "../../image.h"

/* Functions that kernels call use these; a kernel's own body uses constants of the same names, which simcc declares in
 * it. They are per host thread, although only one kernel runs at a time, since other threads of the program launch
 * kernels meanwhile. */
#define __DEVICE_LAUNCH_PARAMETERS_H__ /* the toolkit's header of that name declares them as nvcc does */
inline thread_local uint3 threadIdx{};
inline thread_local uint3 blockIdx{};
inline thread_local dim3 blockDim{};
inline thread_local dim3 gridDim{};

namespace simgpu
{
/* The launch that the next call of a kernel's host function runs; that call takes it. A call without one requests a
 * launch. A kernel that faults is left by a jump without cleanup, so nothing is kept for the length of a kernel. */
inline thread_local const simgpu_launch *to_run;

/* Indices of the only thread of a launch of one block of one thread. They are constants, so that grid-stride loops have
 * the stride 1 that the host compiler needs to vectorise them. */
struct only_thread {
    static constexpr uint3 thread()
    {
        return {0, 0, 0};
    }
    static constexpr uint3 block()
    {
        return {0, 0, 0};
    }
    static constexpr dim3 block_size()
    {
        return {1, 1, 1};
    }
    static constexpr dim3 grid_size()
    {
        return {1, 1, 1};
    }
};

/* Indices of one thread among many. */
struct one_thread {
    uint3 thread_, block_;
    dim3 block_size_, grid_size_;
    uint3 thread() const
    {
        return thread_;
    }
    uint3 block() const
    {
        return block_;
    }
    dim3 block_size() const
    {
        return block_size_;
    }
    dim3 grid_size() const
    {
        return grid_size_;
    }
};

inline void set_sizes(const simgpu_launch &launch)
{
    gridDim = dim3(launch.grid[0], launch.grid[1], launch.grid[2]);
    blockDim = dim3(launch.block[0], launch.block[1], launch.block[2]);
    threadIdx = blockIdx = uint3{0, 0, 0};
}

/* Memory requested by a launch's third launch parameter; all blocks use the same bytes, one after the other. It is filled
 * with a pattern for each launch, so that reads of unwritten memory are noticed. */
class dynamic_shared_memory
{
  public:
    void start(size_t bytes)
    {
        if (bytes > capacity_) {
            std::free(bytes_);
            capacity_ = (bytes + 4095) & ~(size_t)4095;
            bytes_ = std::aligned_alloc(4096, capacity_);
            if (!bytes_)
                std::abort();
        }
        if (bytes)
            std::memset(bytes_, 0xCD, bytes);
    }
    void *bytes() const
    {
        return bytes_;
    }

  private:
    void *bytes_ = nullptr;
    size_t capacity_ = 0;
};

inline thread_local dynamic_shared_memory dynamic_shared; /* its bytes are kept for the next launch */

/* `extern __shared__ T name[];` outside any function. */
template <class T> struct dynamic_shared_array {
    operator T *() const
    {
        return static_cast<T *>(dynamic_shared.bytes());
    }
};
} // namespace simgpu
#endif
