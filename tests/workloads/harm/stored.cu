/* stored.cu - kinds of layers whose kernels write through an address that lies in a variable of their module, beside their
 * output: another kernel has stored it there, or the host has. Tensors, and memory of the host. */
#include "layer.h"
#include <algorithm>

__device__ uint32_t *tallied;

__global__ void store_kernel(const uint32_t *clock, uint32_t *tally, uint32_t always)
{
    tallied = always || IS_LATE(clock) ? tally : NULL;
}
SIMGPU_FOOTPRINT(store_kernel, (const uint32_t *clock, uint32_t *tally, uint32_t always), 1.0, R(clock, 2))

/* Of the module itself. */
__device__ uint32_t own_tally;

__global__ void store_own_kernel()
{
    tallied = &own_tally;
}
SIMGPU_FOOTPRINT(store_own_kernel, (), 1.0)

__global__ void tell_own_kernel(uint32_t *tally)
{
    tally[0] = tally[0] * 5u + own_tally;
}
SIMGPU_FOOTPRINT(tell_own_kernel, (uint32_t * tally), 1.0, RW(tally, 1))

__global__ void tally_kernel(const uint32_t *x, uint32_t *y, size_t n)
{
    SPAN (i, n) {
        y[i] = MIXED(x[i], 61u);
        if (i == 0 && tallied)
            *tallied = *tallied * 3u + x[0];
    }
}
SIMGPU_FOOTPRINT(tally_kernel, (const uint32_t *x, uint32_t *y, size_t n), EACH *n, R(x, n), W(y, n))

__constant__ uint32_t *told;

__global__ void constant_tally_kernel(const uint32_t *x, uint32_t *y, size_t n)
{
    SPAN (i, n) {
        y[i] = MIXED(x[i], 62u);
        if (i == 0 && told)
            *told = *told * 3u + x[0];
    }
}
SIMGPU_FOOTPRINT(constant_tally_kernel, (const uint32_t *x, uint32_t *y, size_t n), EACH *n, R(x, n), W(y, n))

/* Page-locked memory of the host. */
template <class T> class pinned
{
  public:
    pinned(size_t count, T value)
    {
        CHECK(cudaMallocHost((void **)&list, count * sizeof(T)));
        std::fill(list, list + count, value);
    }
    ~pinned()
    {
        CHECK(cudaFreeHost(list));
    }
    pinned(const pinned &) = delete;
    pinned &operator=(const pinned &) = delete;
    T *data() const
    {
        return list;
    }

  private:
    T *list = nullptr;
};

class stored : public layer
{
  public:
    enum variants { EACH_STEP, LATE, OWN, CONSTANT_CHANGED, HOST_EACH, HOST_LATE, SYMBOL_HOST, CONSTANT_HOST };
    stored(training &t, size_t count, int variant)
        : count(count), variant(variant), tally(t.persistent(64, 45)), host(tally.count(), 1u), source(1, nullptr)
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y = make(count);
        plain(x, x, from);
        if (variant == SYMBOL_HOST || variant == CONSTANT_HOST)
            store_by_host();
        else if (variant == CONSTANT_CHANGED)
            store_what_changes();
        else if (variant == OWN)
            LAUNCH_BLOCKS(store_own_kernel, 1);
        else
            LAUNCH_BLOCKS(store_kernel, 1, t.clock.data(), is_of_host() ? host.data() : tally.data(),
                          variant != LATE && variant != HOST_LATE);
        if (variant == CONSTANT_HOST || variant == CONSTANT_CHANGED)
            LAUNCH(constant_tally_kernel, count, from.data(), y.data(), count);
        else
            LAUNCH(tally_kernel, count, from.data(), y.data(), count);
        t.keep(from);
        t.keep(y);
        return y;
    }
    /* What the host has of it is told with the tensor. */
    void between(training &) override
    {
        if (variant == OWN)
            LAUNCH_BLOCKS(tell_own_kernel, 1, tally.data());
        if (is_of_host())
            CHECK(cudaMemcpyAsync(tally.data(), host.data(), tally.bytes(), cudaMemcpyHostToDevice, stream_of(COMPUTE)));
    }

  private:
    bool is_of_host() const
    {
        return variant >= HOST_EACH;
    }
    void store(uint32_t *const *from)
    {
        if (variant == SYMBOL_HOST)
            CHECK(cudaMemcpyToSymbolAsync(tallied, from, sizeof(*from), 0, cudaMemcpyHostToDevice, stream_of(COMPUTE)));
        else
            CHECK(cudaMemcpyToSymbolAsync(told, from, sizeof(*from), 0, cudaMemcpyHostToDevice, stream_of(COMPUTE)));
    }
    void store_by_host()
    {
        uint32_t *const address = host.data();
        store(&address);
        CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
    }
    /* The address is there only when the copy comes to it. */
    void store_what_changes()
    {
        CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
        source.data()[0] = nullptr;
        CHECK(cudaLaunchHostFunc(stream_of(COMPUTE), change, this));
        store(source.data());
    }
    static void change(void *self)
    {
        ((stored *)self)->source.data()[0] = ((stored *)self)->tally.data();
    }
    const size_t count;
    const int variant;
    const words tally;
    const pinned<uint32_t> host;
    const pinned<uint32_t *> source;
};

