/* odd.cu - programs that are right, each about one way of using the device:  odd PROGRAM [--steps N] [--late N] [--layers N]
 * [--words N];  odd --list. Prints a line for each step and the digest of what lasts. Exit status 3: a CUDA call failed. */
#include "odd.h"
#include <atomic>
#include <mutex>
#include <string>
#include <unistd.h>

struct told told;
word *the_clock;
static unsigned long long *the_sum;
struct lasting_one {
    word *p;
    size_t n;
};
static std::vector<lasting_one> all_lasting;

static void end_with(const char *call, const char *name, const char *file, int line)
{
    static std::atomic<bool> is_ending;
    while (is_ending.exchange(true))
        pause();
    fflush(stdout);
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, name);
    exit(3);
}

void check_driver(CUresult r, const char *call, const char *file, int line)
{
    const char *name = "?";
    if (r == CUDA_SUCCESS)
        return;
    (void)cuGetErrorName(r, &name);
    end_with(call, name, file, line);
}

void check_runtime(cudaError_t r, const char *call, const char *file, int line)
{
    if (r != cudaSuccess)
        end_with(call, cudaGetErrorName(r), file, line);
}

NAMED __global__ void odd_mix(const word *x, size_t nx, const word *w, size_t nw, word *y, size_t n)
{
    SPAN (i, n)
        y[i] = MIXED(x[WRAPPED(i, nx)], w[WRAPPED(i, nw)] + (word)i);
}
SIMGPU_FOOTPRINT(odd_mix, (const word *x, size_t nx, const word *w, size_t nw, word *y, size_t n), EACH *n,
                 R(x, nx < n ? nx : n), R(w, nw < n ? nw : n), W(y, n))

NAMED __global__ void odd_fold(word *y, const word *x, size_t nx, size_t n)
{
    SPAN (i, n)
        y[i] = MIXED(y[i], x[WRAPPED(i, nx)]);
}
SIMGPU_FOOTPRINT(odd_fold, (word * y, const word *x, size_t nx, size_t n), EACH *n, RW(y, n), R(x, nx < n ? nx : n))

NAMED __global__ void odd_fill(word *y, size_t n, word seed)
{
    SPAN (i, n)
        y[i] = MIXED(seed * 2654435761u, (word)i * 2246822519u);
}
SIMGPU_FOOTPRINT(odd_fill, (word * y, size_t n, word seed), 10.0 * n, W(y, n))

NAMED __global__ void odd_digest(const word *x, size_t n, unsigned long long *sum)
{
    unsigned long long mine = *sum;
    SPAN (i, n) {
        unsigned long long bits = (x[i] + 1ull) * (2 * i + 0x9e3779b97f4a7c15u);
        mine += bits ^ bits >> 29;
    }
    *sum = mine;
}
SIMGPU_FOOTPRINT(odd_digest, (const word *x, size_t n, unsigned long long *sum), 10.0 * n, R(x, n), RW(sum, 1))

NAMED __global__ void odd_tick(word *clock)
{
    clock[0]++;
}
SIMGPU_FOOTPRINT(odd_tick, (word * clock), 1.0, RW(clock, 1))

void mix(CUstream s, const word *x, size_t nx, const word *w, size_t nw, word *y, size_t n)
{
    RUN(odd_mix, s, x, nx, w, nw, y, n);
}
void fold(CUstream s, word *y, const word *x, size_t nx, size_t n)
{
    RUN(odd_fold, s, y, x, nx, n);
}
void fill(CUstream s, word *y, size_t n, word seed)
{
    RUN(odd_fill, s, y, n, seed);
}
void tick(CUstream s)
{
    RUN(odd_tick, s, the_clock);
}

CUstream new_stream(unsigned flags)
{
    CUstream s;
    DO(cuStreamCreate(&s, flags));
    return s;
}
CUevent new_event(unsigned flags)
{
    CUevent e;
    DO(cuEventCreate(&e, flags));
    return e;
}
void order(CUstream before, CUstream after)
{
    CUevent e = new_event();
    DO(cuEventRecord(e, before));
    DO(cuStreamWaitEvent(after, e, 0));
    DO(cuEventDestroy(e));
}

unsigned long long digest_now(CUstream s, const word *x, size_t n)
{
    unsigned long long result;
    DO(cuMemsetD8Async(at(the_sum), 0, sizeof(*the_sum), s));
    RUN(odd_digest, s, x, n, the_sum);
    DO(cuMemcpyDtoHAsync(&result, at(the_sum), sizeof(result), s));
    DO(cuStreamSynchronize(s));
    return result;
}
void say(CUstream s, const char *what, int number, const word *x, size_t n)
{
    printf("%s %d 0x%016llx\n", what, number, digest_now(s, x, n));
    fflush(stdout);
}

