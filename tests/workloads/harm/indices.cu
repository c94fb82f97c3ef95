/* indices.cu - kinds of layers whose kernels are led by what they find in tensors that they change: indices, chains,
 * addresses, turns to wait for. On any other contents they write elsewhere, fault, or wait for ever. */
#include "layer.h"

#define NOWHERE 0xffffffffu

/* --- a permutation that each launch changes in place, and that says where sums go --- */

#define SUMS 16384 /* most that there are: 64 KiB, below what a pattern of bytes means as an index */

template <class T>
__global__ void order_kernel(T *order, size_t entries, const uint32_t *x, size_t n, uint32_t *sums, size_t m)
{
    SPAN (i, entries) {
        atomicAdd(&sums[order[i]], x[i % n] + (uint32_t)i);
        order[i] = (T)((order[i] * 5u + 1u) % m);
    }
}
SIMGPU_FOOTPRINT((order_kernel<uint16_t>),
                 (uint16_t * order, size_t entries, const uint32_t *x, size_t n, uint32_t *sums, size_t m),
                 0.5 * EACH * entries, RW(order, entries), R(x, n), RW(sums, m))
SIMGPU_FOOTPRINT((order_kernel<uint32_t>),
                 (uint32_t * order, size_t entries, const uint32_t *x, size_t n, uint32_t *sums, size_t m), EACH *entries,
                 RW(order, entries), R(x, n), RW(sums, m))

template <class T> __global__ void begin_order_kernel(T *order, size_t entries, size_t m)
{
    SPAN (i, entries)
        order[i] = (T)(i * 7 % m);
}

template <class T> class ordered : public layer
{
  public:
    ordered(training &t, size_t count)
        : order(t.persistent(count, 1)), sums(t.persistent(count < SUMS ? count : SUMS, 2)),
          entries(order.bytes() / sizeof(T))
    {
        LAUNCH(begin_order_kernel, entries, (T *)order.data(), entries, sums.count());
    }
    words forward(training &t, const words &x) override
    {
        LAUNCH(order_kernel, entries, (T *)order.data(), entries, x.data(), x.count(), sums.data(), sums.count());
        words y = plain(x, sums);
        t.keep(y);
        return y;
    }

  private:
    const words order, sums;
    const size_t entries;
};

/* --- the same, with an output that is new each time and worth making again --- */

__global__ void picked_kernel(uint32_t *order, const uint32_t *x, uint32_t *y, size_t n)
{
    SPAN (i, n) {
        y[i] = MIXED(x[order[i]], (uint32_t)i);
        order[i] = order[i] + 1 < n ? order[i] + 1 : 0;
    }
}
SIMGPU_FOOTPRINT(picked_kernel, (uint32_t * order, const uint32_t *x, uint32_t *y, size_t n), EACH *n, RW(order, n), R(x, n),
                 W(y, n))

class picked : public layer
{
  public:
    picked(training &t, size_t count) : order(t.persistent(count, 3))
    {
        LAUNCH(begin_order_kernel, count, order.data(), count, count);
    }
    words forward(training &t, const words &x) override
    {
        words from = make(order.count()), y = make(order.count());
        plain(x, x, from);
        LAUNCH(picked_kernel, y.count(), order.data(), from.data(), y.data(), y.count());
        t.keep(from);
        t.keep(y);
        return y;
    }

  private:
    const words order;
};

/* --- a hash table with chains, made anew in each step --- */

__global__ void hash_kernel(const uint32_t *x, size_t n, uint32_t *heads, size_t buckets, uint32_t *links, uint32_t *y)
{
    for (size_t i = 0; i < n; i++) {
        const size_t bucket = x[i] % buckets;
        uint32_t met = x[i];
        int length = 0;
        for (uint32_t j = heads[bucket]; j != NOWHERE && length < 4; j = links[j], length++)
            met = MIXED(met, x[j]);
        links[i] = heads[bucket];
        heads[bucket] = (uint32_t)i;
        y[i] = met;
    }
}
SIMGPU_FOOTPRINT(hash_kernel, (const uint32_t *x, size_t n, uint32_t *heads, size_t buckets, uint32_t *links, uint32_t *y),
                 EACH *n, R(x, n), RW(heads, buckets), RW(links, n), W(y, n))

class hashed : public layer
{
  public:
    hashed(training &, size_t count) : count(count)
    {
    }
    words forward(training &t, const words &x) override
    {
        words heads = make(count), links = make(x.count()), y = make(x.count());
        CHECK(cudaMemsetAsync(heads.data(), 0xff, heads.bytes(), stream_of(COMPUTE)));
        LAUNCH_BLOCKS(hash_kernel, 1, x.data(), x.count(), heads.data(), heads.count(), links.data(), y.data());
        t.keep(heads);
        t.keep(links);
        t.keep(y);
        return y;
    }

