/* addresses.c - question 2: does cuGetProcAddress() answer with the addresses that dlsym() gives, for every call that
 * spillway covers, every version and every kind of default stream? And, with the argument "spillway", under the preload:
 * does every look-up of a covered call end in spillway? */
#include "probe.h"
#include "driver-symbols.h"
#include <dlfcn.h>

#define STRING(name) #name

static const char *const exported[] = {
#define X(name) STRING(name),
    DRIVER_SYMBOLS(X)
#undef X
};
static const struct {
    const char *symbol, *asked;
} covered[] = {
#define X(name, asked) {STRING(name), asked},
    COVERED_CALLS(X)
#undef X
};
#define EXPORTED (sizeof(exported) / sizeof(*exported))
#define COVERED  (sizeof(covered) / sizeof(*covered))

static const int versions[] = {2000,  3000,  3010,  3020,  4000,  4010,  5000,  5050,  6000,  6050,  7000,
                               7050,  8000,  9000,  9020,  10000, 10010, 10020, 11000, 11010, 11020, 11030,
                               11040, 11050, 11060, 11070, 11080, 12000, 12010, 12020, 12030, 12040, 12050,
                               12060, 12070, 12080, 12090, 13000, 13010, 13020, 13030, 13040};

static struct known {
    void *address;
    const char *name;
} known[EXPORTED + COVERED];
static size_t known_count;

static int compare_known(const void *a, const void *b)
{
    const struct known *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static const char *known_as(void *address)
{
    struct known key = {address, NULL};
    const struct known *found = bsearch(&key, known, known_count, sizeof(*known), compare_known);
    return found ? found->name : NULL;
}

static void know(void *library, const char *name)
{
    void *address = dlsym(library, name);
    if (address)
        known[known_count++] = (struct known){address, name};
}

static int in_spillway(void *address)
{
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname && strstr(info.dli_fname, "libspillway");
}

/* Adds a name to a list that is told as one figure, once however often it is noted. */
static void note(char *list, size_t size, const char *name)
{
    size_t used = strlen(list), length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0))
            return;
    if (used + length + 2 < size)
        snprintf(list + used, size - used, "%s%s", used ? " " : "", name);
}

static struct {
    size_t lookups, strange;
    char strange_names[2048];
} told;

/* Every way to ask for one name; an answer that is neither spillway's nor, without it, one of dlsym()'s is strange. */
static void ask_all_ways(const char *asked, int driver_version, int under_spillway)
{
    for (size_t v = 0; v < sizeof(versions) / sizeof(*versions) && versions[v] <= driver_version; v++) {
        for (cuuint64_t flags = 0; flags <= CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM; flags++) {
            void *address = NULL;
            CUdriverProcAddressQueryResult status;
            if (cuGetProcAddress(asked, &address, versions[v], flags, &status) != CUDA_SUCCESS || !address)
                continue;
            told.lookups++;
            if (under_spillway ? in_spillway(address) : known_as(address) != NULL)
                continue;
            told.strange++;
            note(told.strange_names, sizeof(told.strange_names), asked);
        }
    }
}

int main(int argc, char **argv)
{
    int under_spillway = argc == 2 && strcmp(argv[1], "spillway") == 0, driver_version;
    char missing_names[2048] = "";
    probe_start("addresses", 2);
    if (!COVERED)
        probe_give_up("this was built without shim/calls.h, so it doesn't know what spillway covers");
    CHECK(cuDriverGetVersion(&driver_version));
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        probe_give_up("libcuda.so.1 could not be opened: %s", dlerror());
    if (under_spillway && !in_spillway(dlsym(library, "cuInit")))
        probe_give_up("spillway is not preloaded");

    size_t present = 0, dlsym_strange = 0;
    for (size_t i = 0; i < EXPORTED; i++)
        know(library, exported[i]);
    for (size_t i = 0; i < COVERED; i++) {
        void *address = dlsym(library, covered[i].symbol);
        know(library, covered[i].symbol);
        present += address != NULL;
        if (!address)
            note(missing_names, sizeof(missing_names), covered[i].symbol);
        else if (under_spillway && !in_spillway(address))
            dlsym_strange++;
    }
    qsort(known, known_count, sizeof(*known), compare_known);

    for (size_t i = 0; i < COVERED; i++)
        if (i == 0 || strcmp(covered[i].asked, covered[i - 1].asked) != 0)
            ask_all_ways(covered[i].asked, driver_version, under_spillway);
    probe_figure("covered_symbols", COVERED);
    probe_figure("covered_symbols_in_this_driver", (double)present);
    probe_figure_text("covered_symbols_not_in_this_driver", missing_names);
    probe_figure("lookups", (double)told.lookups);
    probe_figure("strange_lookups", (double)told.strange);
    probe_figure_text("strange_names", told.strange_names);
    if (under_spillway)
        probe_answer("of %zu look-ups through cuGetProcAddress %zu end outside spillway, of %zu through dlsym %zu%s%s",
                     told.lookups, told.strange, present, dlsym_strange, told.strange ? ": " : "", told.strange_names);

    told.strange_names[0] = 0;
    size_t covered_lookups = told.lookups, covered_strange = told.strange;
    for (size_t i = 0; i < EXPORTED; i++)
        ask_all_ways(exported[i], driver_version, 0);
    probe_figure("strange_lookups_of_all_names", (double)(told.strange - covered_strange));
    probe_figure_text("strange_of_all_names", told.strange_names);
    probe_answer("of %zu look-ups of covered names %zu give an address that dlsym doesn't (driver for CUDA %d.%d)",
                 covered_lookups, covered_strange, driver_version / 1000, driver_version % 1000 / 10);
}
