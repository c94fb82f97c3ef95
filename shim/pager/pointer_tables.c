/* pointer_tables.c - keeps the addresses that the program stored in device memory in one array, sorted by where they are
 * stored. */
#include "pointer_tables.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "lock.h"
#include "seek_kernel.h"
#include "stored_words.h"
#include "tensormap.h"

static const char why_outside[] = "its address was stored where any kernel may find it";
static const char why_many[] = "its address was stored and there is no room to remember where";

atomic_size_t spw_pointer_tables_words;
atomic_uint spw_pointer_tables_being_told;

/* Guards all of the following. A leaf: nothing is called with it held. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct spw_stored_words words; /* spw_pointer_tables_words of them */
static const char *pin_all_reason;    /* NULL until graphs may read any table at any time */

static int replace_locked(CUdeviceptr low, CUdeviceptr high, const struct spw_stored_word *added, size_t count)
{
    const uint32_t n = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    int r = spw_stored_words_replace(&words, low, high, added, n, SPW_POINTER_TABLES_MAX_WORDS);
    atomic_store_explicit(&spw_pointer_tables_words, words.count, memory_order_relaxed);
    return r;
}

/* Returns 0, or the last failure. */
static int pin_members(const struct spw_pinning *pinning, const struct spw_stored_word *list, size_t count, const char *why)
{
    int failure = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || list[i].member != list[i - 1].member) {
            const int r = pinning->address(list[i].member, why);
            failure = r < 0 ? r : failure;
        }
    return failure;
}

/* Notes the words of a copy at their places. No lock held. */
static void store(const struct spw_pinning *pinning, CUdeviceptr destination, size_t bytes,
                  const struct spw_stored_word *added, size_t added_count)
{
    const char *why = NULL;
    if (!spw_in_arena(destination))
        why = why_outside;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    if (!why && replace_locked(destination, destination + bytes, added, added_count) < 0)
        why = why_many;
    if (!why)
        why = pin_all_reason;
    spw_mutex_unlock(&mutex);
    if (why)
        (void)pin_members(pinning, added, added_count, why);
}

/* ---- what a copy from the host contains ---- */

enum { STRETCH = 64 }; /* words that are checked together */

static bool any_in_arena(const char *from, unsigned count)
{
    return spw_any_word_in(from, count, spw_arena_low, spw_arena_high - spw_arena_low);
}

/* Finds the words of the source that are addresses of the arena and whose destination is aligned. Returns how many there
 * are and writes the first `limit` of them. */
static size_t find_addresses(CUdeviceptr destination, const void *source, size_t bytes, struct spw_stored_word *list,
                             size_t limit)
{
    const char *from = source;
    size_t found = 0;
    for (size_t at = -destination % 8, next = at; at + 8 <= bytes; at += 8) {
        CUdeviceptr word;
        for (; at == next; next += (size_t)8 * STRETCH)
            if (at + (size_t)8 * STRETCH <= bytes && !any_in_arena(from + at, STRETCH))
                at += (size_t)8 * STRETCH;
        if (at + 8 > bytes)
            break;
        memcpy(&word, from + at, sizeof word);
        if (__builtin_expect(!spw_in_arena(word), 1))
            continue;
        if (found < limit)
            list[found] = (struct spw_stored_word){destination + at, word};
        found++;
    }
    return found;
}

/* The same for tensor maps, which do not show their address as a word. These too are in the order of their places. */
static size_t find_tensormaps(CUdeviceptr destination, const void *source, size_t bytes, struct spw_stored_word *list,
                              size_t limit)
{
    const char *from = source;
    size_t found = 0;
    for (size_t at = -destination % 64; at + SPW_TENSORMAP_BYTES <= bytes; at += 64) {
        CUdeviceptr base = spw_tensormap_base(from + at);
        if (!base)
            continue;
        if (found < limit)
            list[found] = (struct spw_stored_word){destination + at, base};
        found++;
    }
    return found;
}

