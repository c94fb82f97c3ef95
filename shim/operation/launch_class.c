/* launch_class.c - finds the class of a launch by its function and places, and computes write sets from observations. */
#include "launch_class.h"

#include <stdlib.h>
#include <string.h>

/* A class is looked up at each launch while versions are kept. For a key of two words this hash is good enough. */
#define HASH_FUNCTION(key, bytes, hash) \
    ((hash) = (unsigned)((((const uint64_t *)(key))[0] ^ ((const uint64_t *)(key))[1]) * UINT64_C(0x9e3779b97f4a7c15) >> 32))

#include "kernel_profile.h"
#include "layout.h"
#include "ledger.h"
#include "log.h"
#include "lock.h"
#include "tables.h"

enum { MOST = 1 << 16 };

struct key {
    uint64_t function, places;
};

struct entry {
    struct key key;
    struct spw_launch_class set;
    bool lost;
    UT_hash_handle hh;
};

static struct entry *entries;
static uint32_t numbers;
static uint64_t revoked;       /* bits of the functions of which nothing is believed */
static bool all_are_condemned; /* there was no memory to note one */

uint64_t spw_launch_classes_refuted_count;
bool spw_launch_classes_doubted;

static uint64_t all_hits(unsigned count)
{
    return count >= SPW_CLASS_HITS ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

/* NCCL's kernels wait for other devices, and are recognised by name. Other kernels may wait too. */
bool spw_function_is_collective(CUfunction f)
{
    char name[256];
    return strstr(spw_function_name(f, name, sizeof(name)), "nccl") != NULL;
}

static struct spw_launch_class *find(CUfunction function, uint64_t places)
{
    const struct key key = {(uintptr_t)function, places};
    struct entry *e;
    HASH_FIND(hh, entries, &key, sizeof(key), e);
    return e ? &e->set : NULL;
}

#define WHOLE UINT64_MAX /* in place of a launch's places */

static void recall(struct spw_launch_class *set);

static struct spw_launch_class *find_or_add(CUfunction function, uint64_t places, unsigned hits)
{
    struct spw_launch_class *set = find(function, places);
    struct entry *e;
    if (set || HASH_COUNT(entries) == MOST)
        return set;
    SPW_TABLE_NEW(entries, key, e, .key = {(uintptr_t)function, places},
                  .set = {.function = function,
                          .places = places,
                          .number = ++numbers,
                          .writes = UINT64_MAX,
                          .count = (uint8_t)(hits < SPW_CLASS_HITS ? hits : SPW_CLASS_HITS),
                          .is_collective = spw_function_is_collective(function)});
    if (!e)
        return NULL;
    recall(&e->set);
    return &e->set;
}

struct spw_launch_class *spw_launch_class_of_locked(CUfunction function, uint64_t places, unsigned hits)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return revoked & spw_launch_class_bit_of(function) ? NULL : find_or_add(function, places, hits);
}

/* No launch has such small places, as these are hashes of 64 bits. */
struct spw_launch_class *spw_launch_class_of_place_locked(CUfunction function, unsigned place)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_launch_class_of_locked(function, (uint64_t)place + 1, 1);
}

struct spw_launch_class *spw_launch_class_numbered_locked(CUfunction function, uint64_t places, uint32_t number)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_launch_class *set = find(function, places);
    return set && set->number == number ? set : NULL;
}

/* ---- what probes have shown ---- */

struct spw_probed *spw_probed_find(const struct spw_launch_class *set, const struct spw_device *d)
{
    struct spw_probed *it = set->probed;
    while (it && it->device != d)
        it = it->other;
    return it;
}

static void recall_probed(struct spw_probed *it);

struct spw_probed *spw_probed_of_locked(struct spw_launch_class *set, struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_probed *it = spw_probed_find(set, d), *made = it ? NULL : malloc(sizeof(*made));
    if (!made)
        return it;
    *made = (struct spw_probed){
        .class = set, .next = d->probed, .other = set->probed, .device = d, .verdict = SPW_REPLAY_NOT_TRIED};
    d->probed = set->probed = made;
    recall_probed(made);
    return made;
}

/* ---- observations ---- */

