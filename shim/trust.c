/* trust.c - what is known of functions by comparisons of what they made again, and the numbers that were right. */
#include "trust.h"

#include <stdlib.h>
#include <string.h>

struct trusted {
    CUfunction function;
    bool is_right, is_suspected, is_condemned;
    uint32_t count;    /* of the numbers of the first comparison; 0: there was no memory for them, and none is right */
    uint32_t *numbers; /* followed by one for each that is not 0 where comparisons that were right have differed */
};

static struct trusted *list;
static uint32_t count, room;
static bool is_incomplete; /* there was no memory: any function could be condemned */

static struct trusted *find(CUfunction function)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i].function == function)
            return &list[i];
    return NULL;
}

static struct trusted *find_or_add(CUfunction function)
{
    struct trusted *it = function ? find(function) : NULL;
    if (it || !function)
        return it;
    if (count == room) {
        const uint32_t more = room ? 2 * room : 32;
        void *larger = realloc(list, more * sizeof(*list));
        if (!larger)
            return NULL;
        list = larger;
        room = more;
    }
    it = &list[count++];
    *it = (struct trusted){.function = function};
    return it;
}

/* ---- numbers ---- */

/* The tensor that the word leads to, by its place among those touched, from 1 on; 0: to none. */
static uint32_t tensor_of(const struct spw_rerun *rerun, uint64_t word)
{
    for (unsigned i = 0; i < rerun->touch_count; i++)
        if (word - rerun->touches[i].address < rerun->touches[i].bytes)
            return i + 1;
    return 0;
}

/* The numbers in order, at most one for each four bytes; NULL and 0: only counts. */
static uint32_t take_numbers(const struct spw_rerun *rerun, uint32_t *ret, uint32_t at_most)
{
    uint32_t geometry[SPW_SUBMISSION_GEOMETRY];
    size_t bytes;
    const unsigned char *image = spw_submission_image(rerun->submission, geometry, &bytes);
    uint32_t n = 0;
    for (unsigned i = 0; i < SPW_SUBMISSION_GEOMETRY; i++, n++)
        if (n < at_most)
            ret[n] = geometry[i];
    for (size_t at = 0; at < bytes; n++) {
        uint64_t word = 0;
        uint32_t number = 0;
        if (at + sizeof(word) <= bytes)
            memcpy(&word, image + at, sizeof(word));
        const uint32_t tensor = word ? tensor_of(rerun, word) : 0;
        memcpy(&number, image + at, bytes - at < sizeof(number) ? bytes - at : sizeof(number));
        if (n < at_most)
            ret[n] = tensor ? tensor : number;
        at += tensor ? sizeof(word) : sizeof(number);
    }
    return n;
}

/* What differs from the first comparison; those that may are passed over. UINT32_MAX: all. `learn`: they may from now on. */
static uint32_t differing(struct trusted *it, const struct spw_rerun *rerun, bool learn)
{
    const uint32_t n = take_numbers(rerun, NULL, 0);
    uint32_t *now = n == it->count ? malloc(n * sizeof(*now)) : NULL, different = 0;
    if (!now)
        return UINT32_MAX;
    (void)take_numbers(rerun, now, n);
    for (uint32_t i = 0; i < n; i++) {
        if (now[i] == it->numbers[i] || it->numbers[n + i])
            continue;
        different++;
        it->numbers[n + i] = learn;
    }
    free(now);
    return different;
}

bool spw_trust_covers_locked(const struct spw_rerun *rerun)
{
    struct trusted *it = rerun->function ? find(rerun->function) : NULL;
    return !rerun->function || (it && it->is_right && it->count && differing(it, rerun, false) == 0);
}

bool spw_trust_numbers_locked(const struct spw_rerun *rerun, struct spw_hash *ret_numbers)
{
    const uint32_t n = take_numbers(rerun, NULL, 0);
    uint32_t *now = malloc((n + 1) * sizeof(*now));
    if (!now)
        return false;
    (void)take_numbers(rerun, now, n);
    spw_hash_host(now, n * sizeof(*now), ret_numbers);
    free(now);
    return true;
}

void spw_trust_note_equal_locked(const struct spw_rerun *rerun)
{
    struct trusted *it = find_or_add(rerun->function);
    if (!it)
        return;
    it->is_right = true;
    if (it->count) {
        (void)differing(it, rerun, true);
        return;
    }
    const uint32_t n = take_numbers(rerun, NULL, 0);
    it->numbers = n ? calloc(n, 2 * sizeof(*it->numbers)) : NULL;
    it->count = it->numbers ? take_numbers(rerun, it->numbers, n) : 0;
}

/* ---- what is known ---- */

bool spw_trust_was_right(CUfunction function)
{
    const struct trusted *it = find(function);
    return it && it->is_right;
}

void spw_trust_suspect_locked(CUfunction function)
{
    struct trusted *it = find_or_add(function);
    if (it)
        it->is_suspected = true;
    is_incomplete |= function && !it;
}

bool spw_trust_is_suspected(CUfunction function)
{
    const struct trusted *it = find(function);
    return it && it->is_suspected;
}

void spw_trust_condemn_locked(CUfunction function)
{
    struct trusted *it = find_or_add(function);
    if (it)
        it->is_condemned = true;
    is_incomplete |= function && !it;
}

bool spw_trust_is_condemned(CUfunction function)
{
    const struct trusted *it = find(function);
    return is_incomplete || (it && it->is_condemned);
}

void spw_trust_reset(void)
{
    for (uint32_t i = 0; i < count; i++)
        free(list[i].numbers);
    free(list);
    list = NULL;
    count = room = 0;
    is_incomplete = false;
}
