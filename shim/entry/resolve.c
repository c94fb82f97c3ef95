/* resolve.c - a hash table from the driver's addresses to the lines of calls.h, filled once. */
#include "resolve.h"
#include "api.h"
#include "counters.h"
#include "live.h"
#include "log.h"
#include <stdint.h>
#include <string.h>

#define HASH_SIZE 2048 /* a power of two, several times SPW_CALL_COUNT */
_Static_assert(SPW_CALL_COUNT * 2 < HASH_SIZE, "the hash of addresses needs room");

struct line {
    const char *symbol, *asked;
    void *wrapper;
    void **real; /* the member of spw_driver */
};

#define X(kind, symbol, asked, params, args) {#symbol, asked, (void *)symbol, (void **)&spw_driver.symbol},
static const struct line lines[] = {SPW_DRIVER_CALLS(X)};
#undef X

/* Index + 1 of a line in each slot, 0 if empty; linear probing. A driver may give one address to several names, so one
 * address may be in several slots. Filled before the driver counts as open, and only read afterwards. */
static uint16_t hash[HASH_SIZE];

static unsigned slot_of(const void *address)
{
    return (unsigned)(((uintptr_t)address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 53) & (HASH_SIZE - 1);
}

void spw_resolve_learn(void)
{
    for (unsigned i = 0; i < SPW_CALL_COUNT; i++) {
        if (!*lines[i].real)
            continue;
        unsigned slot = slot_of(*lines[i].real);
        while (hash[slot])
            slot = (slot + 1) & (HASH_SIZE - 1);
        hash[slot] = (uint16_t)(i + 1);
    }
}

static bool is_per_thread(const char *symbol)
{
    size_t length = strlen(symbol);
    return length > 5 && (!strcmp(symbol + length - 5, "_ptsz") || !strcmp(symbol + length - 5, "_ptds"));
}

/* Rates how well a line with the right address matches the question; that matters only if names share an address. */
static int suits(const struct line *line, const char *name, bool per_thread)
{
    return 2 * !strcmp(line->asked, name) + (is_per_thread(line->symbol) == per_thread);
}

static const struct line *find_address(const void *real, const char *name, bool per_thread)
{
    const struct line *best = NULL;
    for (unsigned slot = slot_of(real); hash[slot]; slot = (slot + 1) & (HASH_SIZE - 1)) {
        const struct line *line = &lines[hash[slot] - 1];
        if (*line->real == real && (!best || suits(line, name, per_thread) > suits(best, name, per_thread)))
            best = line;
    }
    return best;
}

/* For a driver whose answers differ from what dlsym() finds: returns the line for `name` if the call has only ever had one
 * signature and the program asks for a version that we know. Else NULL: a guess could mix up two signatures. */
static const struct line *find_name(const char *name, int version, bool per_thread, bool *ret_covered)
{
    const struct line *found = NULL;
    bool has_per_thread = false;
    unsigned plain = 0;
    *ret_covered = false;
    for (unsigned i = 0; i < SPW_CALL_COUNT; i++) {
        if (strcmp(lines[i].asked, name))
            continue;
        *ret_covered = true;
        bool line_per_thread = is_per_thread(lines[i].symbol);
        has_per_thread |= line_per_thread;
        plain += !line_per_thread;
        if (line_per_thread == per_thread || (!line_per_thread && !found))
            found = &lines[i];
    }
    bool one_signature = plain == 1;
    if (!one_signature || version > CUDA_VERSION || (per_thread && has_per_thread && !is_per_thread(found->symbol)))
        return NULL;
    return found;
}

static void note_escape(const char *name, int version, cuuint64_t flags)
{
    static int warned;
    spw_count_escape();
    spw_warn_once(&warned,
                  "the driver answered %s (version %d, flags %llu) with a function that is not known; calls to it are "
                  "not seen. Please report this with the output of `spillway doctor`" SPW_SEE("unknown-function"),
                  name, version, (unsigned long long)flags);
}

void *spw_resolve_exchange(void *real, const char *name, int version, cuuint64_t flags)
{
    bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    const struct line *line = find_address(real, name, per_thread);
    if (line)
        return line->wrapper;

    bool covered;
    line = find_name(name, version, per_thread, &covered);
    if (!line) {
        if (covered)
            note_escape(name, version, flags);
        return real;
    }
    /* The driver may have the call without exporting it. */
    void *none = NULL;
    __atomic_compare_exchange_n(line->real, &none, real, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    return line->wrapper;
}
