/* device.h - what CUDA provides inside kernels and C++ does not: arithmetic, conversions, atomics, barriers, shuffles.
 *
 * One thread runs at a time, so an atomic operation is plain arithmetic. Rounding-mode and fast variants are rounded to
 * nearest like the plain operation: deterministic, but not bit-equal to a GPU's results. */
#ifndef SIMGPU_DEVICE_H
#define SIMGPU_DEVICE_H
#pragma GCC system_header

#include <algorithm>
#include <cassert>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <math.h>
#include <type_traits>
#include "threads.h"

constexpr int warpSize = 32;

/* --- barriers and warps --- */

static inline void __syncthreads()
{
    simgpu::threads().barrier();
}
static inline int __syncthreads_count(int predicate)
{
    return static_cast<int>(simgpu::threads().count_at_barrier(predicate != 0));
}
static inline int __syncthreads_or(int predicate)
{
    return __syncthreads_count(predicate) > 0;
}
static inline int __syncthreads_and(int predicate)
{
    return __syncthreads_count(!predicate) == 0;
}
static inline void __syncwarp(unsigned lanes = 0xffffffffu)
{
    simgpu::threads().warp_barrier(lanes);
}
static inline void __threadfence()
{
}
static inline void __threadfence_block()
{
}
static inline void __threadfence_system()
{
}
static inline unsigned __activemask()
{
    return simgpu::threads().live_lanes();
}
static inline unsigned __ballot_sync(unsigned lanes, int predicate)
{
    return simgpu::threads().vote(lanes, predicate != 0);
}
static inline int __any_sync(unsigned lanes, int predicate)
{
    return __ballot_sync(lanes, predicate) != 0;
}
static inline int __all_sync(unsigned lanes, int predicate)
{
    return __ballot_sync(lanes, !predicate) == 0;
}

namespace simgpu
{
template <class T> T shuffle(unsigned lanes, T value, unsigned source_lane)
{
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value, "a shuffled value has at most 8 bytes");
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = threads().exchange(lanes, bits, source_lane);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
} // namespace simgpu

template <class T> T __shfl_sync(unsigned lanes, T value, int source, int width = warpSize)
{
    const unsigned lane = simgpu::threads().lane();
    return simgpu::shuffle(lanes, value, (lane & ~(width - 1u)) | (static_cast<unsigned>(source) & (width - 1u)));
}
template <class T> T __shfl_up_sync(unsigned lanes, T value, unsigned delta, int width = warpSize)
{
    const unsigned lane = simgpu::threads().lane(), in_group = lane & (width - 1u);
    return simgpu::shuffle(lanes, value, in_group >= delta ? lane - delta : lane);
}
template <class T> T __shfl_down_sync(unsigned lanes, T value, unsigned delta, int width = warpSize)
{
    const unsigned lane = simgpu::threads().lane(), in_group = lane & (width - 1u);
    return simgpu::shuffle(lanes, value, in_group + delta < static_cast<unsigned>(width) ? lane + delta : lane);
}
template <class T> T __shfl_xor_sync(unsigned lanes, T value, int mask, int width = warpSize)
{
    const unsigned lane = simgpu::threads().lane(), other = lane ^ static_cast<unsigned>(mask);
    return simgpu::shuffle(lanes, value, (other & ~(width - 1u)) <= (lane & ~(width - 1u)) ? other : lane);
}

namespace simgpu
{
template <class T, class Combine> T reduce_lanes(unsigned lanes, T value, Combine combine)
{
    const unsigned voters = threads().vote(lanes, true);
    T result = value;
    bool first = true;
    for (unsigned lane = 0; lane < warp_threads; lane++) {
        if (!(voters >> lane & 1))
            continue;
        const T other = shuffle(lanes, value, lane);
        result = first ? other : combine(result, other);
        first = false;
    }
    return result;
}
} // namespace simgpu

#define SIMGPU_REDUCE(name, type, expression) \
    static inline type name(unsigned lanes, type value) \
    { \
        return simgpu::reduce_lanes(lanes, value, [](type a, type b) -> type { return expression; }); \
    }
