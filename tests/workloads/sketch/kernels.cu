/* kernels.cu - what sketches launch, and the way back through it. */
#include "sketch.h"
#include "launch.h"

static __device__ uint32_t mixed(uint32_t a, uint32_t b)
{
    a = (a ^ b) * 0x9e3779b9u;
    return a ^ a >> 15;
}

static const size_t PAGE = 1024; /* words */

/* A few words of each page. */
static __device__ uint32_t digest(uint32_t so_far, const uint32_t *a, size_t n)
{
    for (size_t at = 0; at < n; at += PAGE) {
        so_far = mixed(so_far, a[at]);
        so_far = mixed(so_far, a[at + (so_far & (PAGE - 1)) < n ? at + (so_far & (PAGE - 1)) : n - 1]);
    }
    return so_far;
}

static __device__ void spread(uint32_t what, uint32_t *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = what + (uint32_t)i * 0x85ebca6bu;
}

/* One thread does all of it, wherever this runs: bits are what matters. */
template <int KIND>
static __global__ void make_kernel(const uint32_t *a, size_t na, const uint32_t *b, size_t nb, const uint32_t *c, size_t nc,
                                   const uint32_t *d, size_t nd, uint32_t *to, size_t n, double cost)
{
    uint32_t sum = digest(digest(digest(digest(KIND, a, na), b, nb), c, nc), d, nd);
    (void)cost;
    if (threadIdx.x + blockIdx.x == 0)
        spread(sum, to, n);
}
#define MADE(kind) \
    SIMGPU_FOOTPRINT((make_kernel<kind>), \
                     (const uint32_t *a, size_t na, const uint32_t *b, size_t nb, const uint32_t *c, size_t nc, \
                      const uint32_t *d, size_t nd, uint32_t *to, size_t n, double cost), \
                     cost * 495e6, R(a, na), R(b, nb), R(c, nc), R(d, nd), W(to, n))
MADE(0);
MADE(1);
MADE(2);
MADE(3);
MADE(4);
MADE(5);
MADE(6);
MADE(7);

static __global__ void add_kernel(uint32_t *sum, const uint32_t *part, size_t n)
{
    SPAN (i, n)
        sum[i] += part[i];
}
SIMGPU_FOOTPRINT(add_kernel, (uint32_t * sum, const uint32_t *part, size_t n), n, RW(sum, n), R(part, n));

static __global__ void scale_kernel(uint32_t *what, uint32_t factor, size_t n)
{
    SPAN (i, n)
        what[i] *= factor;
}
SIMGPU_FOOTPRINT(scale_kernel, (uint32_t * what, uint32_t factor, size_t n), n, RW(what, n));

static __global__ void update_kernel(uint32_t *weight, uint32_t *first, uint32_t *second, const uint32_t *gradient, size_t n)
{
    SPAN (i, n) {
        first[i] = first[i] * 9 + gradient[i];
        second[i] = second[i] * 99 + (gradient[i] ^ gradient[i] >> 3);
        weight[i] += first[i] ^ second[i];
    }
}
SIMGPU_FOOTPRINT(update_kernel, (uint32_t * weight, uint32_t *first, uint32_t *second, const uint32_t *gradient, size_t n),
                 10 * n, RW(weight, n), RW(first, n), RW(second, n), R(gradient, n));

words words_of(double kib)
{
    size_t count = (size_t)(kib * 256);
    return words(count ? count : 1, 1);
}

using made = void (*)(const uint32_t *, size_t, const uint32_t *, size_t, const uint32_t *, size_t, const uint32_t *, size_t,
                      uint32_t *, size_t, double);

void make(int kind, double cost, const std::vector<words> &from, const words &to)
{
    static const made kinds[] = {make_kernel<0>, make_kernel<1>, make_kernel<2>, make_kernel<3>,
                                 make_kernel<4>, make_kernel<5>, make_kernel<6>, make_kernel<7>};
    const made kernel = kinds[kind & 7];
    words a[4];
    for (size_t i = 0; i < from.size() && i < 4; i++)
        a[i] = from[i];
    kernel<<<1, 1, 0, stream_of(COMPUTE)>>>(a[0].data(), a[0].count(), a[1].data(), a[1].count(), a[2].data(), a[2].count(),
                                            a[3].data(), a[3].count(), to.data(), to.count(),
                                            cost * (double)to.bytes() / (1 << 20));
    CHECK_LAUNCH(make_kernel);
}

