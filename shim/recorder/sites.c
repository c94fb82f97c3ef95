/* sites.c - walks stacks with libunwind, which has to stay hidden from the program, and remembers them by hash. */
#include "sites.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "recorder_lock.h"
#include "log.h"
#include "tables.h"
#include "walker.h"

enum {
    LOOK_AGAIN = 4096, /* a known key is checked at every power of two of its uses, and once in so many */
    PLACES = 1 << 18   /* the most that are remembered: contexts that never come again must not fill the memory */
};

struct site {
    uint64_t hash;
    uint32_t id;
    bool lost;
    UT_hash_handle hh;
};

struct place {
    uint64_t key;
    uint32_t site, uses;
    bool ambiguous, lost;
    UT_hash_handle hh;
};

/* Guarded by the recorder lock. */
static struct site *sites;
static struct place *places;
static struct spw_sites_counts counts;
static uint64_t last_sites; /* four of them, the last in the lowest bits */

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

struct spw_site_key spw_site_key_locked(const void *caller, const void *frame, uint64_t bytes, uint32_t before)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    const uint64_t place = mix(mix(mix(0, (uint64_t)(uintptr_t)caller), (uint64_t)(uintptr_t)frame), bytes);
    return (struct spw_site_key){.place = place, .context = mix(mix(place + 1, last_sites), before)};
}

static uint32_t go_on(uint32_t site)
{
    last_sites = last_sites << 16 ^ site;
    return site;
}

static struct place *find_place(uint64_t key)
{
    struct place *p;
    HASH_FIND(hh, places, &key, sizeof(key), p);
    return p;
}

uint32_t spw_site_known_locked(struct spw_site_key key)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    struct place *p = find_place(key.place);
    if (p && p->ambiguous)
        p = find_place(key.context);
    if (!p || p->ambiguous)
        return 0;
    const uint32_t uses = ++p->uses;
    return (uses & (uses - 1)) != 0 && uses % LOOK_AGAIN != 0 ? go_on(p->site) : 0;
}

/* Returns true if the key alone does not identify the site. */
static bool place_is(uint64_t key, uint32_t site)
{
    struct place *p = find_place(key);
    if (p && p->site != site && !p->ambiguous) {
        p->ambiguous = true;
        counts.ambiguous_keys++;
    }
    if (p)
        return p->ambiguous;
    if (HASH_COUNT(places) < PLACES)
        SPW_TABLE_NEW(places, key, p, .key = key, .site = site);
    return false;
}

uint32_t spw_site_learn_locked(struct spw_site_key key, const struct spw_stack *stack, bool *ret_new)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    struct site *s;
    uint64_t hash = stack->count;
    *ret_new = false;
    counts.walks++;
    for (uint32_t i = 0; i < stack->count; i++)
        hash = mix(hash, stack->frames[i]);
    HASH_FIND(hh, sites, &hash, sizeof(hash), s);
    if (!s) {
        SPW_TABLE_NEW(sites, hash, s, .hash = hash, .id = (uint32_t)counts.sites + 1);
        if (!s)
            return 0;
        counts.sites++;
        *ret_new = true;
    }
    if (place_is(key.place, s->id))
        (void)place_is(key.context, s->id);
    return go_on(s->id);
}

struct spw_sites_counts spw_sites_counts_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    return counts;
}

/* ---- walking ---- */

static spw_walker *walker;
static uintptr_t own_start; /* our own code, which stacks leave out, is from here to _end */
extern char _end[] __attribute__((visibility("hidden")));
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_walker(void)
{
    static int said;
    Dl_info self = {0};
    if (dladdr((void *)(uintptr_t)&open_walker, &self))
        own_start = (uintptr_t)self.dli_fbase;
    walker = spw_walker_open(self.dli_fname);
    if (!walker)
        spw_warn_once(&said, "libunwind.so.8 was not found: the trace does not say where allocations come from" SPW_SEE(
                                 "no-call-stacks"));
}

static bool is_own(const void *frame)
{
    return (uintptr_t)frame - own_start < (uintptr_t)_end - own_start;
}

void spw_site_walk(struct spw_stack *ret_stack)
{
    enum { OWN_FRAMES = 16 };
    void *frames[SPW_SITE_FRAMES + OWN_FRAMES];
    pthread_once(&once, open_walker);
    int n = walker ? walker(frames, SPW_SITE_FRAMES + OWN_FRAMES) : 0, first = 0;
    while (first < n && first < OWN_FRAMES && is_own(frames[first]))
        first++;
    ret_stack->count = 0;
    for (int i = first; i < n && ret_stack->count < SPW_SITE_FRAMES; i++)
        ret_stack->frames[ret_stack->count++] = (uint64_t)(uintptr_t)frames[i];
}

void spw_sites_reset(void)
{
    SPW_TABLE_FREE(sites);
    SPW_TABLE_FREE(places);
    counts = (struct spw_sites_counts){0};
    last_sites = 0;
}
