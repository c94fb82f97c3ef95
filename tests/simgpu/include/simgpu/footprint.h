/* footprint.h - SIMGPU_FOOTPRINT: the cost of a kernel's launch and the memory that it touches, known before it runs.
 *
 *     SIMGPU_FOOTPRINT(add, (const float *a, const float *b, float *sum, int n), n, R(a, n), R(b, n), W(sum, n))
 *
 * goes after the kernel's definition or declaration, outside of functions. The fourth and following arguments:
 * R(pointer, count) is read, W written, RW both; count is the number of elements of the pointer's type (bytes for void
 * *). The launch's device memory traffic is the bytes of R and W once and those of RW twice. The expressions may use
 * gridDim and blockDim. An instance of a template is named in parentheses: (add<float, 4>). No parameter can be named R,
 * W or RW. */
#ifndef SIMGPU_FOOTPRINT_H
#define SIMGPU_FOOTPRINT_H
#pragma GCC system_header

#include <type_traits>
#include "launch.h"

namespace simgpu
{
inline thread_local simgpu_footprint *describing;
inline thread_local bool any_range, too_many_ranges; /* any: including an empty one */

/* R, W, RW: adds one range to the footprint being described. */
template <int Traffic, unsigned How> struct range_note {
    template <class T, class N> void operator()(T *pointer, N count) const
    {
        using element = std::conditional_t<std::is_void<T>::value, unsigned char, T>;
        any_range = true;
        if (!pointer || !(count > 0))
            return;
        const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(element);
        describing->bytes += static_cast<double>(bytes) * Traffic;
        if (describing->range_count == SIMGPU_MAX_RANGES) {
            too_many_ranges = true;
            return;
        }
        simgpu_range &range = describing->ranges[describing->range_count++];
        range.address = reinterpret_cast<uint64_t>(pointer);
        range.bytes = bytes;
        range.how = How;
    }
};

struct footprint_of : footprint_entry {
    template <class... P> footprint_of(void (*kernel)(P...), void (*describe)(P...))
    {
        host_function = reinterpret_cast<void (*)()>(kernel);
        footprint = reinterpret_cast<void (*)()>(describe);
        next = all_footprints;
        all_footprints = this;
        for (kernel_entry *entry = all_kernels; entry; entry = entry->next)
            connect(*entry, *this);
    }
};

template <class Here, class... P>
void record<Here, void(P...)>::describe_launch(const simgpu_launch *launch, const void *image,
                                               simgpu_footprint *ret_footprint)
{
    ret_footprint->flops = ret_footprint->bytes = 0;
    ret_footprint->range_count = 0;
    describing = ret_footprint;
    any_range = too_many_ranges = false;
    set_sizes(*launch);
    call(reinterpret_cast<void (*)(P...)>(object.footprint), image);
    /* Some of the ranges would be worse than none: the driver then takes whole allocations. */
    ret_footprint->unknown = too_many_ranges || !any_range;
    if (too_many_ranges)
        ret_footprint->range_count = 0;
    describing = nullptr;
}
} // namespace simgpu

#define SIMGPU_JOIN_(a, b) a##b
#define SIMGPU_JOIN(a, b)  SIMGPU_JOIN_(a, b)
#define SIMGPU_FOOTPRINT(kernel, params, flops_expression, ...) \
    _Pragma("GCC diagnostic push") \
        _Pragma("GCC diagnostic ignored \"-Wunused-parameter\"") static simgpu::footprint_of SIMGPU_JOIN(simgpu_footprint_, \
                                                                                                         __COUNTER__)( \
            static_cast<void(*) params>(kernel), static_cast<void(*) params>([] params { \
                { \
                    [[maybe_unused]] constexpr simgpu::range_note<1, SIMGPU_READS> R{}; \
                    [[maybe_unused]] constexpr simgpu::range_note<1, SIMGPU_WRITES> W{}; \
                    [[maybe_unused]] constexpr simgpu::range_note<2, SIMGPU_READS | SIMGPU_WRITES> RW{}; \
                    simgpu::describing->flops = static_cast<double>(flops_expression); \
                    __VA_OPT__((void)(__VA_ARGS__);) \
                } \
            })); \
    _Pragma("GCC diagnostic pop")
#endif