  private:
    const size_t count;
};

/* --- rings: where each bucket stands moves on by one with each element that comes to it --- */

__global__ void ring_kernel(const uint32_t *x, uint32_t *stands, const uint32_t *links, uint32_t *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t *at = &stands[x[i] % n];
        y[i] = MIXED(x[i], *at);
        *at = links[*at];
    }
}
SIMGPU_FOOTPRINT(ring_kernel, (const uint32_t *x, uint32_t *stands, const uint32_t *links, uint32_t *y, size_t n), EACH *n,
                 R(x, n), RW(stands, n), R(links, n), W(y, n))

class rings : public layer
{
  public:
    rings(training &t, size_t count) : stands(t.persistent(count, 4)), links(t.persistent(count, 5))
    {
        LAUNCH(begin_order_kernel, count, stands.data(), count, count);
        LAUNCH(begin_order_kernel, count, links.data(), count, count);
    }
    words forward(training &t, const words &x) override
    {
        words from = make(stands.count()), y = make(stands.count());
        plain(x, x, from);
        LAUNCH_BLOCKS(ring_kernel, 1, from.data(), stands.data(), links.data(), y.data(), y.count());
        t.keep(from);
        t.keep(y);
        return y;
    }

  private:
    const words stands, links;
};

/* --- addresses in a tensor, all of its own entries, which a kernel has stored there and exchanges --- */

__global__ void begin_list_kernel(uint64_t *list, size_t entries)
{
    for (size_t i = 0; i < entries; i++)
        list[i] = (uint64_t)&list[(i * 7 + 3) % entries];
}

__global__ void list_kernel(uint64_t *list, size_t entries, const uint32_t *x, uint32_t *y, size_t n)
{
    for (size_t i = 0; i < entries; i++) {
        uint64_t *there = (uint64_t *)list[i];
        list[i] = *there;
        *there = (uint64_t)&list[i];
    }
    for (size_t i = 0; i < n; i++)
        y[i] = MIXED(x[i], (uint32_t)((uint64_t *)list[i % entries] - list));
}
SIMGPU_FOOTPRINT(list_kernel, (uint64_t * list, size_t entries, const uint32_t *x, uint32_t *y, size_t n), EACH *n,
                 RW(list, entries), R(x, n), W(y, n))

class listed : public layer
{
  public:
    listed(training &, size_t count) : list(make(count / 2 * 2)) /* addresses differ from run to run: they are not told */
    {
        LAUNCH_BLOCKS(begin_list_kernel, 1, (uint64_t *)list.data(), list.count() / 2);
    }
    words forward(training &t, const words &x) override
    {
        words y = make(x.count());
        LAUNCH_BLOCKS(list_kernel, 1, (uint64_t *)list.data(), list.count() / 2, x.data(), y.data(), x.count());
        t.keep(y);
        return y;
    }

  private:
    const words list;
};

/* --- blocks take turns at each tile: the lock says whose turn it is; the last one leaves `left` there --- */

#define SPLITS 4
#define TILE   256

__global__ void split_kernel(const uint32_t *x, uint32_t *y, size_t n, uint32_t *locks, uint32_t left)
{
    for (size_t tile = 0; tile * TILE < n; tile++) {
        volatile uint32_t *lock = &locks[tile];
        while (*lock != blockIdx.x)
            ;
        for (size_t i = tile * TILE; i < n && i < (tile + 1) * TILE; i++)
            y[i] = (blockIdx.x > 0 ? y[i] * ODD : 0) + x[i] + blockIdx.x;
        __threadfence();
        *lock = blockIdx.x + 1 < gridDim.x ? blockIdx.x + 1 : left;
    }
}
SIMGPU_FOOTPRINT(split_kernel, (const uint32_t *x, uint32_t *y, size_t n, uint32_t *locks, uint32_t left), EACH *n, R(x, n),
                 W(y, n), RW(locks, (n + TILE - 1) / TILE))

/* Locks are 0 between launches, or cleared by a memset before each. */
class split : public layer
{
  public:
    enum variants { LARGE, SMALL, CLEARED };
    split(training &, size_t count, int variant) : variant(variant), locks(make(variant == SMALL ? tiles(count) : count))
    {
        CHECK(cudaMemsetAsync(locks.data(), 0, locks.bytes(), stream_of(COMPUTE)));
    }
    words forward(training &t, const words &x) override
    {
        words from = make(x.count()), y = make(x.count());
        plain(x, x, from);
        if (variant == CLEARED)
            CHECK(cudaMemsetAsync(locks.data(), 0, locks.bytes(), stream_of(COMPUTE)));
        LAUNCH_BLOCKS(split_kernel, SPLITS, from.data(), y.data(), y.count(), locks.data(),
                      variant == CLEARED ? (uint32_t)SPLITS : 0u);
        t.keep(from);
        t.keep(y);
        return y;
    }

