/* partial.cu - kinds of layers whose tensors are written in parts, or on top of what is there; some only once the data say
 * so. */
#include "layer.h"

#define ABSENT 0xffffffffu

/* --- rows go where indices say: all places until it is late, then with gaps --- */

__global__ void route_kernel(uint32_t *to, size_t n, const uint32_t *clock)
{
    SPAN (r, n)
        to[r] = IS_LATE(clock) && r % 4 == 1 ? ABSENT : (uint32_t)((r + 7 * (size_t)clock[0]) % n);
}
SIMGPU_FOOTPRINT(route_kernel, (uint32_t * to, size_t n, const uint32_t *clock), 10.0 * n, W(to, n), R(clock, 2))

__global__ void scatter_kernel(const uint32_t *x, const uint32_t *to, uint32_t *y, size_t n)
{
    SPAN (r, n)
        if (to[r] != ABSENT)
            y[to[r]] = MIXED(x[r], 77u);
}
SIMGPU_FOOTPRINT(scatter_kernel, (const uint32_t *x, const uint32_t *to, uint32_t *y, size_t n), EACH *n, R(x, n), R(to, n),
                 W(y, n))

__global__ void gather_kernel(const uint32_t *y, const uint32_t *to, uint32_t *dense, size_t n)
{
    SPAN (r, n)
        dense[r] = to[r] != ABSENT ? y[to[r]] : 5;
}
SIMGPU_FOOTPRINT(gather_kernel, (const uint32_t *y, const uint32_t *to, uint32_t *dense, size_t n), EACH *n, R(y, n),
                 R(to, n), W(dense, n))

class scattered : public layer
{
  public:
    enum variants { SET, FILLED, EMPTY };
    scattered(training &t, size_t count, int variant) : variant(variant), to(t.persistent(count, 11))
    {
    }
    words forward(training &t, const words &x) override
    {
        const size_t n = to.count();
        words from = make(n), y = make(n);
        LAUNCH(route_kernel, n, to.data(), n, t.clock.data());
        plain(x, x, from);
        if (variant == SET)
            CHECK(cudaMemsetAsync(y.data(), 0x11, y.bytes(), stream_of(COMPUTE)));
        else if (variant == FILLED)
            fill(y, 12);
        LAUNCH(scatter_kernel, n, from.data(), to.data(), y.data(), n);
        t.keep(from);
        if (variant != EMPTY) {
            t.keep(y);
            return y;
        }
        const reader gather = [this](const words &value) {
            words dense = make(value.count());
            LAUNCH(gather_kernel, dense.count(), value.data(), to.data(), dense.data(), dense.count());
            return dense;
        };
        t.keep(y, gather);
        return gather(y);
    }

  private:
    const int variant;
    const words to;
};

/* --- slices of one tensor, a launch each; of some the last one is neither written nor read --- */

#define SLICES 3

__global__ void slice_kernel(const uint32_t *x, uint32_t *slice, size_t n, uint32_t salt)
{
    SPAN (i, n)
        slice[i] = MIXED(x[i], salt);
}
SIMGPU_FOOTPRINT(slice_kernel, (const uint32_t *x, uint32_t *slice, size_t n, uint32_t salt), EACH *n, R(x, n), W(slice, n))

class sliced : public layer
{
  public:
    enum variants { WHOLE, SOME };
    sliced(training &, size_t count, int variant) : count(count), slices(variant == SOME ? SLICES - 1 : SLICES)
    {
    }
    words forward(training &t, const words &x) override
    {
        const size_t each = count / SLICES, used = slices == SLICES ? count : slices * each;
        words from = make(count), y = make(count);
        plain(x, x, from);
        for (size_t s = 0, at = 0; s < slices; at = ++s * each) {
            const size_t n = s + 1 == slices ? used - at : each;
            LAUNCH(slice_kernel, n, from.data() + at, y.data() + at, n, (uint32_t)s);
        }
        const reader written = [used](const words &value) {
            words dense = make(used);
            LAUNCH(slice_kernel, used, value.data(), dense.data(), used, 3u);
            return dense;
        };
        t.keep(y, slices == SLICES ? reader(nullptr) : written);
        return slices == SLICES ? y : written(y);
    }

  private:
    const size_t count, slices;
};

/* --- sums that are made in place --- */

__global__ void add_kernel(uint32_t *sum, const uint32_t *x, size_t n, uint32_t factor)
{
    SPAN (i, n)
        sum[i] = sum[i] * 3u + x[i] * factor;
}
SIMGPU_FOOTPRINT(add_kernel, (uint32_t * sum, const uint32_t *x, size_t n, uint32_t factor), EACH *n, RW(sum, n), R(x, n))

/* Of so many parts, on zeroes or on what a first kernel has made (negative). */
class accumulated : public layer
{
  public:
    accumulated(training &, size_t count, int parts) : count(count), parts(parts)
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), sum = make(count);
        plain(x, x, from);
        if (parts > 0)
            CHECK(cudaMemsetAsync(sum.data(), 0, sum.bytes(), stream_of(COMPUTE)));
        else
            plain(x, from, sum);
        for (int part = 0; part < abs(parts); part++)
            LAUNCH(add_kernel, count, sum.data(), from.data(), count, 2 * (uint32_t)part + 1);
        t.keep(sum);
        return sum;
    }

  private:
    const size_t count;
    const int parts;
};