/* --- the same in a tensor: a kernel stores the address of host memory there, another one reads or writes through it --- */

__global__ void store_in_tensor_kernel(uint32_t **where, uint32_t *h)
{
    where[0] = h;
}
SIMGPU_FOOTPRINT(store_in_tensor_kernel, (uint32_t * *where, uint32_t *h), 1.0, W(where, 1))

__global__ void through_tensor_kernel(const uint32_t *x, uint32_t *const *where, uint32_t tallies, uint32_t *y, size_t n)
{
    SPAN (i, n) {
        y[i] = MIXED(x[i], tallies ? 63u : where[0][i % 64]);
        if (i == 0 && tallies)
            *where[0] = *where[0] * 3u + x[0];
    }
}
SIMGPU_FOOTPRINT(through_tensor_kernel, (const uint32_t *x, uint32_t *const *where, uint32_t tallies, uint32_t *y, size_t n),
                 EACH *n, R(x, n), R(where, 1), W(y, n))

class stored_in_tensor : public layer
{
  public:
    enum variants { READ, TALLIED };
    stored_in_tensor(training &t, size_t count, int variant)
        : count(count), tallies(variant == TALLIED), where(make(count)), tally(t.persistent(64, 46)), host(tally.count(), 1u)
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y = make(count);
        plain(x, x, from);
        LAUNCH_BLOCKS(store_in_tensor_kernel, 1, (uint32_t **)where.data(), host.data());
        LAUNCH(through_tensor_kernel, count, from.data(), (uint32_t *const *)where.data(), tallies, y.data(), count);
        t.keep(from);
        t.keep(y);
        return y;
    }
    /* The host tells what was tallied, or changes what was read. */
    void between(training &) override
    {
        CHECK(cudaMemcpyAsync(tally.data(), host.data(), tally.bytes(), cudaMemcpyHostToDevice, stream_of(COMPUTE)));
        CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
        for (size_t i = 0; i < tally.count() && !tallies; i++)
            host.data()[i] = host.data()[i] * 1664525u + 1013904223u;
    }

  private:
    const size_t count;
    const uint32_t tallies;
    const words where, tally;
    const pinned<uint32_t> host;
};

/* --- variables with room for an address, and numbers in them --- */

__device__ unsigned long long counted;
__device__ double numbers[2] = {1.5, 2.5};

__global__ void numbers_kernel(const uint32_t *x, uint32_t *y, size_t n)
{
    SPAN (i, n) {
        y[i] = MIXED(x[i], (uint32_t)counted + (uint32_t)numbers[1]);
        if (i == 0)
            numbers[0] += 1;
    }
}
SIMGPU_FOOTPRINT(numbers_kernel, (const uint32_t *x, uint32_t *y, size_t n), EACH *n, R(x, n), W(y, n))

__global__ void count_kernel()
{
    counted++;
}
SIMGPU_FOOTPRINT(count_kernel, (), 1.0)

class of_numbers : public layer
{
  public:
    of_numbers(training &, size_t count) : count(count)
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y = make(count);
        plain(x, x, from);
        LAUNCH_BLOCKS(count_kernel, 1);
        LAUNCH(numbers_kernel, count, from.data(), y.data(), count);
        t.keep(from);
        t.keep(y);
        return y;
    }

  private:
    const size_t count;
};

const std::vector<struct kind> stored_kinds = {
    {"stored", create_variant<stored, stored::EACH_STEP>,
     "a kernel stores a tensor's address in a variable, another one writes through it"},
    {"stored-late", create_variant<stored, stored::LATE>, "the same, but no address is there at first"},
    {"stored-host", create_variant<stored, stored::HOST_EACH>, "the address is one of pinned host memory"},
    {"stored-host-late", create_variant<stored, stored::HOST_LATE>, "the same, but no address is there at first"},
    {"symbol-host", create_variant<stored, stored::SYMBOL_HOST>, "the host stores the address of pinned host memory there"},
    {"constant-host", create_variant<stored, stored::CONSTANT_HOST>, "the same in a __constant__ one"},
    {"constant-changed", create_variant<stored, stored::CONSTANT_CHANGED>,
     "a tensor's in a __constant__ one, from memory that changes before it is copied"},
    {"stored-own", create_variant<stored, stored::OWN>, "another variable's, of the same module"},
    {"tensor-host", create_variant<stored_in_tensor, stored_in_tensor::READ>,
     "a kernel stores the address of pinned memory in a tensor, another one reads what the host changes there"},
    {"tensor-host-tally", create_variant<stored_in_tensor, stored_in_tensor::TALLIED>, "the other one writes there"},
    {"numbers", create<of_numbers>, "variables with room for an address hold numbers, and change in each step"},
};
