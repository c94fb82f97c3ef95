/* profile.c - the table of what is known about classes of launches, by the identity of their kernels. */
#include "profile.h"

#include <errno.h>
#include <string.h>

#include "tables.h"
#include "verdicts.h"

struct known {
    struct spw_profile_key key;
    struct spw_profile_class class;
    bool lost;
    UT_hash_handle hh;
    uint32_t numbers[];
};

struct spw_profile {
    struct known *classes;
    struct spw_profile_iterations iterations;
};

struct spw_profile *spw_profile_create(void)
{
    return calloc(1, sizeof(struct spw_profile));
}

void spw_profile_destroy(struct spw_profile *profile)
{
    if (!profile)
        return;
    SPW_TABLE_FREE(profile->classes);
    spw_profile_iterations_finish(&profile->iterations);
    free(profile);
}

size_t spw_profile_count(const struct spw_profile *profile)
{
    return HASH_COUNT(profile->classes);
}

static struct known *find(const struct spw_profile *profile, const struct spw_profile_key *key)
{
    struct known *it;
    HASH_FIND(hh, profile->classes, key, sizeof(*key), it);
    return it;
}

const struct spw_profile_class *spw_profile_find(const struct spw_profile *profile, const struct spw_profile_key *key)
{
    const struct known *it = find(profile, key);
    return it ? &it->class : NULL;
}

static bool is_refusal(uint8_t verdict)
{
    return verdict > SPW_REPLAYABLE;
}

/* Keeps permanent knowledge, whichever of the two has it. */
static struct spw_profile_class with_what_stays(const struct spw_profile_class *class,
                                                const struct spw_profile_class *before)
{
    struct spw_profile_class both = *class;
    both.changed |= before->changed;
    both.is_condemned |= before->is_condemned;
    both.is_refuted |= before->is_refuted;
    if (is_refusal(before->verdict) && !is_refusal(class->verdict)) {
        both.verdict = before->verdict;
        both.tries = before->tries;
    }
    return both;
}

/* Compares all members; `numbers` are compared by content. */
static bool is_alike(const struct spw_profile_class *a, const struct spw_profile_class *b)
{
    return a->changed == b->changed && memcmp(a->seen_unchanged, b->seen_unchanged, sizeof(a->seen_unchanged)) == 0 &&
           a->looks == b->looks && a->tries == b->tries && a->failures == b->failures && a->verdict == b->verdict &&
           a->is_condemned == b->is_condemned && a->is_refuted == b->is_refuted && a->number_count == b->number_count &&
           (!a->number_count || memcmp(a->numbers, b->numbers, 2 * sizeof(*a->numbers) * a->number_count) == 0);
}

bool spw_profile_put(struct spw_profile *profile, const struct spw_profile_class *class)
{
    struct known *before = find(profile, &class->key), *it;
    const struct spw_profile_class now = before ? with_what_stays(class, &before->class) : *class;
    if (now.number_count > SPW_PROFILE_NUMBERS || (before && is_alike(&now, &before->class)) ||
        (!before && HASH_COUNT(profile->classes) >= SPW_PROFILE_CLASSES))
        return false;
    it = malloc(sizeof(*it) + 2 * sizeof(*it->numbers) * now.number_count);
    if (!it)
        return false;
    *it = (struct known){.key = now.key, .class = now};
    if (now.number_count)
        memcpy(it->numbers, now.numbers, 2 * sizeof(*it->numbers) * now.number_count);
    it->class.numbers = now.number_count ? it->numbers : NULL;
    if (before)
        SPW_TABLE_REMOVE(profile->classes, before);
    SPW_TABLE_ADD(profile->classes, key, it);
    return it != NULL;
}

void spw_profile_put_all(struct spw_profile *profile, const struct spw_profile *from)
{
    for (const struct known *it = from->classes; it; it = it->hh.next)
        (void)spw_profile_put(profile, &it->class);
    for (const struct spw_profile_iteration *it = NULL; (it = spw_profile_iterations_next(&from->iterations, it));)
        (void)spw_profile_iterations_put(&profile->iterations, it);
}

struct spw_profile_iterations *spw_profile_iterations_of(struct spw_profile *profile)
{
    return &profile->iterations;
}

/* ---- as bytes ----
 *
 *     header     struct header; its hash covers everything behind it
 *     identity   text with a terminating zero
 *     classes    struct fixed, followed by 2 * number_count numbers each
 *     iterations as profile_iterations.c says
 *
 * Numbers are in the machine's byte order: a file of another byte order has another magic. */

#define MAGIC UINT64_C(0x32666f7270777073) /* spwprof2 */

struct header {
    uint64_t magic, size; /* size: of everything behind the header */
    struct spw_hash hash;
    uint32_t identity_bytes, count, iterations, zero;
};

struct fixed {
    struct spw_profile_key key;
    uint64_t changed;
    uint8_t seen_unchanged[SPW_PROFILE_HITS];
    uint8_t looks, tries, failures, verdict;
    uint32_t flags, number_count, zero;
};