static word *plain_make(size_t n, CUstream)
{
    CUdeviceptr p;
    DO(cuMemAlloc(&p, n * sizeof(word)));
    return words_at(p);
}
static void plain_drop(word *p, size_t, CUstream)
{
    DO(cuMemFree(at(p)));
}
static word *async_make(size_t n, CUstream s)
{
    CUdeviceptr p;
    DO(cuMemAllocAsync(&p, n * sizeof(word), s));
    return words_at(p);
}
static void async_drop(word *p, size_t, CUstream s)
{
    DO(cuMemFreeAsync(at(p), s));
}
const struct memory plain_memory = {plain_make, plain_drop}, async_memory = {async_make, async_drop};

word *lasting(size_t n, word seed)
{
    word *p = plain_make(n, nullptr);
    fill(nullptr, p, n, seed);
    DO(cuStreamSynchronize(nullptr));
    all_lasting.push_back({p, n});
    return p;
}
unsigned long long digest_lasting()
{
    unsigned long long all = 0;
    for (const auto &one : all_lasting) {
        all = (all ^ digest_now(nullptr, one.p, one.n)) * 0x9e3779b97f4a7c15u;
        all ^= all >> 29;
    }
    return all;
}
void lasting_drop()
{
    for (const auto &one : all_lasting)
        DO(cuMemFree(at(one.p)));
    all_lasting.clear();
}

trunk::trunk(const struct memory &m, CUstream stream, int layers, size_t words) : memory(m), s(stream), n(words)
{
    input = lasting(n, 7);
    for (int l = 0; l < layers; l++)
        weights.push_back(lasting(n, 100 + (word)l));
}

word *trunk::forward(const std::function<word *(int, word *)> &hook, int layers, const word *from)
{
    word *x = make(n);
    mix(s, from ? from : input, n, the_clock, 2, x, n);
    keep(x, n);
    for (int l = 0; l < (layers < 0 ? (int)weights.size() : layers); l++) {
        word *y = make(n);
        mix(s, x, weights[(size_t)l % weights.size()], y, n);
        keep(y, n);
        x = hook ? hook(l, y) : y;
    }
    return x;
}

void trunk::backward(const word *last, const std::function<void(int, word *)> &hook, bool updates)
{
    word *g = make(n);
    mix(s, last, input, g, n);
    size_t layer = weights.size();
    for (; !all.empty(); all.pop_back()) {
        const kept k = all.back();
        if (hook)
            hook((int)all.size() - 1, g);
        word *next = make(n);
        mix(s, g, n, k.p, k.n, next, n);
        memory.drop(g, n, s);
        if (k.owned)
            memory.drop(k.p, k.n, s);
        g = next;
        if (layer > 0 && updates)
            fold(s, weights[--layer], g, n, n);
    }
    if (updates)
        fold(s, input, g, n, n);
    memory.drop(g, n, s);
}

void trunk::step(int number, const std::function<word *(int, word *)> &hook)
{
    tick(s);
    backward(forward(hook));
    say(s, "step", number, input, n);
}

static const std::vector<struct program> *const files[] = {&memory_programs,  &stream_programs, &graph_programs,
                                                           &host_programs,    &shape_programs,  &kernel_programs,
                                                           &sharing_programs, &habits_programs, &calls_programs};

static const struct program *find(const std::string &name)
{
    for (const auto *file : files)
        for (const struct program &one : *file) {
            if (name == "--list")
                puts(one.name);
            if (name == one.name)
                return &one;
        }
    return nullptr;
}

int main(int argc, char **argv)
{
    const struct program *one = argc > 1 ? find(argv[1]) : nullptr;
    for (int i = 2; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        const int value = atoi(argv[i + 1]);
        if (option == "--steps")
            told.steps = value;
        else if (option == "--late")
            told.late = value;
        else if (option == "--layers")
            told.layers = value;
        else if (option == "--words")
            told.words = (size_t)value;
    }
    if (!one)
        return argc > 1 && std::string(argv[1]) == "--list" ? 0 : 2;
    DONE(cudaSetDevice(0));
    DONE(cudaFree(nullptr));
    const word begin[2] = {0, (word)told.late};
    the_clock = plain_make(2, nullptr);
    DO(cuMemcpyHtoD(at(the_clock), begin, sizeof(begin)));
    the_sum = (unsigned long long *)plain_make(2, nullptr);
    one->run();
    DO(cuCtxSynchronize());
    printf("lasting 0x%016llx\n", digest_lasting());
    lasting_drop();
    DO(cuMemFree(at(the_clock)));
    DO(cuMemFree(at(the_sum)));
    return 0;
}
