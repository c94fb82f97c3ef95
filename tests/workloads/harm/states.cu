/* states.cu - kinds of layers that depend on what no parameter shows, or leave something beside their output: variables of
 * the module, statistics, random numbers, second outputs, tables of addresses. */
#include "layer.h"

/* --- a variable that kernels read, and that another kernel or the host changes --- */

__device__ uint32_t factor = 3;
__constant__ uint32_t shift = 7;

__global__ void variable_kernel(const uint32_t *x, uint32_t *y, size_t n)
{
    SPAN (i, n)
        y[i] = MIXED(x[i], factor);
}
SIMGPU_FOOTPRINT(variable_kernel, (const uint32_t *x, uint32_t *y, size_t n), EACH *n, R(x, n), W(y, n))

__global__ void constant_kernel(const uint32_t *x, uint32_t *y, size_t n)
{
    SPAN (i, n)
        y[i] = MIXED(x[i], shift);
}
SIMGPU_FOOTPRINT(constant_kernel, (const uint32_t *x, uint32_t *y, size_t n), EACH *n, R(x, n), W(y, n))

__global__ void change_variable_kernel(const uint32_t *clock, uint32_t always)
{
    if (always || IS_LATE(clock))
        factor += 2 * clock[0];
}
SIMGPU_FOOTPRINT(change_variable_kernel, (const uint32_t *clock, uint32_t always), 1.0, R(clock, 2))

class of_variable : public layer
{
  public:
    enum variants { LATE_BEFORE, LATE_BETWEEN, EACH_STEP, SYMBOL, SYMBOL_BETWEEN, CONSTANT };
    of_variable(training &, size_t count, int variant) : count(count), variant(variant)
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y = make(count);
        plain(x, x, from);
        t.keep(from);
        if (variant == LATE_BEFORE || variant == EACH_STEP)
            change_by_kernel(t);
        else if (variant != LATE_BETWEEN)
            change_by_host(t, 1);
        if (variant == CONSTANT)
            LAUNCH(constant_kernel, count, from.data(), y.data(), count);
        else
            LAUNCH(variable_kernel, count, from.data(), y.data(), count);
        t.keep(y);
        return y;
    }
    void between(training &t) override
    {
        if (variant == LATE_BETWEEN)
            change_by_kernel(t);
        else if (variant == SYMBOL_BETWEEN)
            change_by_host(t, 2);
    }

  private:
    void change_by_kernel(training &t)
    {
        const uint32_t always = variant == EACH_STEP;
        LAUNCH_BLOCKS(change_variable_kernel, 1, t.clock.data(), always);
    }
    void change_by_host(training &t, uint32_t salt)
    {
        const uint32_t value = (uint32_t)t.step * 2654435761u + salt;
        if (variant == CONSTANT)
            CHECK(cudaMemcpyToSymbolAsync(shift, &value, sizeof(value), 0, cudaMemcpyHostToDevice, stream_of(COMPUTE)));
        else
            CHECK(cudaMemcpyToSymbolAsync(factor, &value, sizeof(value), 0, cudaMemcpyHostToDevice, stream_of(COMPUTE)));
        CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
    }
    const size_t count;
    const int variant;
};

/* --- a kernel counts its launches; what another one makes depends on it --- */

__device__ uint32_t launches;

__global__ void counting_kernel(const uint32_t *x, uint32_t *y, size_t n)
{
    SPAN (i, n) {
        y[i] = MIXED(x[i], 41u);
        if (i == 0)
            launches++;
    }
}
SIMGPU_FOOTPRINT(counting_kernel, (const uint32_t *x, uint32_t *y, size_t n), EACH *n, R(x, n), W(y, n))

__global__ void counted_kernel(const uint32_t *x, uint32_t *y, size_t n)
{
    SPAN (i, n)
        y[i] = MIXED(x[i], launches);
}
SIMGPU_FOOTPRINT(counted_kernel, (const uint32_t *x, uint32_t *y, size_t n), EACH *n, R(x, n), W(y, n))

class counts : public layer
{
  public:
    counts(training &, size_t count) : count(count)
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y = make(count), z = make(count);
        plain(x, x, from);
        LAUNCH(counting_kernel, count, from.data(), y.data(), count);
        LAUNCH(counted_kernel, count, y.data(), z.data(), count);
        t.keep(from);
        t.keep(y);
        t.keep(z);
        return z;
    }

  private:
    const size_t count;
};