SIMGPU_REDUCE(__reduce_add_sync, int, static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
SIMGPU_REDUCE(__reduce_add_sync, unsigned, a + b)
SIMGPU_REDUCE(__reduce_min_sync, int, a < b ? a : b)
SIMGPU_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
SIMGPU_REDUCE(__reduce_max_sync, int, a > b ? a : b)
SIMGPU_REDUCE(__reduce_max_sync, unsigned, a > b ? a : b)
SIMGPU_REDUCE(__reduce_and_sync, unsigned, a &b)
SIMGPU_REDUCE(__reduce_or_sync, unsigned, a | b)
SIMGPU_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef SIMGPU_REDUCE

/* --- atomics: each returns the old value; the _block and _system forms are the same here --- */

#define SIMGPU_ATOMIC(name, expression) \
    template <class T> T name(T *address, std::common_type_t<T> value) \
    { \
        const T old = *address; \
        *address = static_cast<T>(expression); \
        return old; \
    } \
    template <class T> T name##_block(T *address, std::common_type_t<T> value) \
    { \
        return name(address, value); \
    } \
    template <class T> T name##_system(T *address, std::common_type_t<T> value) \
    { \
        return name(address, value); \
    }
SIMGPU_ATOMIC(atomicAdd, old + value)
SIMGPU_ATOMIC(atomicSub, old - value)
SIMGPU_ATOMIC(atomicExch, value)
SIMGPU_ATOMIC(atomicMin, value < old ? value : old)
SIMGPU_ATOMIC(atomicMax, value > old ? value : old)
SIMGPU_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
SIMGPU_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
SIMGPU_ATOMIC(atomicAnd, old &value)
SIMGPU_ATOMIC(atomicOr, old | value)
SIMGPU_ATOMIC(atomicXor, old ^ value)
#undef SIMGPU_ATOMIC

template <class T> T atomicCAS(T *address, std::common_type_t<T> compare, std::common_type_t<T> value)
{
    const T old = *address;
    if (std::memcmp(&old, &compare, sizeof old) == 0)
        *address = value;
    return old;
}

/* --- loads, time, termination --- */

template <class T> static inline T __ldg(const T *address)
{
    return *address;
}
template <class T> static inline T __ldcg(const T *address)
{
    return *address;
}
template <class T> static inline T __ldcs(const T *address)
{
    return *address;
}
template <class T> static inline void __stcg(T *address, std::common_type_t<T> value)
{
    *address = value;
}
template <class T> static inline void __stcs(T *address, std::common_type_t<T> value)
{
    *address = value;
}
/* A counter that increases with each read, the same in every run. */
static inline long long clock64()
{
    static long long looks;
    return ++looks;
}
static inline void __nanosleep(unsigned)
{
}
[[noreturn]] static inline void __trap()
{
    std::abort();
}

/* --- integers --- */

#define SIMGPU_MIN_MAX(type) \
    static inline constexpr type min(type a, type b) \
    { \
        return b < a ? b : a; \
    } \
    static inline constexpr type max(type a, type b) \
    { \
        return a < b ? b : a; \
    }
SIMGPU_MIN_MAX(int)
SIMGPU_MIN_MAX(unsigned)
SIMGPU_MIN_MAX(long)
SIMGPU_MIN_MAX(unsigned long)
SIMGPU_MIN_MAX(long long)
SIMGPU_MIN_MAX(unsigned long long)
#undef SIMGPU_MIN_MAX
static inline float min(float a, float b)
{
    return fminf(a, b);
}
static inline float max(float a, float b)
{
    return fmaxf(a, b);
}
static inline double min(double a, double b)
{
    return fmin(a, b);
}
static inline double max(double a, double b)
{
    return fmax(a, b);
}
static inline constexpr int __clz(int x)
{
    return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}
static inline constexpr int __clzll(long long x)
{
    return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
static inline constexpr int __ffs(int x)
{
    return __builtin_ffs(x);
}
static inline constexpr int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
static inline constexpr int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
static inline constexpr int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
static inline constexpr unsigned __brev(unsigned x)
{
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; bit++)
        reversed |= (x >> bit & 1u) << (31 - bit);
    return reversed;
}
static inline constexpr int __mul24(int a, int b)
{
    return static_cast<int>(static_cast<unsigned>(a << 8 >> 8) * static_cast<unsigned>(b << 8 >> 8));
}
static inline constexpr int __mulhi(int a, int b)
{
    return static_cast<int>(static_cast<long long>(a) * b >> 32);
}
static inline constexpr unsigned __umulhi(unsigned a, unsigned b)
{
    return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
static inline constexpr unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
static inline constexpr unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    return static_cast<unsigned>(((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31)) >> 32);
}
static inline constexpr unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}

