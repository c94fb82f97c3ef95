/* options.cu - reads the options of harm, and draws a program by a seed. */
#include "options.h"
#include <set>
#include <stdio.h>
#include <stdlib.h>
#include <string>

#define WORDS_PER_KIB (1024 / sizeof(uint32_t))

static std::vector<const struct kind *> all_kinds()
{
    std::vector<const struct kind *> all;
    for (const auto *some :
         {&index_kinds, &partial_kinds, &late_kinds, &state_kinds, &graph_kinds, &host_kinds, &stored_kinds})
        for (const struct kind &one : *some)
            all.push_back(&one);
    return all;
}

[[noreturn]] static void refuse(const std::string &what)
{
    fprintf(stderr,
            "harm: what is %s?\n"
            "usage: harm [--kind NAME,NAME... | --random] [--steps N] [--late STEP] [--size KIB] [--layers N]\n"
            "            [--at PLACE,PLACE... | --every N] [--seed N] [--of N] [--alloc async|plain] [--beside "
            "captures|launches]\n"
            "            [--list | --show]\n",
            what.c_str());
    exit(2);
}

[[noreturn]] static void list()
{
    for (const struct kind *one : all_kinds())
        printf("%-18s %s\n", one->name, one->what);
    exit(0);
}

static std::vector<std::string> parts(const std::string &text)
{
    std::vector<std::string> found;
    for (size_t from = 0, to; from <= text.size(); from = to + 1) {
        to = text.find(',', from);
        to = to == std::string::npos ? text.size() : to;
        found.push_back(text.substr(from, to - from));
    }
    return found;
}

static const struct kind *kind_called(const std::string &name)
{
    auto all = all_kinds();
    for (const struct kind &one : ordered_kinds)
        all.push_back(&one);
    for (const struct kind *one : all)
        if (one->name == name)
            return one;
    refuse(name);
}

static int number(const std::string &text)
{
    char *end;
    const long value = strtol(text.c_str(), &end, 10);
    if (text.empty() || *end || value < 0 || value > 1000000000)
        refuse(text);
    return (int)value;
}

struct drawn {
    uint32_t state;

    uint32_t below(uint32_t limit)
    {
        state = state * 1664525u + 1013904223u;
        return (uint32_t)((uint64_t)(state >> 8) * limit >> 24);
    }
};

static void show(const struct options &o)
{
    for (size_t i = 0; i < o.places.size(); i++)
        printf("layer %zu %s %zu bytes\n", i, o.places[i].kind ? o.places[i].kind->name : "plain",
               o.places[i].count * sizeof(uint32_t));
    printf("late %u, allocator %s%s\n", o.late, o.allocator == ALLOCATE_PLAIN ? "plain" : "async",
           o.beside == CAPTURES   ? ", captures beside"
           : o.beside == LAUNCHES ? ", launches beside"
                                  : "");
    exit(0);
}

/* Few layers, some of them of one to three awkward kinds (with `at` only in these places), of tensors that are small and
 * large. The same seed and number of kinds to choose from (0: all), the same program. */
static void draw(struct options &o, const std::set<int> &at, int layers, int kibibytes, int of)
{
    struct drawn drawn = {o.seed * 2654435761u + 12345u};
    auto all = all_kinds();
    if (of > 0 && of < (int)all.size())
        all.resize((size_t)of);
    const int count = layers / 2 + (int)drawn.below((uint32_t)layers);
    std::vector<const struct kind *> kinds(1 + drawn.below(3));
    for (const struct kind *&kind : kinds)
        kind = all[drawn.below((uint32_t)all.size())];
    for (int i = 0; i < count; i++) {
        /* Granules, a little more or less than one, and tensors that are too small to move. */
        const uint32_t sixteenths = drawn.below(8) == 0   ? 1 + drawn.below(6)
                                    : drawn.below(3) == 0 ? 16
                                                          : 10 + drawn.below(30);
        const size_t words_in = (size_t)kibibytes * WORDS_PER_KIB * sixteenths / 16 / 4 * 4;
        const struct kind *kind = kinds[drawn.below((uint32_t)kinds.size())];
        const bool is_awkward = drawn.below(5) < 2 && (at.empty() || at.count(i) > 0);
        o.places.push_back({is_awkward ? kind : nullptr, words_in});
    }
    o.late = 8 + drawn.below((uint32_t)o.steps);
    o.allocator = drawn.below(4) == 0 ? ALLOCATE_PLAIN : ALLOCATE_ASYNC;
    const uint32_t other = o.allocator == ALLOCATE_ASYNC ? drawn.below(8) : 7;
    o.beside = other < 2 ? CAPTURES : other == 2 ? LAUNCHES : NOTHING;
}

struct options read_options(char **argv)
{
    struct options o;
    std::vector<const struct kind *> kinds;
    std::set<int> at;
    int layers = 20, every = 6, kibibytes = 128, of = 0;
    bool random = false, shows = false;
    while (*++argv) {
        const std::string name = *argv;
        if (name == "--list")
            list();
        if (name == "--random" || name == "--show") {
            (name == "--random" ? random : shows) = true;
            continue;
        }
        if (!argv[1])
            refuse(name);
        const std::string value = *++argv;
        if (name == "--kind")
            for (const std::string &one : parts(value))
                kinds.push_back(kind_called(one));
        else if (name == "--at")
            for (const std::string &one : parts(value))
                at.insert(number(one));
        else if (name == "--steps")
            o.steps = number(value);
        else if (name == "--late")
            o.late = (uint32_t)number(value);
        else if (name == "--seed")
            o.seed = (uint32_t)number(value);
        else if (name == "--size")
            kibibytes = number(value);
        else if (name == "--layers")
            layers = number(value);
        else if (name == "--every")
            every = number(value);
        else if (name == "--of")
            of = number(value);
        else if (name == "--beside" && (value == "captures" || value == "launches"))
            o.beside = value == "captures" ? CAPTURES : LAUNCHES;
        else if (name == "--alloc" && (value == "plain" || value == "async"))
            o.allocator = value == "plain" ? ALLOCATE_PLAIN : ALLOCATE_ASYNC;
        else
            refuse(name);
    }
    if (kibibytes < 1 || layers < 1 || every < 1 || o.steps < 1)
        refuse("0 there");
    if (random)
        draw(o, at, layers, kibibytes, of);
    if (o.beside == CAPTURES && o.allocator == ALLOCATE_PLAIN)
        refuse("--beside captures with --alloc plain, which may not allocate while a thread captures");
    for (int i = 0; i < layers && !random; i++) {
        const bool is_awkward = !kinds.empty() && (at.empty() ? i % every == 1 : at.count(i) > 0);
        const size_t turn = at.empty() ? (size_t)(i / every) : (size_t)std::distance(at.begin(), at.find(i));
        o.places.push_back({is_awkward ? kinds[turn % kinds.size()] : nullptr, (size_t)kibibytes * WORDS_PER_KIB});
    }
    if (shows)
        show(o);
    return o;
}
