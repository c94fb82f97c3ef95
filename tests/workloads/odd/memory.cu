/* memory.cu - programs with ways of their own to get memory, and with tensors that are parts of others. */
#include "odd.h"
#include <algorithm>
#include <map>

/* --- allocators of the program's own, each of which cuts large blocks --- */

/* Best fit in blocks of `each` words; freed pieces join their neighbours. All on one stream. */
class pieces
{
  public:
    explicit pieces(size_t words_each) : each(words_each)
    {
    }
    word *make(size_t n)
    {
        n = (n + 127) / 128 * 128;
        auto best = space.end();
        for (auto it = space.begin(); it != space.end(); ++it)
            if (it->second >= n && (best == space.end() || it->second < best->second))
                best = it;
        if (best == space.end()) {
            word *block = plain_memory.make(std::max(each, n), nullptr);
            blocks.push_back(block);
            best = space.emplace(block, std::max(each, n)).first;
        }
        word *p = best->first;
        const size_t left = best->second - n;
        space.erase(best);
        if (left)
            space.emplace(p + n, left);
        used[p] = n;
        return p;
    }
    void drop(word *p)
    {
        size_t n = used.at(p);
        used.erase(p);
        auto behind = space.find(p + n);
        if (behind != space.end() && !is_block(behind->first)) {
            n += behind->second;
            space.erase(behind);
        }
        auto before = space.lower_bound(p);
        if (before != space.begin() && !is_block(p)) {
            --before;
            if (before->first + before->second == p) {
                before->second += n;
                return;
            }
        }
        space.emplace(p, n);
    }
    void end()
    {
        for (word *block : blocks)
            DO(cuMemFree(at(block)));
        blocks.clear();
        space.clear();
    }

  private:
    bool is_block(const word *p) const
    {
        return std::find(blocks.begin(), blocks.end(), p) != blocks.end();
    }
    const size_t each;
    std::map<word *, size_t> space, used;
    std::vector<word *> blocks;
};

static void run_pieces()
{
    pieces own(8 * told.words);
    CUstream s = new_stream();
    const struct memory m = {[&](size_t n, CUstream) { return own.make(n); },
                             [&](word *p, size_t, CUstream) { own.drop(p); }};
    trunk t(m, s);
    std::vector<word *> held;
    for (int step = 1; step <= told.steps; step++) {
        if (step % 5 == 0)
            held.push_back(own.make(1000 + (size_t)step)); /* all places move on */
        t.step(step);
        if (step == told.late) {
            for (word *p : held)
                own.drop(p);
            held.clear();
        }
    }
    own.end();
}

/* Four arenas; what is made goes on where the last ended, and all begins anew with each step. The place to begin at moves.
 */
static void run_stack()
{
    const size_t arenas = 5, each = (told.layers + 4) * told.words / 4 + told.words;
    std::vector<word *> arena;
    size_t place = 0, now = 0;
    for (size_t i = 0; i < arenas; i++)
        arena.push_back(plain_memory.make(each, nullptr));
    CUstream s = new_stream();
    const struct memory m = {[&](size_t n, CUstream) {
                                 if (place + n > each)
                                     place = 0, now = (now + 1) % arenas;
                                 word *p = arena[now] + place;
                                 place += n;
                                 return p;
                             },
                             [](word *, size_t, CUstream) {}};
    trunk t(m, s);
    word *last_gradient = lasting(told.words, 55);
    for (int step = 1; step <= told.steps; step++) {
        now = 0;
        place = (size_t)(step % 3) * 128;
        tick(s);
        word *x = t.forward();
        const size_t after = now, where = place;
        word *g = t.make(t.n), *other = t.make(t.n);
        mix(s, x, last_gradient, g, t.n);
        size_t layer = t.weights.size();
        for (; !t.all.empty(); t.all.pop_back()) {
            mix(s, g, t.all.back().p, other, t.n);
            std::swap(g, other);
            if (layer > 0)
                fold(s, t.weights[--layer], g, t.n, t.n);
        }
        fold(s, last_gradient, g, t.n, t.n);
        now = after, place = where;
        say(s, "step", step, g, t.n);
    }
    for (word *p : arena)
        DO(cuMemFree(at(p)));
}

/* --- tensors that are parts of others, and outputs that overlap inputs --- */

/* y[i] = f(y[i - shift], w[i]) from the end to the front: input and output overlap. */
NAMED __global__ void memory_shift(word *y, size_t shift, const word *w, size_t n)
{
    for (size_t i = n; i-- > shift;)
        y[i] = MIXED(y[i - shift], w[i]);
}
SIMGPU_FOOTPRINT(memory_shift, (word * y, size_t shift, const word *w, size_t n), EACH *n, RW(y, n), R(w, n))

/* Reads x, writes y, which may be x at an offset: from front to end where y lies before x. */
NAMED __global__ void memory_slide(const word *x, word *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = MIXED(x[i], (word)i);
}