/* --- conversions --- */

namespace simgpu
{
template <class To, class From> To same_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "same size");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
/* As on a GPU: a value out of range becomes the nearest one, not-a-number becomes 0. */
template <class To, class From> To saturated(From value)
{
    if (!(value == value))
        return 0;
    if (value <= static_cast<From>(std::numeric_limits<To>::min()))
        return std::numeric_limits<To>::min();
    if (value >= static_cast<From>(std::numeric_limits<To>::max()))
        return std::numeric_limits<To>::max();
    return static_cast<To>(value);
}
} // namespace simgpu

static inline int __float_as_int(float x)
{
    return simgpu::same_bits<int>(x);
}
static inline unsigned __float_as_uint(float x)
{
    return simgpu::same_bits<unsigned>(x);
}
static inline float __int_as_float(int x)
{
    return simgpu::same_bits<float>(x);
}
static inline float __uint_as_float(unsigned x)
{
    return simgpu::same_bits<float>(x);
}
static inline long long __double_as_longlong(double x)
{
    return simgpu::same_bits<long long>(x);
}
static inline double __longlong_as_double(long long x)
{
    return simgpu::same_bits<double>(x);
}
#define SIMGPU_TO_INTEGER(name, from, to) \
    static inline to name##_rn(from x) \
    { \
        return simgpu::saturated<to>(std::nearbyint(x)); \
    } \
    static inline to name##_rz(from x) \
    { \
        return simgpu::saturated<to>(std::trunc(x)); \
    } \
    static inline to name##_rd(from x) \
    { \
        return simgpu::saturated<to>(std::floor(x)); \
    } \
    static inline to name##_ru(from x) \
    { \
        return simgpu::saturated<to>(std::ceil(x)); \
    }
SIMGPU_TO_INTEGER(__float2int, float, int)
SIMGPU_TO_INTEGER(__float2uint, float, unsigned)
SIMGPU_TO_INTEGER(__float2ll, float, long long)
SIMGPU_TO_INTEGER(__float2ull, float, unsigned long long)
SIMGPU_TO_INTEGER(__double2int, double, int)
SIMGPU_TO_INTEGER(__double2uint, double, unsigned)
SIMGPU_TO_INTEGER(__double2ll, double, long long)
SIMGPU_TO_INTEGER(__double2ull, double, unsigned long long)
#undef SIMGPU_TO_INTEGER

#define SIMGPU_MAP(name, to, from, expression) \
    static inline to name(from x) \
    { \
        return static_cast<to>(expression); \
    }
SIMGPU_MAP(__int2float_rn, float, int, x)
SIMGPU_MAP(__uint2float_rn, float, unsigned, x)
SIMGPU_MAP(__ll2float_rn, float, long long, x)
SIMGPU_MAP(__ull2float_rn, float, unsigned long long, x)
SIMGPU_MAP(__double2float_rn, float, double, x)
SIMGPU_MAP(__int2double_rn, double, int, x)

/* --- floating point --- */

SIMGPU_MAP(rsqrtf, float, float, 1.0f / sqrtf(x))
SIMGPU_MAP(rsqrt, double, double, 1.0 / sqrt(x))
SIMGPU_MAP(rcbrtf, float, float, 1.0f / cbrtf(x))
SIMGPU_MAP(rcbrt, double, double, 1.0 / cbrt(x))
SIMGPU_MAP(normcdff, float, float, 0.5f * erfcf(-x * 0.70710678118654752f))
SIMGPU_MAP(normcdf, double, double, 0.5 * erfc(-x * 0.70710678118654752))
SIMGPU_MAP(sinpif, float, float, sin(x * 3.14159265358979323846))
SIMGPU_MAP(cospif, float, float, cos(x * 3.14159265358979323846))
SIMGPU_MAP(sinpi, double, double, sin(x * 3.14159265358979323846))
SIMGPU_MAP(cospi, double, double, cos(x * 3.14159265358979323846))
SIMGPU_MAP(__frcp_rn, float, float, 1.0f / x)
SIMGPU_MAP(__fsqrt_rn, float, float, sqrtf(x))
SIMGPU_MAP(__frsqrt_rn, float, float, 1.0f / sqrtf(x))
SIMGPU_MAP(__drcp_rn, double, double, 1.0 / x)
SIMGPU_MAP(__dsqrt_rn, double, double, sqrt(x))
SIMGPU_MAP(__saturatef, float, float, !(x > 0.0f) ? 0.0f : x < 1.0f ? x : 1.0f)
#undef SIMGPU_MAP
/* Macros, because the C library itself declares functions of these names. */
#define __expf(x)                      expf(x)
#define __logf(x)                      logf(x)
#define __log2f(x)                     log2f(x)
#define __log10f(x)                    log10f(x)
#define __sinf(x)                      sinf(x)
#define __cosf(x)                      cosf(x)
#define __tanf(x)                      tanf(x)
#define __tanhf(x)                     tanhf(x)
#define __exp10f(x)                    powf(10.0f, x)
#define __powf(x, y)                   powf(x, y)
#define __sincosf(x, ret_sin, ret_cos) sincosf(x, ret_sin, ret_cos)

