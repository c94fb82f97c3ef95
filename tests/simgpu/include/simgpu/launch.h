/* launch.h - the records of a program's kernels and variables, and the path of a launch: a call of the kernel's host
 * function outside of kernels asks the runtime for a launch; the same call made by the record's run() runs all its threads.
 *
 * simcc puts a local type (Here) into each kernel's body, which has the kernel's type, address and compilation unit. The
 * name of that local type contains the mangled name of the kernel, including template arguments. */
#ifndef SIMGPU_LAUNCH_H
#define SIMGPU_LAUNCH_H
#pragma GCC system_header

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <numeric>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>
#include "place.h"
#include "threads.h"

/* What code made by nvcc calls in the runtime; declared as in the toolkit's crt/host_runtime.h. */
extern "C" {
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function, const char *device_name,
                            int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp_size);
void __cudaRegisterVar(void **handle, char *host_variable, char *device_address, const char *device_name, int ext,
                       size_t size, int constant, int global);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);
}

namespace simgpu
{
/* The frame in which programs made by nvcc pass their image to __cudaRegisterFatBinary(). */
struct fat_binary_wrapper {
    int magic = 0x466243b1;
    int version = 1;
    const void *image = nullptr;
    void *unused = nullptr;
};

/* The image of one source file. It grows while the program's constructors run, including kernels first needed by a
 * template. It is zero before its own constructor, so the order of constructors does not matter. Outgrown tables stay
 * until the end, since readers of the image may still use them. */
class unit
{
  public:
    explicit constexpr unit(uint64_t code)
    {
        image_.code = code;
    }
    unit(const unit &) = delete;
    ~unit()
    {
        if (handle_)
            __cudaUnregisterFatBinary(handle_);
        while (outgrown *last = tables_) {
            tables_ = last->next;
            delete[] last->table;
            delete last;
        }
    }
    void add(const simgpu_kernel *kernel, const void *host_function)
    {
        image_.kernels = grown(image_.kernels, image_.kernel_count, kernel);
        image_.kernel_count++;
        list();
        __cudaRegisterFunction(handle(), static_cast<const char *>(host_function), const_cast<char *>(kernel->name),
                               kernel->name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
        __cudaRegisterFatBinaryEnd(handle());
    }
    void add(const simgpu_global *global)
    {
        image_.globals = grown(image_.globals, image_.global_count, global);
        image_.global_count++;
        list();
        __cudaRegisterVar(handle(), static_cast<char *>(global->address), const_cast<char *>(global->name), global->name, 0,
                          global->bytes, global->is_constant, 0);
        __cudaRegisterFatBinaryEnd(handle());
    }

  private:
    struct outgrown {
        const void **table;
        outgrown *next;
    };
    /* Returns a longer copy of the table; the old one stays until the end. */
    template <class T> const T *const *grown(const T *const *old, uint32_t count, const T *added)
    {
        const void **table = new const void *[count + 1];
        if (count)
            std::memcpy(table, old, count * sizeof *table);
        table[count] = added;
        tables_ = new outgrown{table, tables_};
        return reinterpret_cast<const T *const *>(table);
    }
    /* With more variables than can be listed, the image lists none and is not read as a cubin. */
    void list()
    {
        (void)simgpu_image_list(&image_);
    }
    void **handle()
    {
        if (!handle_) {
            wrapper_.image = &image_;
            handle_ = __cudaRegisterFatBinary(&wrapper_);
        }
        return handle_;
    }
    simgpu_image image_ = {};
    fat_binary_wrapper wrapper_;
    void **handle_ = nullptr;
    outgrown *tables_ = nullptr;
};

/* "Z<kernel>E11simgpu_here": the kernel's own name is "_Z<kernel>", or plain if it has no parameter types (extern "C"). */
inline std::string kernel_name(const char *type_name)
{
    std::string name(type_name);
    const size_t end = name.rfind("E11simgpu_here");
    if (name.empty() || name[0] != 'Z' || end == std::string::npos)
        return name;
    name = name.substr(1, end - 1);
    size_t digits = 0, length = 0;
    for (; digits < name.size() && name[digits] >= '0' && name[digits] <= '9'; digits++)
        length = length * 10 + static_cast<size_t>(name[digits] - '0');
    return digits && digits + length == name.size() ? name.substr(digits) : "_Z" + name;
}

/* "...IXadL_Z<variable>EEEE": a variable outside namespaces has a plain name. */
inline std::string variable_name(const char *type_name)
{
    std::string name(type_name);
    const size_t start = name.find("XadL_Z");
    if (start == std::string::npos || name.size() < start + 11)
        return name;
    name = name.substr(start + 6, name.size() - start - 10);
    size_t digits = 0, length = 0;
    for (; digits < name.size() && name[digits] >= '0' && name[digits] <= '9'; digits++)
        length = length * 10 + static_cast<size_t>(name[digits] - '0');
    return digits && digits + length == name.size() ? name.substr(digits) : "_Z" + name;
}

/* A parameter's type as it counts for the function's type: without outer const, volatile and __restrict__. */
template <class T> struct without_restrict {
    using type = T;
};
template <class T> struct without_restrict<T *__restrict__> {
    using type = T *;
};
template <class T> using parameter_t = typename without_restrict<std::remove_cv_t<T>>::type;

/* Offsets of parameters in the image, each at a multiple of its type's alignment, as on a GPU. */
template <class... P> struct layout {
    static constexpr size_t count = sizeof...(P);
    simgpu_param params[count + 1] = {};
    uint32_t bytes = 0;
    constexpr layout()
    {
        size_t i = 0;
        ((add<P>(i++)), ...);
    }
    template <class T> constexpr void add(size_t i)
    {
        static_assert(!std::is_reference<T>::value, "a kernel parameter can't be a reference");
        using target = std::remove_pointer_t<T>;
        const uint32_t offset = (bytes + alignof(T) - 1) / alignof(T) * alignof(T);
        params[i].offset_bytes = offset;
        params[i].size_bytes = sizeof(T);
        params[i].flags =
            std::is_pointer<T>::value ? SIMGPU_PARAM_POINTER | (std::is_const<target>::value ? SIMGPU_PARAM_CONST : 0) : 0;
        bytes = offset + sizeof(T);
    }
};

/* A kernel of this program and, once there is a SIMGPU_FOOTPRINT for it, the function that describes a launch of it. */
struct kernel_entry {
    simgpu_kernel kernel = {};
    void (*host_function)() = nullptr;
    void (*footprint)() = nullptr;
    void (*describe)(const simgpu_launch *, const void *, simgpu_footprint *) = nullptr;
    kernel_entry *next = nullptr;
};

struct footprint_entry {
    void (*host_function)() = nullptr;
    void (*footprint)() = nullptr;
    footprint_entry *next = nullptr;
};

inline kernel_entry *all_kernels;
inline footprint_entry *all_footprints;

inline void connect(kernel_entry &kernel, const footprint_entry &footprint)
{
    if (kernel.host_function == footprint.host_function) {
        kernel.footprint = footprint.footprint;
        kernel.kernel.describe = kernel.describe;
    }
}

template <class Here, class Type> struct record;

template <class Here, class... P> struct record<Here, void(P...)> : kernel_entry {
    static constexpr layout<P...> image_layout{};
    static record object;
    std::string name;

    record()
    {
        name = kernel_name(typeid(Here).name());
        kernel.name = name.c_str();
        kernel.param_count = sizeof...(P);
        kernel.param_bytes = image_layout.bytes;
        kernel.params = image_layout.params;
        kernel.run = run;
        host_function = reinterpret_cast<void (*)()>(Here::self());
        describe = describe_launch;
        next = all_kernels;
        all_kernels = this;
        for (footprint_entry *entry = all_footprints; entry; entry = entry->next)
            connect(*this, *entry);
        Here::unit().add(&kernel, reinterpret_cast<const void *>(host_function));
    }
    template <size_t... I> static void call(void (*function)(P...), const unsigned char *image, std::index_sequence<I...>)
    {
        function(*reinterpret_cast<const std::remove_cv_t<P> *>(image + image_layout.params[I].offset_bytes)...);
    }
    static void call(void (*function)(P...), const void *image)
    {
        alignas(128) unsigned char copy[image_layout.bytes + 1];
        std::memcpy(copy, image, image_layout.bytes);
        call(function, copy, std::index_sequence_for<P...>());
    }
    static void run(const simgpu_launch *launch, const void *image)
    {
        set_sizes(*launch);
        dynamic_shared.start(launch->shared_bytes);
        to_run = launch;
        call(Here::self(), image);
    }
    static void describe_launch(const simgpu_launch *launch, const void *image, simgpu_footprint *ret_footprint);
};

template <class Here, class... P> record<Here, void(P...)> record<Here, void(P...)>::object;

/* The order in which blocks run: each once, from `block`, `count` times, with next() in between. */
class block_order
{
  public:
    explicit block_order(const simgpu_launch &launch)
        : width_(launch.grid[0]), height_(launch.grid[1]), count(static_cast<uint64_t>(width_) * height_ * launch.grid[2])
    {
        if (launch.order == 0)
            return;
        const uint64_t bits = launch.order * 0x9e3779b97f4a7c15u;
        at_ = (bits >> 16) % count;
        stride_ = 1 + (bits >> 40) % count;
        while (std::gcd(stride_, count) != 1)
            stride_++;
    }
    uint3 block() const
    {
        const uint64_t row = at_ / width_;
        return uint3{static_cast<unsigned>(at_ % width_), static_cast<unsigned>(row % height_),
                     static_cast<unsigned>(row / height_)};
    }
    void next()
    {
        at_ = (at_ + stride_) % count;
    }