/* The same tensor as two arguments: one that is read, one that is written where the data say so. */
NAMED __global__ void memory_twice(const word *x, word *maybe, word *y, size_t n, const word *clock)
{
    for (size_t i = 0; i < n; i++)
        y[i] = MIXED(x[i], maybe[n - 1 - i]);
    if (IS_LATE(clock))
        for (size_t i = 0; i < n; i += 5)
            maybe[i] = MIXED(maybe[i], clock[0]);
}

static void run_views()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    const size_t n = t.n;
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 4 == 0) { /* one block, of which the layer's output is the end; input of what follows overlaps it */
                word *wide = t.make(2 * n);
                fill(s, wide, 2 * n, (word)l);
                fold(s, wide + n / 2, x, n, n);
                RUN(memory_slide, s, wide + n / 2, wide + n / 4 + 1, n);
                t.keep(wide, 2 * n);
                word *y = t.make(n);
                mix(s, wide + n / 4 + 1, x, y, n);
                t.keep(y, n);
                RUN(memory_shift, s, wide, 37, x, 2 * n < n ? 2 * n : n);
                return y;
            }
            if (l % 4 == 2) {
                word *y = t.make(n);
                RUN(memory_twice, s, x, x, y, n, the_clock);
                t.keep(y, n);
                return y;
            }
            return x;
        });
}

/* --- buffers that change roles --- */

static void run_pingpong()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    std::vector<word *> other;
    for (int l = 0; l < told.layers; l++)
        other.push_back(lasting(t.n, 300 + (word)l));
    for (int step = 1; step <= told.steps; step++) {
        tick(s);
        t.backward(t.forward(), nullptr, false);
        for (size_t l = 0; l < t.weights.size();
             l++) { /* the new weights are made of the old ones, and the old become the place for the next */
            mix(s, t.weights[l], other[l], other[l], t.n);
            std::swap(t.weights[l], other[l]);
        }
        if (step % 3 == 0)
            std::rotate(t.weights.begin(), t.weights.begin() + 1, t.weights.end());
        say(s, "step", step, t.weights[0], t.n);
    }
}

/* --- several pools, whose memory is trimmed and kept in turn --- */

static void run_pools()
{
    CUmemoryPool pool[3];
    CUmemPoolProps props = {};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    for (auto &p : pool)
        DO(cuMemPoolCreate(&p, &props));
    cuuint64_t keep = UINT64_MAX, none = 0;
    DO(cuMemPoolSetAttribute(pool[1], CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    int off = 0;
    DO(cuMemPoolSetAttribute(pool[2], CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &off));
    DO(cuMemPoolSetAttribute(pool[2], CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, &off));
    CUstream s = new_stream(), side = new_stream();
    unsigned made = 0;
    const struct memory m = {[&](size_t n, CUstream on) {
                                 CUdeviceptr p;
                                 DO(cuMemAllocFromPoolAsync(&p, n * sizeof(word), pool[made++ % 3], on));
                                 return words_at(p);
                             },
                             async_memory.drop};
    trunk t(m, s);
    for (int step = 1; step <= told.steps; step++) {
        made = (unsigned)step / 10; /* another pool for each tensor from time to time */
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 5 != 3)
                return x;
            CUdeviceptr p; /* comes on one stream, is used on another, and goes on the first */
            DO(cuMemAllocFromPoolAsync(&p, t.n * sizeof(word), pool[l % 3], side));
            order(side, s);
            mix(s, x, x, words_at(p), t.n);
            word *y = t.make(t.n);
            mix(s, words_at(p), x, y, t.n);
            order(s, side);
            DO(cuMemFreeAsync(p, side));
            t.keep(y, t.n);
            return y;
        });
        if (step % 4 == 0)
            DO(cuMemPoolTrimTo(pool[step / 4 % 3], step % 8 ? 0 : 1 << 20));
        if (step == told.late)
            DO(cuMemPoolSetAttribute(pool[1], CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &none));
    }
    DO(cuStreamSynchronize(s));
    DO(cuStreamSynchronize(side));
    for (auto &p : pool)
        DO(cuMemPoolDestroy(p));
}

/* --- segments that grow: a range of addresses that is mapped bit by bit, beside tensors --- */