#define SIMGPU_MAP2(name, type, expression) \
    static inline type name(type a, type b) \
    { \
        return expression; \
    }
SIMGPU_MAP2(__fdividef, float, a / b)
SIMGPU_MAP2(fdividef, float, a / b)
SIMGPU_MAP2(__fadd_rn, float, a + b)
SIMGPU_MAP2(__fsub_rn, float, a - b)
SIMGPU_MAP2(__fmul_rn, float, a *b)
SIMGPU_MAP2(__fdiv_rn, float, a / b)
SIMGPU_MAP2(__dadd_rn, double, a + b)
SIMGPU_MAP2(__dsub_rn, double, a - b)
SIMGPU_MAP2(__dmul_rn, double, a *b)
SIMGPU_MAP2(__ddiv_rn, double, a / b)
#undef SIMGPU_MAP2
static inline float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
static inline double __fma_rn(double a, double b, double c)
{
    return fma(a, b, c);
}
static inline void sincospif(float x, float *ret_sin, float *ret_cos)
{
    *ret_sin = sinpif(x);
    *ret_cos = cospif(x);
}

/* --- what the toolkit's headers provide for nvcc only: calls that take a kernel or a variable directly --- */

#define SIMGPU_IF_FUNCTION(T) typename = std::enable_if_t<std::is_function<std::remove_pointer_t<T>>::value>

template <class T, SIMGPU_IF_FUNCTION(T)> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, T *function)
{
    return ::cudaFuncGetAttributes(attributes, reinterpret_cast<const void *>(function));
}
template <class T, SIMGPU_IF_FUNCTION(T)>
cudaError_t cudaFuncSetAttribute(T *function, cudaFuncAttribute attribute, int value)
{
    return ::cudaFuncSetAttribute(reinterpret_cast<const void *>(function), attribute, value);
}
template <class T, SIMGPU_IF_FUNCTION(T)> cudaError_t cudaFuncSetCacheConfig(T *function, cudaFuncCache config)
{
    return ::cudaFuncSetCacheConfig(reinterpret_cast<const void *>(function), config);
}
template <class T, SIMGPU_IF_FUNCTION(T)> cudaError_t cudaFuncGetName(const char **name, T *function)
{
    return ::cudaFuncGetName(name, reinterpret_cast<const void *>(function));
}
#undef SIMGPU_IF_FUNCTION

template <class T>
cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return ::cudaMemcpyToSymbol(reinterpret_cast<const void *>(&symbol), from, bytes, offset, kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return ::cudaMemcpyFromSymbol(to, reinterpret_cast<const void *>(&symbol), bytes, offset, kind);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = nullptr)
{
    return ::cudaMemcpyToSymbolAsync(reinterpret_cast<const void *>(&symbol), from, bytes, offset, kind, stream);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = nullptr)
{
    return ::cudaMemcpyFromSymbolAsync(to, reinterpret_cast<const void *>(&symbol), bytes, offset, kind, stream);
}
template <class T> cudaError_t cudaGetSymbolAddress(void **address, const T &symbol)
{
    return ::cudaGetSymbolAddress(address, reinterpret_cast<const void *>(&symbol));
}
template <class T> cudaError_t cudaGetSymbolSize(size_t *bytes, const T &symbol)
{
    return ::cudaGetSymbolSize(bytes, reinterpret_cast<const void *>(&symbol));
}
#endif