/* --- statistics that go on with each launch, and that y depends on --- */

__global__ void running_kernel(const uint32_t *x, uint32_t *y, size_t n, uint32_t *statistics, size_t m)
{
    SPAN (i, m) {
        uint32_t sum = statistics[i];
        for (size_t k = i; k < n; k += m) {
            y[k] = MIXED(x[k], statistics[i]);
            sum = sum * 3u + x[k];
        }
        statistics[i] = sum;
    }
}
SIMGPU_FOOTPRINT(running_kernel, (const uint32_t *x, uint32_t *y, size_t n, uint32_t *statistics, size_t m), EACH *n,
                 R(x, n), W(y, n), RW(statistics, m))

class runs : public layer
{
  public:
    enum variants { SMALL, LARGE };
    runs(training &t, size_t count, int variant) : count(count), statistics(t.persistent(variant == SMALL ? 256 : count, 42))
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y = make(count);
        plain(x, x, from);
        LAUNCH(running_kernel, statistics.count(), from.data(), y.data(), count, statistics.data(), statistics.count());
        t.keep(from);
        t.keep(y);
        return y;
    }

  private:
    const size_t count;
    const words statistics;
};

/* --- random numbers by a counter: on the device, advanced by the kernel itself or another, or told by the host --- */

__global__ void dropout_kernel(const uint32_t *x, uint32_t *y, uint32_t *mask, size_t n, uint32_t *offset, uint32_t told,
                               uint32_t advances)
{
    const uint32_t at = offset ? *offset : told;
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) {
        const uint32_t drawn = MIXED((uint32_t)i * 2654435761u + at, at ^ (uint32_t)i);
        mask[i] = drawn >> 31 ? 0xffffffffu : 0;
        y[i] = x[i] & mask[i];
    }
    __syncthreads();
    if (advances && threadIdx.x == 0)
        *offset = at + 4;
}
SIMGPU_FOOTPRINT(dropout_kernel,
                 (const uint32_t *x, uint32_t *y, uint32_t *mask, size_t n, uint32_t *offset, uint32_t told,
                  uint32_t advances),
                 EACH *n, R(x, n), W(y, n), W(mask, n), RW(offset, offset ? 1 : 0))

__global__ void advance_kernel(uint32_t *offset)
{
    *offset += 4;
}
SIMGPU_FOOTPRINT(advance_kernel, (uint32_t * offset), 1.0, RW(offset, 1))

class dropout : public layer
{
  public:
    enum variants { BY_ITSELF, BY_ANOTHER, TOLD };
    dropout(training &t, size_t count, int variant) : count(count), variant(variant), offset(t.persistent(1, 43))
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y = make(count), mask = make(count);
        plain(x, x, from);
        dropout_kernel<<<1, THREADS, 0, stream_of(COMPUTE)>>>(from.data(), y.data(), mask.data(), count,
                                                              variant == TOLD ? nullptr : offset.data(), (uint32_t)t.step,
                                                              variant == BY_ITSELF);
        CHECK_LAUNCH(dropout_kernel);
        if (variant == BY_ANOTHER)
            LAUNCH_BLOCKS(advance_kernel, 1, offset.data());
        t.keep(mask);
        t.keep(y);
        return y;
    }

  private:
    const size_t count;
    const int variant;
    const words offset;
};

/* --- one new output, and another one in place --- */

__global__ void both_kernel(const uint32_t *x, uint32_t *y, uint32_t *z, size_t n)
{
    SPAN (i, n) {
        y[i] = MIXED(x[i], z[i]);
        z[i] = z[i] * 5u + x[i];
    }
}
SIMGPU_FOOTPRINT(both_kernel, (const uint32_t *x, uint32_t *y, uint32_t *z, size_t n), EACH *n, R(x, n), W(y, n), RW(z, n))

class two_outputs : public layer
{
  public:
    enum variants { PERSISTENT, KEPT };
    two_outputs(training &t, size_t count, int variant) : count(count)
    {
        if (variant == PERSISTENT)
            persistent = t.persistent(count, 44);
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y = make(count), z = persistent;
        plain(x, x, from);
        if (!z) {
            z = plain(from, x);
            t.keep(z);
        }
        LAUNCH(both_kernel, count, from.data(), y.data(), z.data(), count);
        t.keep(from);
        t.keep(y);
        return y;
    }