static void run_expandable()
{
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    size_t granule;
    DO(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    const size_t piece = (told.words * sizeof(word) / 4 + granule - 1) / granule * granule;
    CUdeviceptr range;
    DO(cuMemAddressReserve(&range, 64 * piece, 0, 0, 0));
    std::vector<CUmemGenericAllocationHandle> handles;
    CUstream s = new_stream();
    trunk t(async_memory, s);
    for (int step = 1; step <= told.steps; step++) {
        if (step % 4 == 1 && handles.size() < 8) {
            CUmemGenericAllocationHandle h;
            DO(cuMemCreate(&h, piece, &prop, 0));
            DO(cuMemMap(range + handles.size() * piece, piece, 0, h, 0));
            DO(cuMemSetAccess(range + handles.size() * piece, piece, &access, 1));
            handles.push_back(h);
            fill(s, words_at(range + (handles.size() - 1) * piece), piece / sizeof(word), (word)step);
        }
        const size_t have = handles.size() * piece / sizeof(word);
        t.step(step, [&](int l, word *x) {
            if (l % 6 == 1)
                fold(s, words_at(range), x, t.n, have);
            else if (l % 6 == 4)
                fold(s, x, words_at(range), have, t.n);
            return x;
        });
        if (step == told.late) { /* the last goes, and the others too */
            DO(cuStreamSynchronize(s));
            while (handles.size() > 1) {
                DO(cuMemUnmap(range + (handles.size() - 1) * piece, piece));
                DO(cuMemRelease(handles.back()));
                handles.pop_back();
            }
        }
    }
    DO(cuStreamSynchronize(s));
    for (size_t i = 0; i < handles.size(); i++) {
        DO(cuMemUnmap(range + i * piece, piece));
        DO(cuMemRelease(handles[i]));
    }
    DO(cuMemAddressFree(range, 64 * piece));
}

/* --- streams that come and go with each tensor: made on one, used on others, freed on a third --- */

static void run_elsewhere()
{
    CUstream s[4];
    for (auto &one : s)
        one = new_stream();
    unsigned turn = 0;
    std::map<word *, int> where;
    const struct memory m = {[&](size_t n, CUstream on) {
                                 CUstream from = s[turn++ % 4];
                                 word *p = async_memory.make(n, from);
                                 if (from != on)
                                     order(from, on);
                                 return p;
                             },
                             [&](word *p, size_t n, CUstream on) {
                                 CUstream to = s[turn++ % 3 + 1];
                                 if (to != on)
                                     order(on, to);
                                 async_memory.drop(p, n, to);
                             }};
    trunk t(m, s[0]);
    for (int step = 1; step <= told.steps; step++) {
        if (step % 8)
            turn = 0;
        t.step(step);
    }
}

/* --- partial writes by rectangles and boxes into tensors that kernels made --- */

static void run_rectangles()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    const size_t n = t.n, bytes = n * sizeof(word), pitch = 1024;
    std::vector<unsigned char> pageable(bytes, 0);
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            word *y;
            switch (l % 4) {
            case 0: { /* a rectangle of x replaces one in a copy of it */
                y = t.make(n);
                DO(cuMemcpyDtoDAsync(at(y), at(x), bytes, s));
                CUDA_MEMCPY2D c = {};
                c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
                c.srcDevice = at(x), c.srcPitch = pitch, c.srcXInBytes = 52, c.srcY = 3;
                c.dstDevice = at(y), c.dstPitch = 2 * pitch, c.dstXInBytes = 4, c.dstY = 1;
                c.WidthInBytes = 400, c.Height = bytes / pitch / 2 - 8;
                DO(cuMemcpy2DAsync(&c, s));
                break;
            }
            case 1: /* columns of a tensor that a kernel made are set */
                y = t.make(n);
                mix(s, x, x, y, n);
                DO(cuMemsetD2D32Async(at(y) + 16, pitch, (unsigned)step, 25, bytes / pitch - 1, s));
                DO(cuMemsetD2D8Async(at(y) + 129, pitch, (unsigned char)l, 3, bytes / pitch - 2, s));
                break;
            case 2: { /* a box */
                y = t.make(n);
                mix(s, x, t.input, y, n);
                CUDA_MEMCPY3D c = {};
                c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
                c.srcDevice = at(x), c.srcPitch = pitch, c.srcHeight = 16, c.srcZ = 1;
                c.dstDevice = at(y), c.dstPitch = pitch, c.dstHeight = 16, c.dstXInBytes = 8, c.dstY = 2;
                c.WidthInBytes = 100, c.Height = 7, c.Depth = bytes / pitch / 16 - 2;
                DO(cuMemcpy3DAsync(&c, s));
                break;
            }
            default: { /* columns come from the host, whose memory changes as soon as the call returns */
                y = t.make(n);
                mix(s, x, t.input, y, n);
                memset(pageable.data(), step + l, 4096);
                CUDA_MEMCPY2D c = {};
                c.srcMemoryType = CU_MEMORYTYPE_HOST, c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
                c.srcHost = pageable.data(), c.srcPitch = 64;
                c.dstDevice = at(y), c.dstPitch = pitch, c.dstXInBytes = 32;
                c.WidthInBytes = 60, c.Height = 64;
                DO(cuMemcpy2DAsync(&c, s));
                memset(pageable.data(), 0xee, 4096);
            }
            }
            t.keep(y, n);
            return y;
        });
}

const std::vector<struct program> memory_programs = {
    {"pieces", run_pieces}, {"stack", run_stack},           {"views", run_views},         {"pingpong", run_pingpong},
    {"pools", run_pools},   {"expandable", run_expandable}, {"elsewhere", run_elsewhere}, {"rectangles", run_rectangles},
};