/* Returns the hits that were seen unchanged often enough, and never changed. */
static uint64_t read_only(const struct spw_launch_class *set)
{
    uint64_t sure = 0;
    for (unsigned i = 0; i < set->count; i++)
        if (set->seen[i] >= SPW_CLASS_SURE)
            sure |= (uint64_t)1 << i;
    return sure & ~set->changed;
}

bool spw_launch_class_is_learned(const struct spw_launch_class *set)
{
    return set->changed && (read_only(set) | set->changed) == all_hits(set->count);
}

bool spw_launch_class_observed_locked(struct spw_launch_class *set, uint64_t changed, uint64_t telling)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint64_t wrong = changed & ~set->writes & all_hits(set->count);
    set->changed |= changed & all_hits(set->count);
    for (unsigned i = 0; i < set->count; i++)
        if (telling >> i & 1 && !(changed >> i & 1) && set->seen[i] < SPW_CLASS_SURE)
            set->seen[i]++;
    set->writes = set->changed ? ~read_only(set) | set->declared.mutable : UINT64_MAX;
    return wrong != 0;
}

void spw_launch_class_declare_locked(struct spw_launch_class *set, const struct spw_declared *declared)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    set->is_declared = true;
    set->declared = *declared;
    set->writes |= declared->mutable & all_hits(set->count);
}

bool spw_launch_class_covers(const struct spw_launch_class *set, const uint32_t *numbers, unsigned count)
{
    if (!set->number_count)
        return true; /* nothing is believed of the class anyway */
    if (count != set->number_count)
        return false;
    for (unsigned i = 0; i < count; i++)
        if (numbers[i] != set->numbers[i] && !set->numbers[count + i])
            return false;
    return true;
}

void spw_launch_class_note_numbers_locked(struct spw_launch_class *set, const uint32_t *numbers, unsigned count)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!set->number_count) {
        set->numbers = calloc(count ? count : 1, 2 * sizeof(*numbers));
        if (!set->numbers) {
            set->number_count = UINT32_MAX; /* the first launch's numbers are lost: no launch has that many */
            return;
        }
        memcpy(set->numbers, numbers, count * sizeof(*numbers));
        set->number_count = count;
        return;
    }
    for (unsigned i = 0; count == set->number_count && i < count; i++)
        set->numbers[count + i] |= numbers[i] != set->numbers[i];
}

/* ---- from one run to the next ---- */

/* A verdict that depends on the device's memory, or on the room that there was, may differ next time. */
static bool is_worth_keeping(enum spw_replay_verdict verdict)
{
    return verdict == SPW_REPLAYABLE || verdict == SPW_REPLAY_DIFFERS || verdict == SPW_REPLAY_HIDDEN_STATE ||
           verdict == SPW_REPLAY_MISMATCH;
}

/* Returns what earlier runs know about the class. If one of them was wrong about its function, or about another one that
 * shares its bit, returns NULL: the class is learned as if there had been no earlier run. */
static const struct spw_profile_class *find_known(const struct spw_launch_class *set)
{
    const struct spw_profile_class *known = spw_kernel_profile_find_locked(set->function, set->places, set->count);
    return known && known->is_refuted ? NULL : known;
}

static void recall_probed(struct spw_probed *it)
{
    const struct spw_profile_class *known = find_known(it->class);
    if (!known)
        return;
    it->looks = known->looks < SPW_CLASS_SURE ? known->looks : SPW_CLASS_SURE;
    if (known->tries && is_worth_keeping(known->verdict)) {
        it->tries = known->tries < SPW_CLASS_SURE ? known->tries : SPW_CLASS_SURE;
        it->verdict = known->verdict;
    }
}

static void recall_numbers(struct spw_launch_class *set, const struct spw_profile_class *known)
{
    set->numbers = calloc(known->number_count ? known->number_count : 1, 2 * sizeof(*set->numbers));
    set->number_count = set->numbers ? known->number_count : UINT32_MAX;
    if (set->numbers && known->number_count)
        memcpy(set->numbers, known->numbers, 2 * sizeof(*set->numbers) * known->number_count);
}