  private:
    const size_t count;
    words persistent;
};

/* --- tensors of no elements: the address lies behind the end of another --- */

__global__ void joined_kernel(const uint32_t *a, size_t na, const uint32_t *b, size_t nb, uint32_t *y, uint32_t *rest,
                              size_t n)
{
    SPAN (i, n)
        y[i] = i < na ? MIXED(a[i], 51u) : MIXED(b[i - na], 52u);
    (void)nb, (void)rest;
}
SIMGPU_FOOTPRINT(joined_kernel,
                 (const uint32_t *a, size_t na, const uint32_t *b, size_t nb, uint32_t *y, uint32_t *rest, size_t n),
                 EACH *n, R(a, na), R(b, nb), W(y, n), W(rest, 0))

class joined : public layer
{
  public:
    joined(training &, size_t count) : count(count)
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y = make(count), other = make(count);
        plain(x, x, from);
        /* Nothing is taken of what lies behind the end, and nothing is written there. */
        LAUNCH(joined_kernel, count, from.data(), count, from.data() + count, (size_t)0, y.data(), y.data() + count, count);
        LAUNCH(joined_kernel, count, y.data() + count, (size_t)0, y.data(), count, other.data(), other.data() + count,
               count);
        t.keep(from);
        t.keep(y);
        t.keep(other);
        return other;
    }

  private:
    const size_t count;
};

/* --- tensors that a kernel finds by a table in device memory --- */

#define TABLE 3

__global__ void table_kernel(uint32_t *const *table, size_t n)
{
    SPAN (i, n)
        table[2][i] = MIXED(table[0][i], table[1][i]);
}
SIMGPU_FOOTPRINT(table_kernel, (uint32_t *const *table, size_t n), EACH *n, R(table, TABLE))

class tabled : public layer
{
  public:
    tabled(training &t, size_t count) : count(count), table(make(TABLE * sizeof(void *) / sizeof(uint32_t)))
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), other, y = make(count);
        plain(x, x, from);
        other = plain(from, x);
        uint32_t *addresses[TABLE] = {from.data(), other.data(), y.data()};
        CHECK(cudaMemcpyAsync(table.data(), addresses, sizeof(addresses), cudaMemcpyHostToDevice, stream_of(COMPUTE)));
        CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
        LAUNCH(table_kernel, count, (uint32_t *const *)table.data(), count);
        t.keep(from);
        t.keep(other);
        t.keep(y);
        return y;
    }

  private:
    const size_t count;
    const words table;
};

const std::vector<struct kind> state_kinds = {
    {"variable", create_variant<of_variable, of_variable::LATE_BEFORE>,
     "a variable of the module that a kernel changes later"},
    {"variable-between", create_variant<of_variable, of_variable::LATE_BETWEEN>, "the same between the two parts of a step"},
    {"variable-each", create_variant<of_variable, of_variable::EACH_STEP>, "one that a kernel changes in each step"},
    {"symbol", create_variant<of_variable, of_variable::SYMBOL>, "one that the host changes in each step"},
    {"symbol-between", create_variant<of_variable, of_variable::SYMBOL_BETWEEN>,
     "the same twice, once between the two parts"},
    {"constant", create_variant<of_variable, of_variable::CONSTANT>, "the same of a __constant__ one"},
    {"counter", create<counts>, "launches are counted in a variable of the module"},
    {"running", create_variant<runs, runs::SMALL>, "small statistics that go on with each launch"},
    {"running-large", create_variant<runs, runs::LARGE>, "large ones"},
    {"dropout", create_variant<dropout, dropout::BY_ITSELF>, "random numbers by a counter that the kernel advances itself"},
    {"dropout-apart", create_variant<dropout, dropout::BY_ANOTHER>, "another kernel advances it"},
    {"dropout-told", create_variant<dropout, dropout::TOLD>, "the counter is a parameter"},
    {"two-outputs", create_variant<two_outputs, two_outputs::PERSISTENT>, "a new output and a lasting one in place"},
    {"two-outputs-kept", create_variant<two_outputs, two_outputs::KEPT>, "a new one and another of this step in place"},
    {"zero", create<joined>, "tensors of no elements, by addresses behind the end of others"},
    {"table", create<tabled>, "addresses in a table that is copied to the device in each step"},
};
