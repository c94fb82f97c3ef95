/* data.cu - reads text and digits, and copies batches to the device one ahead. */
#include "data.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_FILE   "/usr/share/common-licenses/GPL-3"
#define DIGITS_FILE "tests/workloads/data/digits.bin"
#define PIXELS      64

static bool read_file(const std::string &path, std::string &ret_bytes)
{
    FILE *file = fopen(path.c_str(), "rb");
    char part[65536];
    if (!file)
        return false;
    ret_bytes.clear();
    for (size_t got; (got = fread(part, 1, sizeof part, file)) > 0;)
        ret_bytes.append(part, got);
    bool good = !ferror(file);
    fclose(file);
    return good;
}

[[noreturn]] static void give_up(const std::string &path, const char *why)
{
    fprintf(stderr, "%s: %s (--data=FILE names another)\n", path.c_str(), why);
    exit(1);
}

/* Looks from the program's folder upwards, then from the present one, for the project's own files. */
static bool read_project_file(const char *name, std::string &ret_bytes)
{
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program);
    std::string folder(program, length > 0 ? (size_t)length : 0);
#ifdef WORKLOADS_ROOT
    if (read_file(std::string(WORKLOADS_ROOT "/") + name, ret_bytes))
        return true;
#endif
    for (size_t slash; (slash = folder.rfind('/')) != std::string::npos;) {
        folder.resize(slash);
        if (read_file(folder + "/" + name, ret_bytes))
            return true;
    }
    return read_file(name, ret_bytes);
}

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t z = (a + 1) * 0x9e3779b97f4a7c15u + (b + 1) * 0xbf58476d1ce4e5b9u + (c + 1) * 0x94d049bb133111ebu;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

text::text(const struct options &o, bool time_first) : sequence((size_t)o.size.sequence), seed(o.seed), by_time(time_first)
{
    std::string path = o.data.empty() ? TEXT_FILE : o.data;
    if (!read_file(path, bytes))
        give_up(path, strerror(errno));
    if (bytes.size() / 10 < sequence + 2)
        give_up(path, "too short for sequences of this length");
    token_count = target_count = sequence;
}

/* The last tenth is held out. */
void text::fill(uint64_t number, int size, bool held_out, float *, int *tokens, int *targets) const
{
    size_t first = held_out ? bytes.size() / 10 * 9 : 0, end = held_out ? bytes.size() : bytes.size() / 10 * 9;
    for (int example = 0; example < size; example++) {
        const char *at = bytes.data() + first + mix(seed, number, (uint64_t)example) % (end - first - sequence);
        for (size_t t = 0; t < sequence; t++) {
            size_t place = by_time ? t * size + example : example * sequence + t;
            tokens[place] = (unsigned char)at[t];
            targets[place] = (unsigned char)at[t + 1];
        }
    }
}

digits::digits(const struct options &o)
{
    std::string path = o.data.empty() ? DIGITS_FILE : o.data;
    uint32_t count = 0;
    if (o.data.empty() ? !read_project_file(DIGITS_FILE, bytes) : !read_file(path, bytes))
        give_up(path, strerror(errno));
    if (bytes.size() >= 16)
        memcpy(&count, bytes.data() + 8, sizeof count);
    if (memcmp(bytes.data(), "DIGITS1\0\0\0", bytes.size() < 8 ? bytes.size() : 8) || count < 12 ||
        bytes.size() != 16 + (size_t)count * (PIXELS + 1))
        give_up(path, "not a file of digits");
    for (uint32_t i = 0; i < count; i++)
        order.push_back((int)i);
    for (uint32_t i = count - 1; i > 0; i--)
        std::swap(order[i], order[mix(o.seed, i, 0) % (i + 1)]);
    image_numbers = PIXELS;
    target_count = 1;
}

void digits::fill(uint64_t number, int size, bool held_out, float *images, int *, int *targets) const
{
    size_t kept = order.size() / 6, first = held_out ? order.size() - kept : 0,
           count = held_out ? kept : order.size() - kept;
    for (int example = 0; example < size; example++) {
        int which = order[first + (number * (uint64_t)size + (uint64_t)example) % count];
        const unsigned char *from = (const unsigned char *)bytes.data() + 16 + (size_t)which * (PIXELS + 1);
        for (int p = 0; p < PIXELS; p++)
            images[example * PIXELS + p] = (float)from[p] / 16.0f;
        targets[example] = from[PIXELS];
    }
}

loader::loader(const dataset &from, int largest, bool is_held_out) : slots(), data(from), held_out(is_held_out)
{
    size_t each = data.image_numbers * sizeof(float) + (data.token_count + data.target_count) * sizeof(int);
    for (struct slot &slot : slots) {
        CHECK(cudaHostAlloc(&slot.staging, (size_t)largest * each, cudaHostAllocDefault));
        CHECK(cudaEventCreateWithFlags(&slot.copied, cudaEventDisableTiming));
    }
}

loader::~loader()
{
    for (struct slot &slot : slots) {
        CHECK(cudaEventSynchronize(slot.copied));
        CHECK(cudaEventDestroy(slot.copied));
        CHECK(cudaFreeHost(slot.staging));
    }
}

template <class T> static array<T> copy_in(const T *staging, size_t rows, size_t columns)
{
    if (rows * columns == 0)
        return {};
    array<T> on_device(rows, columns, COPY);
    CHECK(cudaMemcpyAsync(on_device.data(), staging, on_device.bytes(), cudaMemcpyHostToDevice, stream_of(COPY)));
    return on_device;
}

void loader::start(int size)
{
    struct slot &slot = slots[started % 2];
    size_t examples = (size_t)size;
    float *images = (float *)slot.staging;
    int *tokens = (int *)(images + examples * data.image_numbers), *targets = tokens + examples * data.token_count;

    CHECK(cudaEventSynchronize(slot.copied)); /* the copy that read this buffer last */
    data.fill(started, size, held_out, images, tokens, targets);
    slot.batch = {size, copy_in(tokens, examples * data.token_count, 1), copy_in(images, examples, data.image_numbers),
                  copy_in(targets, examples * data.target_count, 1)};
    CHECK(cudaEventRecord(slot.copied, stream_of(COPY)));
    started++;
}

struct batch loader::take()
{
    struct slot &slot = slots[taken++ % 2];
    struct batch b = std::move(slot.batch);
    CHECK(cudaStreamWaitEvent(stream_of(COMPUTE), slot.copied, 0));
    for (const indices &i : {b.tokens, b.targets})
        if (i)
            i.used_for(COMPUTE);
    if (b.images)
        b.images.used_for(COMPUTE);
    return b;
}