/* Knowledge of earlier runs is believed like the observations of this run, and checked like them. */
static void recall(struct spw_launch_class *set)
{
    const bool is_whole = set->places == WHOLE;
    const struct spw_profile_class *known = spw_kernel_profile_find_locked(set->function, WHOLE, 0);
    if (known && known->is_condemned && is_whole)
        set->is_condemned = true;
    else if (known && known->is_condemned)
        spw_function_condemn_locked(set->function);
    known = is_whole ? NULL : find_known(set);
    if (!known)
        return;
    spw_kernel_profile_counts.used++;
    set->changed = known->changed & all_hits(set->count);
    for (unsigned i = 0; i < set->count; i++)
        set->seen[i] = known->seen_unchanged[i] < SPW_CLASS_SURE ? known->seen_unchanged[i] : SPW_CLASS_SURE;
    set->writes = set->changed ? ~read_only(set) : UINT64_MAX;
    recall_numbers(set, known);
}

static void note(const struct spw_launch_class *set)
{
    struct spw_profile_class class = {.changed = set->changed,
                                      .is_condemned = set->is_condemned,
                                      .is_refuted = (revoked & spw_launch_class_bit_of(set->function)) != 0,
                                      .number_count = set->number_count,
                                      .numbers = set->numbers};
    memcpy(class.seen_unchanged, set->seen, sizeof(class.seen_unchanged));
    for (const struct spw_probed *it = set->probed; it; it = it->other) {
        class.looks = it->looks > class.looks ? it->looks : class.looks;
        if (!is_worth_keeping(it->verdict) || it->verdict < class.verdict)
            continue;
        class.tries = it->tries;
        class.verdict = (uint8_t)it->verdict;
    }
    const bool is_known = class.looks || class.changed || class.is_refuted || class.is_condemned;
    if (is_known && class.number_count <= SPW_PROFILE_NUMBERS && spw_layout_remembers(set->function))
        spw_kernel_profile_note_locked(set->function, set->places, set->count, &class);
}

void spw_launch_classes_note_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (const struct entry *e = entries; e; e = e->hh.next)
        note(&e->set);
}

bool spw_probed_is_complete(const struct spw_probed *it)
{
    return it->looks >= SPW_CLASS_SURE && (!it->class->changed || it->verdict != SPW_REPLAY_NOT_TRIED);
}

/* ---- functions as a whole ---- */

void spw_function_condemn_locked(CUfunction function)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_launch_class *whole = function ? find_or_add(function, WHOLE, 0) : NULL;
    if (whole) {
        whole->is_condemned = true;
        note(whole);
    }
    all_are_condemned |= function && !whole;
}

bool spw_function_is_condemned_locked(CUfunction function)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return function && (all_are_condemned || find(function, WHOLE));
}

/* ---- forgetting ---- */

/* Frees the element of a class's list to which *at points. */
static void forget_probed(struct spw_probed **at)
{
    struct spw_probed *it = *at, **link = &it->device->probed;
    while (*link != it)
        link = &(*link)->next;
    *link = it->next;
    *at = it->other;
    free(it);
}

void spw_probed_forget_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    while (d->probed) {
        struct spw_probed **at = &d->probed->class->probed;
        while (*at != d->probed)
            at = &(*at)->other;
        forget_probed(at);
    }
}

static void forget(struct entry *e)
{
    HASH_DEL(entries, e);
    while (e->set.probed)
        forget_probed(&e->set.probed);
    free(e->set.numbers);
    free(e);
}

static void forget_some(bool all)
{
    for (struct entry *e = entries, *next; e; e = next) {
        next = e->hh.next;
        if (all || (!e->set.is_condemned && !spw_layout_remembers(e->set.function)))
            forget(e);
    }
}

void spw_launch_classes_sweep_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_kernel_profile_sweep_locked();
    if (entries)
        forget_some(false);
}

/* The records stay as they are, for the operation that is being begun: it goes on with what was believed at its
 * beginning. */
void spw_launch_classes_refuted_locked(int device, uint64_t functions)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    static struct spw_log_threshold told;
    spw_launch_classes_refuted_count++;
    spw_warn_of(
        &told, spw_launch_classes_refuted_count,
        "device %d: a tensor was changed by a kernel that had not changed it before; from now on it is copied, and that "
        "kernel is taken to write all that it is given" SPW_SEE("changed-late"),
        device);
    revoked |= functions;
    spw_launch_classes_note_locked();
    spw_launch_classes_doubted = true;
}

void spw_launch_classes_reset(void)
{
    revoked = 0;
    all_are_condemned = false;
    forget_some(true);
}