  private:
    uint32_t width_, height_;
    uint64_t at_ = 0, stride_ = 1;

  public:
    const uint64_t count;
};

/* Runs every thread of the launch: `body` is the kernel's body with the thread's position as its first parameter. */
template <class Body, class... P> void execute(const simgpu_launch &launch, const Body &body, P &...args)
{
    const bool only = launch.grid[0] == 1 && launch.grid[1] == 1 && launch.grid[2] == 1 && launch.block[0] == 1 &&
                      launch.block[1] == 1 && launch.block[2] == 1;
    const auto thread = [&] { body(one_thread{threadIdx, blockIdx, blockDim, gridDim}, args...); };
    const auto alone = [&] { body(only_thread{}, args...); };

    if (only) {
        using closure = std::remove_const_t<decltype(alone)>;
        threads().run([](void *c) { (*static_cast<closure *>(c))(); }, const_cast<closure *>(&alone));
        return;
    }
    using closure = std::remove_const_t<decltype(thread)>;
    block_order order(launch);
    for (uint64_t i = 0; i < order.count; i++, order.next()) {
        blockIdx = order.block();
        threads().run([](void *c) { (*static_cast<closure *>(c))(); }, const_cast<closure *>(&thread));
    }
}

/* `<<<grid, block, shared_bytes, stream>>>`; returns nonzero if the launch cannot be made. */
static inline unsigned configure(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t stream = nullptr)
{
    return __cudaPushCallConfiguration(grid, block, shared_bytes, stream);
}

/* Static, because cudaLaunchKernel is a different function in files compiled for per-thread default streams. */
static inline void launch(const void *host_function, void **args)
{
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
    if (__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream) == cudaSuccess)
        (void)::cudaLaunchKernel(host_function, grid, block, args, shared_bytes, stream);
}

/* The body of a kernel's host function. */
template <class Here, class Body, class... P> static inline void enter(const Body &body, P &...args)
{
    auto &kernel = record<Here, typename Here::type>::object;
    if (const simgpu_launch *now = to_run) {
        to_run = nullptr;
        execute(*now, body, args...);
    } else {
        void *addresses[] = {(void *)std::addressof(args)..., nullptr};
        launch(reinterpret_cast<const void *>(kernel.host_function), addresses);
    }
}

/* A __device__, __constant__ or __managed__ variable. */
template <auto *Variable> class global_record
{
  public:
    global_record(unit &unit, int is_constant)
    {
        static const std::string name = variable_name(typeid(global_record).name());
        static const simgpu_global global = {name.c_str(), const_cast<void *>(static_cast<const volatile void *>(Variable)),
                                             sizeof *Variable, is_constant};
        unit.add(&global);
    }
};
} // namespace simgpu

/* The image of this source file. */
static simgpu::unit simgpu_unit{__simgpu_code__};

#endif