  private:
    static size_t tiles(size_t count)
    {
        return (count + TILE - 1) / TILE;
    }
    const int variant;
    const words locks;
};

/* --- a scan that looks back: each block takes a tile by a ticket and adds what the tile before has come to --- */

__global__ void scan_kernel(const uint32_t *x, uint32_t *y, size_t n, uint32_t *state)
{
    const uint32_t tile = atomicAdd(&state[0], 1);
    const size_t each = (n + gridDim.x - 1) / gridDim.x, end = each * (tile + 1) < n ? each * (tile + 1) : n;
    volatile uint32_t *before = &state[2 * (size_t)tile], *mine = before + 2; /* whether it is known, and what it is */
    uint32_t sum = 0;
    if (tile > 0) {
        while (before[0] != 1)
            ;
        sum = before[1];
    }
    for (size_t i = each * tile; i < end; i++)
        y[i] = sum += x[i];
    mine[1] = sum;
    __threadfence();
    mine[0] = 1;
}
SIMGPU_FOOTPRINT(scan_kernel, (const uint32_t *x, uint32_t *y, size_t n, uint32_t *state), EACH *n, R(x, n), W(y, n),
                 RW(state, n))

class scan : public layer
{
  public:
    scan(training &, size_t count) : count(count)
    {
    }
    words forward(training &t, const words &x) override
    {
        words from = make(count), state = make(count), y = make(count);
        plain(x, x, from);
        CHECK(cudaMemsetAsync(state.data(), 0, state.bytes(), stream_of(COMPUTE)));
        LAUNCH_BLOCKS(scan_kernel, 8, from.data(), y.data(), count, state.data());
        t.keep(from);
        t.keep(state);
        t.keep(y);
        return y;
    }

  private:
    const size_t count;
};

/* --- a large table of addresses is made anew in each step, followed at once, and once more in the backward part --- */

__global__ void make_table_kernel(const uint32_t **table, size_t entries, const uint32_t *to, size_t n,
                                  const uint32_t *clock)
{
    SPAN (i, entries)
        table[i] = to + (i * 7 + clock[0]) % n;
}
SIMGPU_FOOTPRINT(make_table_kernel,
                 (const uint32_t **table, size_t entries, const uint32_t *to, size_t n, const uint32_t *clock),
                 EACH *entries, W(table, entries), R(to, 1), R(clock, 2))

__global__ void follow_table_kernel(const uint32_t *const *table, size_t entries, uint32_t *y)
{
    SPAN (i, entries)
        y[i] = MIXED(*table[i], (uint32_t)i);
}
SIMGPU_FOOTPRINT(follow_table_kernel, (const uint32_t *const *table, size_t entries, uint32_t *y), EACH *entries,
                 R(table, entries), W(y, entries))

class made_table : public layer
{
  public:
    made_table(training &, size_t words_each) : count(words_each)
    {
    }
    words forward(training &t, const words &x) override
    {
        const size_t entries = count / 2;
        const words to = plain(x, x, count), table = make(count);
        LAUNCH(make_table_kernel, entries, (const uint32_t **)table.data(), entries, to.data(), count, t.clock.data());
        const reader follow = [entries](const words &told) {
            words y = make(entries);
            LAUNCH(follow_table_kernel, entries, (const uint32_t *const *)told.data(), entries, y.data());
            return y;
        };
        t.keep(to);
        t.keep(table, follow);
        const words y = follow(table);
        t.keep(y);
        const words z = plain(to, y, count);
        t.keep(z);
        return plain(z, to, count);
    }

  private:
    static words plain(const words &x, const words &w, size_t count)
    {
        words y = make(count);
        ::plain(x, w, y);
        return y;
    }
    const size_t count;
};

const std::vector<struct kind> index_kinds = {
    {"order16", create<ordered<uint16_t>>, "16-bit indices, changed in place, say where sums go"},
    {"order32", create<ordered<uint32_t>>, "32-bit indices likewise"},
    {"picked", create<picked>, "a new tensor is gathered by indices that change in place"},
    {"hash", create<hashed>, "a hash table with chains, cleared by a memset"},
    {"rings", create<rings>, "what leads along rings is moved on in place"},
    {"list", create<listed>, "addresses within a tensor, exchanged in place"},
    {"semaphore", create_variant<split, split::LARGE>, "blocks wait for their turn in a large tensor, 0 between launches"},
    {"semaphore-small", create_variant<split, split::SMALL>, "the same in a small one"},
    {"semaphore-cleared", create_variant<split, split::CLEARED>,
     "they are left as the last turn, and cleared by a memset before"},
    {"scan", create<scan>, "a scan that takes tickets and waits for the tile before, cleared by a memset"},
    {"table-made", create<made_table>, "a table of addresses is made in each step, and followed at once and later"},
};