void add_to_words(const words &sum, const words &part)
{
    add_kernel<<<1, 1, 0, stream_of(COMPUTE)>>>(sum.data(), part.data(), sum.count());
    CHECK_LAUNCH(add_kernel);
}

void scale_words(const words &what, uint32_t factor)
{
    scale_kernel<<<1, 1, 0, stream_of(COMPUTE)>>>(what.data(), factor, what.count());
    CHECK_LAUNCH(scale_kernel);
}

void update(const words &weight, const words &first, const words &second, const words &gradient)
{
    update_kernel<<<1, 1, 0, stream_of(COMPUTE)>>>(weight.data(), first.data(), second.data(), gradient.data(),
                                                   weight.count());
    CHECK_LAUNCH(update_kernel);
}

weights::weights(double kib) : value(words_of(kib)), first(words_of(kib)), second(words_of(kib))
{
    make(0, 1, {}, value);
    CHECK(cudaMemsetAsync(first.data(), 0, first.bytes(), stream_of(COMPUTE)));
    CHECK(cudaMemsetAsync(second.data(), 0, second.bytes(), stream_of(COMPUTE)));
}

void net::adam()
{
    for (auto &w : all)
        if (w->grad)
            update(w->value, w->first, w->second, w->grad);
    zero();
}

void net::zero()
{
    for (auto &w : all)
        w->grad = {};
}

value constant(const words &what)
{
    return {what, nullptr};
}

void give(const value &to, const words &part)
{
    if (!to.grad)
        return;
    if (*to.grad)
        add_to_words(*to.grad, part);
    else
        *to.grad = part;
}

static double each_mib(double us, const words &what)
{
    return us * (1 << 20) / (double)what.bytes();
}

struct passed { /* on the way forward */
    int kind;
    double us;
    std::vector<words> kept;
    std::vector<std::shared_ptr<words>> wanted;
    std::vector<size_t> counts;
    std::shared_ptr<words> grad;
    weights *w;

    void back()
    {
        std::vector<words> needs = {*grad};
        *grad = {};
        if (!needs[0])
            return;
        needs.insert(needs.end(), kept.begin(), kept.end());
        if (w) {
            words part(w->value.count(), 1);
            make(kind + 1, each_mib(us, part), needs, part);
            if (w->grad)
                add_to_words(w->grad, part);
            else
                w->grad = part;
            needs.resize(needs.size() > 3 ? 3 : needs.size());
            needs.push_back(w->value);
        }
        for (size_t i = 0; i < wanted.size(); i++) {
            if (!wanted[i])
                continue;
            words part(counts[i], 1);
            make(kind + 2, each_mib(us / (double)wanted.size(), part), needs, part);
            give({{}, wanted[i]}, part);
        }
    }
};

/* Each gradient is as large as what it is of; the way back takes about twice as long, with weights. */
value tape::apply(int kind, double kib, double cost, const std::vector<value> &from, weights *w, int saved)
{
    value out = {words_of(kib), nullptr};
    std::vector<words> read;
    for (const value &one : from)
        read.push_back(one.what);
    if (w)
        read.push_back(w->value);
    make(kind, cost, read, out.what);
    if (!recording)
        return out;
    out.grad = std::make_shared<words>();
    passed way = {kind, cost * (double)out.what.bytes() / (1 << 20), {}, {}, {}, out.grad, w};
    for (const value &one : from) {
        if (saved & SAVE_INPUTS)
            way.kept.push_back(one.what);
        way.wanted.push_back(one.grad);
        way.counts.push_back(one.what.count());
    }
    if (saved & SAVE_OUTPUT)
        way.kept.push_back(out.what);
    steps.push_back([way]() mutable { way.back(); });
    return out;
}

void tape::backward(const value &loss)
{
    words one(loss.what.count(), 1);
    CHECK(cudaMemsetAsync(one.data(), 1, one.bytes(), stream_of(COMPUTE)));
    give(loss, one);
    one = {};
    go_back();
}

void tape::go_back()
{
    while (!steps.empty()) {
        auto step = std::move(steps.back());
        steps.pop_back();
        step();
    }
}