/* --- activations in place, with or without a mask that tells of them --- */

__global__ void relu_kernel(uint32_t *y, size_t n)
{
    SPAN (i, n)
        y[i] = (int32_t)y[i] > 0 ? y[i] : 0;
}
SIMGPU_FOOTPRINT(relu_kernel, (uint32_t * y, size_t n), EACH *n, RW(y, n))

__global__ void masked_relu_kernel(uint32_t *y, uint32_t *mask, size_t n)
{
    SPAN (i, n) {
        mask[i] = (int32_t)y[i] > 0 ? 0xffffffffu : 0;
        y[i] &= mask[i];
    }
}
SIMGPU_FOOTPRINT(masked_relu_kernel, (uint32_t * y, uint32_t *mask, size_t n), EACH *n, RW(y, n), W(mask, n))

class relu : public layer
{
  public:
    enum variants { PLAIN, MASKED };
    relu(training &, size_t count, int variant) : count(count), variant(variant)
    {
    }
    words forward(training &t, const words &x) override
    {
        words y = make(count), mask = make(count);
        plain(x, x, y);
        if (variant == MASKED) {
            LAUNCH(masked_relu_kernel, count, y.data(), mask.data(), count);
            t.keep(mask);
        } else {
            LAUNCH(relu_kernel, count, y.data(), count);
        }
        t.keep(y);
        return y;
    }

  private:
    const size_t count;
    const int variant;
};

/* --- what is there counts once it is late --- */

__global__ void beta_kernel(uint32_t *y, const uint32_t *x, size_t n, const uint32_t *clock)
{
    if (IS_LATE(clock)) {
        SPAN (i, n)
            y[i] = y[i] * 3u + MIXED(x[i], 9u);
    } else {
        SPAN (i, n)
            y[i] = MIXED(x[i], 9u);
    }
}
SIMGPU_FOOTPRINT(beta_kernel, (uint32_t * y, const uint32_t *x, size_t n, const uint32_t *clock), EACH *n, RW(y, n), R(x, n),
                 R(clock, 2))

__global__ void half_kernel(uint32_t *y, const uint32_t *x, size_t n, const uint32_t *clock)
{
    const bool is_late = IS_LATE(clock);
    SPAN (i, n)
        if (!is_late || i % 2 == 0)
            y[i] = MIXED(x[i], 13u);
}
SIMGPU_FOOTPRINT(half_kernel, (uint32_t * y, const uint32_t *x, size_t n, const uint32_t *clock), EACH *n, RW(y, n), R(x, n),
                 R(clock, 2))

class late_on_top : public layer
{
  public:
    enum variants { BETA, BETA_SET, HALF };
    late_on_top(training &, size_t count, int variant) : count(count), variant(variant)
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y = make(count);
        plain(x, x, from);
        if (variant == BETA_SET)
            CHECK(cudaMemsetAsync(y.data(), 0x21, y.bytes(), stream_of(COMPUTE)));
        else
            plain(x, from, y);
        if (variant == HALF)
            LAUNCH(half_kernel, count, y.data(), from.data(), count, t.clock.data());
        else
            LAUNCH(beta_kernel, count, y.data(), from.data(), count, t.clock.data());
        t.keep(from);
        t.keep(y);
        return y;
    }

  private:
    const size_t count;
    const int variant;
};

const std::vector<struct kind> partial_kinds = {
    {"scatter", create_variant<scattered, scattered::SET>, "a memset, then rows to where indices say, later with gaps"},
    {"scatter-filled", create_variant<scattered, scattered::FILLED>, "the same on what a kernel has filled"},
    {"scatter-empty", create_variant<scattered, scattered::EMPTY>, "the same on nothing: what is not written is not read"},
    {"slices", create_variant<sliced, sliced::WHOLE>, "three launches write a third each"},
    {"slices-some", create_variant<sliced, sliced::SOME>, "the last third is neither written nor read"},
    {"accumulate", create_variant<accumulated, 4>, "a memset and four sums in place"},
    {"accumulate-2", create_variant<accumulated, 2>, "a memset and two"},
    {"accumulate-on", create_variant<accumulated, -3>, "a kernel and three sums in place"},
    {"relu", create_variant<relu, relu::PLAIN>, "an activation in place"},
    {"relu-mask", create_variant<relu, relu::MASKED>, "the same, with a mask as a second output"},
    {"beta", create_variant<late_on_top, late_on_top::BETA>, "overwrites what another kernel made, later adds to it"},
    {"beta-set", create_variant<late_on_top, late_on_top::BETA_SET>, "the same after a memset"},
    {"half", create_variant<late_on_top, late_on_top::HALF>, "overwrites all, later every other word"},
};
