/* layouts.cu - kernels with parameters like those of PyTorch's, for the test of the table of layouts. They are compiled,
 * never run. */
#include <array>
#include <cstdint>

extern "C" __global__ void plain_c(float *to, const float *from, int count)
{
    if (threadIdx.x < count)
        to[threadIdx.x] = from[threadIdx.x];
}

extern "C" __global__ void Nothing()
{
}

namespace test
{
template <typename T> __global__ void scale(T *to, const T *from, long count, T by, bool negate)
{
    for (long at = threadIdx.x; at < count; at += blockDim.x)
        to[at] = (negate ? -by : by) * from[at];
}

template <typename T> __global__ void by_addresses(T **to, const T *const *from)
{
    to[blockIdx.x][threadIdx.x] = from[blockIdx.x][threadIdx.x];
}

/* Three addresses, of which one is only read and one not used; a byte with padding after it; a number that is not used. */
struct padded {
    const float *from;
    bool negate;
    double by;
    float *to, *unused;
    int also_unused;
};

__global__ void with_struct(padded p, float *only_read, float *changed)
{
    p.to[threadIdx.x] = (p.negate ? -p.by : p.by) * p.from[threadIdx.x] + only_read[threadIdx.x];
    atomicAdd(changed, 1.f);
}

/* An array that the block's number is the index of. */
struct picks {
    long before;
    float *rows[6];
};

__global__ void with_array(picks p)
{
    p.rows[blockIdx.x][threadIdx.x] = p.before;
}

/* The same in memory of the constant bank: too much of it for the stack, and one address that is not in the array. */
struct many {
    long unused;
    const long *before;
    int also_unused;
    float *rows[64];
};

__global__ void with_large_array(const __grid_constant__ many p)
{
    p.rows[blockIdx.x][threadIdx.x] = *p.before;
}

__global__ void with_shared(float *to)
{
    __shared__ float values[1000];
    values[threadIdx.x] = to[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = values[999 - threadIdx.x];
}

/* More calls and branches on the way from the parameters to the stores. */
__global__ void winding(double *to, const double *from, const double *other, long rows, long columns)
{
    for (long at = threadIdx.x; at < rows * columns; at += blockDim.x) {
        const double *chosen = at % columns ? from : other;
        double value = chosen[at / columns];
        for (long more = 0; more < at % 7; more++)
            value = pow(value, 1.5) / chosen[more];
        to[at] = value;
    }
}
} // namespace test

namespace at::cuda::detail
{
template <typename T, typename I> struct TensorInfo {
    T *data;
    I sizes[25], strides[25];
    int dims;
};
} // namespace at::cuda::detail

namespace at::native::kernel
{
using at::cuda::detail::TensorInfo;

template <typename T, typename I>
__global__ void lstm_cell_forward(TensorInfo<T, I> input, TensorInfo<T, I> hidden, TensorInfo<T, I> bias1,
                                  TensorInfo<T, I> bias2, TensorInfo<T, I> cx, TensorInfo<T, I> hy, TensorInfo<T, I> cy,
                                  TensorInfo<T, I> workspace, I size, I total)
{
    if (threadIdx.x < total)
        hy.data[threadIdx.x] = cy.data[threadIdx.x] = workspace.data[threadIdx.x] =
            input.data[threadIdx.x] * hidden.data[threadIdx.x] + cx.data[0];
}
} // namespace at::native::kernel

namespace at::native
{
template <int vec, typename F, typename A> __global__ void vectorized_elementwise_kernel(int count, F f, A data)
{
    if (threadIdx.x < count)
        reinterpret_cast<float *>(data[0])[threadIdx.x] =
            f(reinterpret_cast<float *>(data[1])[threadIdx.x], reinterpret_cast<float *>(data[2])[threadIdx.x]);
}

struct times_plus {
    float by;
    __device__ float operator()(float one, float other) const
    {
        return one * by + other;
    }
};

struct OffsetCalculator {
    int dims;
    struct {
        unsigned divisor, magic, shift;
    } sizes[25];
    unsigned strides[25][2];
    __device__ unsigned get(unsigned at, int which) const
    {
        unsigned offset = 0;
#pragma unroll
        for (int dim = 0; dim < 25; dim++) {
            if (dim == dims)
                break;
            offset += at % sizes[dim].divisor * strides[dim][which];
            at = (__umulhi(at, sizes[dim].magic) + at) >> sizes[dim].shift;
        }
        return offset;
    }
};

template <int threads, int each, typename F> __global__ void elementwise_kernel(int count, F f)
{
    if (threadIdx.x < count)
        f(threadIdx.x);
}

template <typename F> void gpu_kernel_impl_nocast(OffsetCalculator calculator, std::array<char *, 2> data, F f)
{
    elementwise_kernel<128, 2><<<1, 128>>>(1, [=] __device__(int at) {
        *reinterpret_cast<float *>(data[0] + calculator.get(at, 0)) =
            f(*reinterpret_cast<float *>(data[1] + calculator.get(at, 1)), 1.f);
    });
}

template <typename T> struct ReduceOp {
    struct {
        T factor;
    } ops;
    T identity;
    int config[16];
    const void *src;
    const char *dst[2];
    void *acc_buf, *cta_buf;
    int *semaphores;
    long base;
    bool accumulate, final_output;
    int outputs;
};

template <int threads, int vec, typename R> __global__ void reduce_kernel(R op)
{
    auto *from = static_cast<const float *>(op.src);
    auto *to = reinterpret_cast<float *>(const_cast<char *>(op.dst[0]));
    if (op.acc_buf)
        static_cast<float *>(op.acc_buf)[0] = from[1] * op.identity;
    if (op.cta_buf)
        static_cast<float *>(op.cta_buf)[blockIdx.x] = atomicAdd(op.semaphores, 1);
    to[0] = from[0] * op.ops.factor;
}

namespace
{
template <int lists, int tensors, int blocks, typename index> struct Lists {
    const void *addresses[lists][tensors];
    int64_t numel[tensors];
    index block_to_tensor[blocks];
    int32_t block_to_chunk[blocks];
    int32_t start_tensor_this_launch;
};
template <int lists> struct TensorListMetadata : Lists<lists, 448, 2240, uint16_t> {
};
namespace older
{
template <int lists> struct TensorListMetadata : Lists<lists, 64, 320, unsigned char> {
};
} // namespace older
template <int lists> struct FusedOptimizerTensorListMetadata {
    const void *addresses[lists][252];
    int64_t numel[252];
    const void *state_steps_addresses[252];
    uint16_t block_to_tensor[2240];
    int32_t block_to_chunk[2240];
    int32_t start_tensor_this_launch;
};
template <typename T, int depth, int read, int result> struct BinaryOpScalarFunctor {
    template <typename M> __device__ void operator()(M &m, T by) const
    {
        int tensor = m.block_to_tensor[blockIdx.x];
        static_cast<T *>(const_cast<void *>(m.addresses[result][tensor]))[threadIdx.x] =
            static_cast<const T *>(m.addresses[0][tensor])[threadIdx.x] * by;
    }
};
template <typename T, int depth> struct FusedAdamMathFunctor {
    template <typename M> __device__ void operator()(M &m, const float *rate) const
    {
        int tensor = m.block_to_tensor[blockIdx.x];
        T step = *static_cast<const T *>(m.state_steps_addresses[tensor]) * *rate;
        for (int list : {0, 2, 3})
            static_cast<T *>(const_cast<void *>(m.addresses[list][tensor]))[threadIdx.x] +=
                step * static_cast<const T *>(m.addresses[1][tensor])[threadIdx.x];
    }
};
template <typename M, typename F, typename... A> __global__ void multi_tensor_apply_kernel(M lists, F f, A... rest)
{
    f(lists, rest...);
}

struct TensorListAddresses {
    const void *addresses[400];
};
template <typename T> __global__ void lpnorm_cleanup(const T *from, TensorListAddresses to, int chunks)
{
    static_cast<T *>(const_cast<void *>(to.addresses[blockIdx.x]))[0] = from[blockIdx.x * chunks];
}

template <typename T, typename I, int inputs, int strides> struct CatArrInputTensorMetadata {
    const T *input[inputs];
    I offset[inputs], size[inputs], count[inputs];
    bool contiguous[inputs];
};
template <typename T, typename I, int dims, int inputs, int strides>
__global__ void CatArrayBatchedCopy_contig(T *to, CatArrInputTensorMetadata<T, I, inputs, strides> from, int dimension)
{
    to[from.offset[blockIdx.y] + threadIdx.x] = from.input[blockIdx.y][threadIdx.x];
}
} // namespace

void all()
{
    test::scale<double><<<1, 1>>>(nullptr, nullptr, 0, 0, false);
    test::by_addresses<float><<<1, 1>>>(nullptr, nullptr);
    vectorized_elementwise_kernel<4><<<1, 1>>>(1, times_plus(), std::array<char *, 3>());
    gpu_kernel_impl_nocast(OffsetCalculator(), {}, times_plus());
    reduce_kernel<512, 1><<<1, 1>>>(ReduceOp<float>());
    kernel::lstm_cell_forward<float, int><<<1, 1>>>({}, {}, {}, {}, {}, {}, {}, {}, 1, 1);
    multi_tensor_apply_kernel<<<1, 1>>>(TensorListMetadata<2>(), BinaryOpScalarFunctor<float, 2, 1, 1>(), 1.f);
    multi_tensor_apply_kernel<<<1, 1>>>(older::TensorListMetadata<2>(), BinaryOpScalarFunctor<float, 2, 1, 0>(), 1.f);
    multi_tensor_apply_kernel<<<1, 1>>>(FusedOptimizerTensorListMetadata<4>(), FusedAdamMathFunctor<float, 4>(),
                                        static_cast<const float *>(nullptr));
    lpnorm_cleanup<float><<<1, 1>>>(nullptr, {}, 1);
    CatArrayBatchedCopy_contig<float, unsigned, 2, 128, 1><<<1, 1>>>(nullptr, {}, 1);
}
} // namespace at::native