enum { CONDEMNED = 1, REFUTED = 2, ALL_FLAGS = CONDEMNED | REFUTED };

static size_t numbers_bytes(uint32_t count)
{
    return 2 * sizeof(uint32_t) * count;
}

static char *encode_class(char *at, const struct spw_profile_class *class)
{
    struct fixed f = {.key = class->key,
                      .changed = class->changed,
                      .looks = class->looks,
                      .tries = class->tries,
                      .failures = class->failures,
                      .verdict = class->verdict,
                      .flags = (class->is_condemned ? CONDEMNED : 0) | (class->is_refuted ? REFUTED : 0),
                      .number_count = class->number_count};
    memcpy(f.seen_unchanged, class->seen_unchanged, sizeof(f.seen_unchanged));
    memcpy(at, &f, sizeof(f));
    at += sizeof(f);
    if (class->number_count)
        memcpy(at, class->numbers, numbers_bytes(class->number_count));
    return at + numbers_bytes(class->number_count);
}

int spw_profile_encode(const struct spw_profile *profile, const char *identity, char **ret_bytes, size_t *ret_size)
{
    struct header h = {.magic = MAGIC,
                       .identity_bytes = (uint32_t)strlen(identity) + 1,
                       .count = (uint32_t)HASH_COUNT(profile->classes),
                       .iterations = spw_profile_iterations_count(&profile->iterations)};
    size_t size = h.identity_bytes + spw_profile_iterations_size(&profile->iterations);
    for (const struct known *it = profile->classes; it; it = it->hh.next)
        size += sizeof(struct fixed) + numbers_bytes(it->class.number_count);
    char *bytes = malloc(sizeof(h) + size), *at = bytes;
    if (!bytes)
        return -ENOMEM;
    at += sizeof(h);
    memcpy(at, identity, h.identity_bytes);
    at += h.identity_bytes;
    for (const struct known *it = profile->classes; it; it = it->hh.next)
        at = encode_class(at, &it->class);
    (void)spw_profile_iterations_encode(&profile->iterations, at);
    h.size = size;
    spw_hash_host(bytes + sizeof(h), size, &h.hash);
    memcpy(bytes, &h, sizeof(h));
    *ret_bytes = bytes;
    *ret_size = sizeof(h) + size;
    return 0;
}

static bool makes_sense(const struct fixed *f)
{
    return f->key.hits <= SPW_PROFILE_HITS && f->verdict < SPW_REPLAY_VERDICT_COUNT && !(f->flags & ~ALL_FLAGS) &&
           !f->zero && f->number_count <= SPW_PROFILE_NUMBERS;
}

static int decode_class(struct spw_profile *into, struct spw_profile_rest *rest)
{
    uint32_t numbers[2 * SPW_PROFILE_NUMBERS];
    struct fixed f;
    if (!spw_profile_take(rest, &f, sizeof(f)) || !makes_sense(&f) ||
        !spw_profile_take(rest, numbers, numbers_bytes(f.number_count)))
        return -EBADMSG;
    struct spw_profile_class class = {.key = f.key,
                                      .changed = f.changed,
                                      .looks = f.looks,
                                      .tries = f.tries,
                                      .failures = f.failures,
                                      .verdict = f.verdict,
                                      .is_condemned = f.flags & CONDEMNED,
                                      .is_refuted = f.flags & REFUTED,
                                      .number_count = f.number_count,
                                      .numbers = numbers};
    memcpy(class.seen_unchanged, f.seen_unchanged, sizeof(f.seen_unchanged));
    (void)spw_profile_put(into, &class);
    return 0;
}

static bool is_whole(const struct header *h, const struct spw_profile_rest *rest)
{
    struct spw_hash hash;
    if (h->magic != MAGIC || h->size != rest->size || h->count > SPW_PROFILE_CLASSES || h->zero || !h->identity_bytes ||
        h->identity_bytes > SPW_PROFILE_IDENTITY || h->identity_bytes > rest->size || rest->at[h->identity_bytes - 1])
        return false;
    spw_hash_host(rest->at, rest->size, &hash);
    return spw_hash_equal(hash, h->hash);
}

int spw_profile_decode(struct spw_profile *profile, const char *identity, const void *bytes, size_t size, char *ret_identity)
{
    struct spw_profile_rest rest = {bytes, size};
    struct header h;
    int r = 0;
    if (!spw_profile_take(&rest, &h, sizeof(h)) || !is_whole(&h, &rest) ||
        !spw_profile_take(&rest, ret_identity, h.identity_bytes))
        return -EBADMSG;
    if (strcmp(ret_identity, identity) != 0)
        return -ESTALE;
    struct spw_profile *read = spw_profile_create();
    if (!read)
        return -ENOMEM;
    for (uint32_t i = 0; i < h.count && r == 0; i++)
        r = decode_class(read, &rest);
    if (r == 0)
        r = spw_profile_iterations_decode(&read->iterations, h.iterations, &rest);
    if (r == 0 && rest.size)
        r = -EBADMSG;
    if (r == 0)
        spw_profile_put_all(profile, read);
    spw_profile_destroy(read);
    return r;
}