static int by_place(const void *a, const void *b)
{
    const struct spw_stored_word *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

/* Without memory to note where the addresses are stored, pins what they point to at once. */
static void learn_without_memory(const struct spw_pinning *pinning, const void *source, CUdeviceptr destination,
                                 size_t bytes)
{
    struct spw_stored_word one;
    for (size_t at = -destination % 8; at + 8 <= bytes; at += 8)
        if (find_addresses(destination + at, (const char *)source + at, 8, &one, 1))
            (void)pinning->address(one.member, why_many);
    for (size_t at = -destination % 64; spw_tensormap_any() && at + SPW_TENSORMAP_BYTES <= bytes; at += 64)
        if (find_tensormaps(destination + at, (const char *)source + at, SPW_TENSORMAP_BYTES, &one, 1))
            (void)pinning->address(one.member, why_many);
}

/* Returns all words of the source in the order of their places. NULL with *ret_count 0: there are none; NULL with more:
 * there is no memory for them. */
static struct spw_stored_word *words_of(CUdeviceptr destination, const void *source, size_t bytes, size_t *ret_count)
{
    size_t plain = find_addresses(destination, source, bytes, NULL, 0);
    size_t hidden = spw_tensormap_any() ? find_tensormaps(destination, source, bytes, NULL, 0) : 0;
    *ret_count = plain + hidden;
    struct spw_stored_word *list = plain + hidden ? malloc((plain + hidden) * sizeof *list) : NULL;
    if (!list)
        return NULL;
    /* The program may be changing its source; the first count bounds what is taken. */
    size_t n = find_addresses(destination, source, bytes, list, plain);
    n = n < plain ? n : plain;
    if (hidden) {
        size_t m = find_tensormaps(destination, source, bytes, list + n, hidden);
        n += m < hidden ? m : hidden;
        qsort(list, n, sizeof *list, by_place);
    }
    *ret_count = n;
    return list;
}

void spw_pointer_tables_learn(CUdeviceptr destination, const void *source, size_t bytes, const struct spw_pinning *pinning)
{
    if (bytes == 0)
        return;
    if (spw_in_arena((CUdeviceptr)(uintptr_t)source)) {
        spw_pointer_tables_copied(destination, (CUdeviceptr)(uintptr_t)source, bytes, pinning);
        return;
    }
    if (spw_in_arena(destination))
        spw_outside_learn(destination, source, bytes);
    size_t count;
    struct spw_stored_word *list = words_of(destination, source, bytes, &count);
    if (!list && count)
        learn_without_memory(pinning, source, destination, bytes);
    else if (count || spw_pointer_tables_any())
        store(pinning, destination, bytes, list, count);
    free(list);
}

/* Returns NULL if the word is not known. */
static const struct spw_stored_word *known_locked(const struct spw_stored_word *word)
{
    for (size_t i = spw_stored_words_at(&words, word->place); i < words.count && words.list[i].place == word->place; i++)
        if (words.list[i].member == word->member)
            return &words.list[i];
    return NULL;
}

/* Returns the known words together with the words found, since a known word may come with a copy that has not run yet; one
 * place may then have two. NULL: no memory. */
static struct spw_stored_word *with_what_is_known_locked(CUdeviceptr low, CUdeviceptr high,
                                                         const struct spw_stored_word *list, size_t *count)
{
    uint32_t first, end;
    size_t n = 0;
    spw_stored_words_overlapping(&words, low, high, &first, &end);
    struct spw_stored_word *both = malloc((end - first + *count) * sizeof *both + 1);
    for (size_t i = first; both && i < end; i++)
        both[n++] = words.list[i];
    for (size_t i = 0; both && i < *count; i++)
        if (!known_locked(&list[i]))
            both[n++] = list[i];
    if (both)
        qsort(both, n, sizeof *both, by_place);
    *count = n;
    return both;
}

static int found_locked(CUdeviceptr low, CUdeviceptr high, struct spw_stored_word *list, size_t count,
                        struct spw_pointer_tables_find *ret)
{
    *ret = (struct spw_pointer_tables_find){0};
    for (size_t i = 0; i < count; i++) {
        const struct spw_stored_word *known = known_locked(&list[i]);
        list[i].is_found = !known || known->is_found;
        ret->is_new |= !known;
        ret->is_stored |= list[i].is_found;
    }
    int r;
    if (atomic_load_explicit(&spw_pointer_tables_being_told, memory_order_relaxed)) {
        struct spw_stored_word *both = with_what_is_known_locked(low, high, list, &count);
        r = both ? replace_locked(low, high, both, count) : -ENOMEM;
        free(both);
    } else {
        r = replace_locked(low, high, list, count);
    }
    return r == 0 && pin_all_reason ? 1 : r;
}

int spw_pointer_tables_found(CUdeviceptr destination, const void *source, size_t bytes, struct spw_pointer_tables_find *ret)
{
    size_t count;
    struct spw_stored_word *list = words_of(destination, source, bytes, &count);
    *ret = (struct spw_pointer_tables_find){true, true};
    if (!list && count)
        return -ENOMEM;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    int r = found_locked(destination, destination + bytes, list, count, ret);
    spw_mutex_unlock(&mutex);
    free(list);
    return r;
}

bool spw_pointer_tables_told(CUdeviceptr low, CUdeviceptr high, uint64_t *ret_sum)
{
    uint32_t first, end;
    uint64_t sum = 0;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    bool told = atomic_load_explicit(&spw_pointer_tables_being_told, memory_order_relaxed) == 0;
    spw_stored_words_overlapping(&words, low, high, &first, &end);
    for (uint32_t i = first; i < end && told; i++) {
        const struct spw_stored_word *w = &words.list[i];
        told = !w->is_found && w->place >= low && (w->place - low) % 8 == 0;
        sum += spw_seek_term((w->place - low) / 8, w->member);
    }
    spw_mutex_unlock(&mutex);
    *ret_sum = sum;
    return told;
}

bool spw_pointer_tables_has(CUdeviceptr low, CUdeviceptr high)
{
    uint32_t first, end;
    if (low >= high || !spw_pointer_tables_any())
        return false;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    spw_stored_words_overlapping(&words, low, high, &first, &end);
    spw_mutex_unlock(&mutex);
    return end > first;
}

/* ---- copies on the device ---- */

void spw_pointer_tables_copied(CUdeviceptr destination, CUdeviceptr source, size_t bytes, const struct spw_pinning *pinning)
{
    spw_outside_copied(destination, source, bytes);
    if (bytes == 0 || !spw_pointer_tables_any())
        return;
    uint32_t count;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    struct spw_stored_word *list = spw_stored_words_moved(&words, destination, source, bytes, &count);
    spw_mutex_unlock(&mutex);
    if (!list && count) {
        (void)pinning->everything(why_many);
        return;
    }
    store(pinning, destination, bytes, list, count);
    free(list);
}

/* ---- the rest ---- */

void spw_pointer_tables_forget(CUdeviceptr low, CUdeviceptr high)
{
    spw_outside_forget(low, high);
    if (low >= high || !spw_pointer_tables_any())
        return;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    (void)replace_locked(low, high, NULL, 0);
    spw_mutex_unlock(&mutex);
}

int spw_pointer_tables_members(CUdeviceptr low, CUdeviceptr high, CUdeviceptr *list, unsigned list_room)
{
    unsigned n = 0;
    int r = 0;
    if (!spw_pointer_tables_any())
        return 0;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    for (size_t i = spw_stored_words_at(&words, low); i < words.count && words.list[i].place < high; i++) {
        if (n && list[n - 1] == words.list[i].member)
            continue;
        if (n == list_room) {
            r = -E2BIG;
            break;
        }
        list[n++] = words.list[i].member;
    }
    spw_mutex_unlock(&mutex);
    return r < 0 ? r : (int)n;
}

/* The allocations that the last words led to, so that not every word of a table has to be looked up. */
struct recent {
    CUdeviceptr low[4], high[4];
    unsigned next;
};

static bool is_recent(const struct recent *recent, CUdeviceptr address)
{
    bool is = false;
    for (unsigned i = 0; i < 4; i++)
        is |= address - recent->low[i] < recent->high[i] - recent->low[i];
    return is;
}

/* Appends what the words in [low, high) lead to and that was not met yet. */
static int reach_from_locked(CUdeviceptr low, CUdeviceptr high, CUdeviceptr *hits, unsigned n, unsigned list_room,
                             spw_meet *meet, void *context)
{
    struct recent recent = {.next = 0};
    for (size_t i = spw_stored_words_at(&words, low); i < words.count && words.list[i].place < high; i++) {
        CUdeviceptr from, to;
        if (is_recent(&recent, words.list[i].member))
            continue;
        const enum spw_met met = meet(context, words.list[i].member, SPW_MET_IN_TABLE, &from, &to);
        if (met == SPW_MET_NOTHING)
            continue;
        recent.low[recent.next % 4] = from;
        recent.high[recent.next++ % 4] = to;
        if (met == SPW_MET_AGAIN)
            continue;
        if (n == list_room)
            return -E2BIG;
        hits[n++] = words.list[i].member;
    }
    return (int)n;
}

int spw_pointer_tables_reach(CUdeviceptr *hits, unsigned count, unsigned list_room, spw_meet *meet, void *context)
{
    const unsigned given = count;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    for (unsigned i = 0; i < count; i++) {
        CUdeviceptr low, high;
        const enum spw_met met = meet(context, hits[i], i < given ? i : SPW_MET_IN_TABLE, &low, &high);
        if (met == SPW_MET_NOTHING ||
            (met == SPW_MET_AGAIN && i < given)) /* an appended address was met when it was appended */
            continue;
        int n = reach_from_locked(low, high, hits, count, list_room, meet, context);
        if (n < 0) {
            spw_mutex_unlock(&mutex);
            return n;
        }
        count = (unsigned)n;
    }
    spw_mutex_unlock(&mutex);
    return (int)count;
}

void spw_pointer_tables_pin(const char *why, const struct spw_pinning *pinning)
{
    int r = 0;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    bool already = pin_all_reason;
    pin_all_reason = why;
    size_t count = already ? 0 : words.count;
    struct spw_stored_word *list = count ? malloc(count * sizeof *list) : NULL;
    if (list)
        memcpy(list, words.list, count * sizeof *list);
    spw_mutex_unlock(&mutex);
    if (list)
        r = pin_members(pinning, list, count, why);
    else if (count)
        r = pinning->everything(why);
    free(list);
    if (r == 0)
        return;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    pin_all_reason = NULL; /* the next graph tries again */
    spw_mutex_unlock(&mutex);
}

void spw_pointer_tables_reset(void)
{
    spw_outside_reset();
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    free(words.list);
    words = (struct spw_stored_words){0};
    pin_all_reason = NULL;
    atomic_store_explicit(&spw_pointer_tables_words, 0, memory_order_relaxed);
    spw_mutex_unlock(&mutex);
}
