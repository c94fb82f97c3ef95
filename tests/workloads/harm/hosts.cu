/* hosts.cu - kinds of layers that read memory of the host where it lies: the host changes it without any call. */
#include "layer.h"

__global__ void host_kernel(const uint32_t *x, const uint32_t *h, size_t nh, uint32_t *y, size_t n)
{
    SPAN (i, n)
        y[i] = MIXED(x[i], h[i % nh]);
}
SIMGPU_FOOTPRINT(host_kernel, (const uint32_t *x, const uint32_t *h, size_t nh, uint32_t *y, size_t n), EACH *n, R(x, n),
                 W(y, n))

struct sources {
    const uint32_t *x, *h;
    uint32_t *y;
};

__global__ void packed_kernel(sources s, size_t nh, size_t n)
{
    SPAN (i, n)
        s.y[i] = MIXED(s.x[i], s.h[i % nh]);
}
SIMGPU_FOOTPRINT(packed_kernel, (sources s, size_t nh, size_t n), EACH *n, R(s.x, n), W(s.y, n))

__global__ void followed_kernel(const uint32_t *x, const uint32_t *const *where, size_t nh, uint32_t *y, size_t n)
{
    SPAN (i, n)
        y[i] = MIXED(x[i], where[0][i % nh]);
}
SIMGPU_FOOTPRINT(followed_kernel, (const uint32_t *x, const uint32_t *const *where, size_t nh, uint32_t *y, size_t n),
                 EACH *n, R(x, n), R(where, 1), W(y, n))

#define HOST_WORDS 512
#define LONG_TABLE ((size_t)24 << 10) /* addresses; so many bytes are looked through only where it is worth while */

class of_host : public layer
{
  public:
    enum memory { PINNED, MANAGED, REGISTERED };
    enum passing { PLAIN = 0, IN_STRUCTURE = 4, IN_TENSOR = 8, PASSING = 12 };
    enum when { EACH_STEP = 0, LATE = 16 };
    enum table { SHORT = 0, LONG = 32 };

    of_host(training &, size_t words_each, int variant)
        : count(words_each), memory(variant & 3), passing(variant & PASSING), when(variant & LATE), before(HOST_WORDS),
          addresses(variant & LONG ? LONG_TABLE : 1), where(make(addresses.size() * sizeof(void *) / sizeof(uint32_t)))
    {
        void *at = nullptr;
        if (memory == PINNED)
            CHECK(cudaHostAlloc(&at, bytes(), cudaHostAllocDefault));
        else if (memory == MANAGED)
            CHECK(cudaMallocManaged(&at, bytes(), cudaMemAttachGlobal));
        else
            CHECK(cudaHostRegister(at = before.data(), bytes(), cudaHostRegisterDefault));
        host = static_cast<uint32_t *>(at);
        for (size_t i = 0; i < HOST_WORDS; i++)
            host[i] = (uint32_t)i * 2654435761u;
        addresses[0] = host;
        CHECK(cudaMemcpyAsync(where.data(), addresses.data(), where.bytes(), cudaMemcpyHostToDevice, stream_of(COMPUTE)));
        CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
    }
    ~of_host() override
    {
        if (memory == PINNED)
            CHECK(cudaFreeHost(host));
        else if (memory == MANAGED)
            CHECK(cudaFree(host));
        else
            CHECK(cudaHostUnregister(host));
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), y = make(count);
        plain(x, x, from);
        if (passing == PLAIN)
            LAUNCH(host_kernel, count, from.data(), host, (size_t)HOST_WORDS, y.data(), count);
        else if (passing == IN_TENSOR)
            LAUNCH(followed_kernel, count, from.data(), (const uint32_t *const *)where.data(), (size_t)HOST_WORDS, y.data(),
                   count);
        else
            LAUNCH(packed_kernel, count, (sources{from.data(), host, y.data()}), (size_t)HOST_WORDS, count);
        t.keep(from);
        t.keep(y);
        return y;
    }
    void between(training &t) override
    {
        uint32_t clock[2] = {0, 0};
        if (when == LATE)
            CHECK(cudaMemcpyAsync(clock, t.clock.data(), sizeof(clock), cudaMemcpyDeviceToHost, stream_of(COMPUTE)));
        CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
        if (clock[0] < clock[1])
            return;
        for (size_t i = 0; i < HOST_WORDS; i++)
            host[i] = host[i] * 1664525u + 1013904223u;
    }

  private:
    static size_t bytes()
    {
        return HOST_WORDS * sizeof(uint32_t);
    }

    const size_t count;
    const int memory, passing, when;
    std::vector<uint32_t> before;
    std::vector<uint32_t *> addresses;
    const words where;
    uint32_t *host;
};

const std::vector<struct kind> host_kinds = {
    {"host", create_variant<of_host, of_host::PINNED>,
     "y is made of pinned memory, which the host changes between the two parts"},
    {"host-packed", create_variant<of_host, of_host::PINNED | of_host::IN_STRUCTURE>,
     "the same, by an address in a structure"},
    {"host-followed", create_variant<of_host, of_host::PINNED | of_host::IN_TENSOR>,
     "the same, by an address in device memory"},
    {"host-late", create_variant<of_host, of_host::PINNED | of_host::LATE>, "as host, once it is late"},
    {"host-followed-late", create_variant<of_host, of_host::PINNED | of_host::IN_TENSOR | of_host::LATE>,
     "as host-followed, once it is late"},
    {"host-followed-long", create_variant<of_host, of_host::PINNED | of_host::IN_TENSOR | of_host::LATE | of_host::LONG>,
     "the same with a long table"},
    {"host-managed", create_variant<of_host, of_host::MANAGED>, "the same of managed memory"},
    {"host-registered", create_variant<of_host, of_host::REGISTERED | of_host::IN_STRUCTURE>,
     "the same of registered memory"},
};
