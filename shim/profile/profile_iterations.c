/* profile_iterations.c - keeps copies of the latest iterations, in the order in which they were put. */
#include "profile_iterations.h"

#include <errno.h>
#include <stddef.h>

#include "tables.h"

struct spw_profile_entry {
    uint64_t hash;
    struct spw_profile_iteration iteration; /* what it points to lies behind it, the elements with the largest alignment
                                             * first */
    bool lost;
    UT_hash_handle hh;
    char bytes[];
};

static uint64_t bytes_of(const struct spw_profile_iteration *it)
{
    return (uint64_t)it->shape_bytes + (uint64_t)it->op_count * sizeof(*it->us) + it->choice_count;
}

static struct spw_profile_entry *find(const struct spw_profile_iterations *table, uint64_t hash)
{
    struct spw_profile_entry *it;
    HASH_FIND(hh, table->first, &hash, sizeof(hash), it);
    return it;
}

static void forget(struct spw_profile_iterations *table, struct spw_profile_entry *it)
{
    table->bytes -= bytes_of(&it->iteration);
    SPW_TABLE_REMOVE(table->first, it);
}

void spw_profile_iterations_finish(struct spw_profile_iterations *table)
{
    while (table->first)
        forget(table, table->first);
}

static bool is_same(const void *a, const void *b, size_t size)
{
    return size == 0 || memcmp(a, b, size) == 0;
}

static bool is_alike(const struct spw_profile_iteration *a, const struct spw_profile_iteration *b)
{
    return a->shape_bytes == b->shape_bytes && a->op_count == b->op_count && a->choice_count == b->choice_count &&
           a->choices_of == b->choices_of && is_same(a->shape, b->shape, a->shape_bytes) &&
           is_same(a->us, b->us, a->op_count * sizeof(*a->us)) && is_same(a->list, b->list, a->choice_count);
}

static const void *copied(char **at, const void *from, size_t size)
{
    char *to = *at;
    if (size)
        memcpy(to, from, size);
    *at += size;
    return to;
}

static struct spw_profile_entry *copy_of(const struct spw_profile_iteration *from)
{
    struct spw_profile_entry *it = malloc(sizeof(*it) + bytes_of(from));
    if (!it)
        return NULL;
    *it = (struct spw_profile_entry){.hash = from->hash, .iteration = *from};
    char *at = it->bytes;
    it->iteration.us = copied(&at, from->us, from->op_count * sizeof(*from->us));
    it->iteration.shape = copied(&at, from->shape, from->shape_bytes);
    it->iteration.list = copied(&at, from->list, from->choice_count);
    return it;
}

bool spw_profile_iterations_put(struct spw_profile_iterations *table, const struct spw_profile_iteration *iteration)
{
    struct spw_profile_iteration now = *iteration;
    struct spw_profile_entry *before = find(table, now.hash);
    if (before && !now.choice_count) {
        now.list = before->iteration.list;
        now.choice_count = before->iteration.choice_count;
        now.choices_of = before->iteration.choices_of;
    }
    if (bytes_of(&now) > SPW_PROFILE_ITERATION_BYTES)
        return false;
    struct spw_profile_entry *it = copy_of(&now);
    if (!it)
        return false;
    const bool is_new = !before || !is_alike(&now, &before->iteration);
    if (before)
        forget(table, before);
    const uint64_t bytes = bytes_of(&it->iteration);
    SPW_TABLE_ADD(table->first, hash, it);
    table->bytes += it ? bytes : 0;
    while (table->first &&
           (table->bytes > SPW_PROFILE_ALL_ITERATIONS_BYTES || HASH_COUNT(table->first) > SPW_PROFILE_ITERATIONS))
        forget(table, table->first);
    return is_new && it;
}

const struct spw_profile_iteration *spw_profile_iterations_find(const struct spw_profile_iterations *table, uint64_t hash)
{
    const struct spw_profile_entry *it = find(table, hash);
    return it ? &it->iteration : NULL;
}

const struct spw_profile_iteration *spw_profile_iterations_next(const struct spw_profile_iterations *table,
                                                                const struct spw_profile_iteration *before)
{
    const struct spw_profile_entry *it = table->first;
    if (before)
        it = ((const struct spw_profile_entry *)((const char *)before - offsetof(struct spw_profile_entry, iteration)))
                 ->hh.next;
    return it ? &it->iteration : NULL;
}

uint32_t spw_profile_iterations_count(const struct spw_profile_iterations *table)
{
    return (uint32_t)HASH_COUNT(table->first);
}

/* ---- as bytes: struct fixed, durations, shape, choices, one iteration after the other ---- */

struct fixed {
    uint64_t hash, choices_of;
    uint32_t shape_bytes, op_count, choice_count, zero;
};

size_t spw_profile_iterations_size(const struct spw_profile_iterations *table)
{
    return spw_profile_iterations_count(table) * sizeof(struct fixed) + table->bytes;
}

char *spw_profile_iterations_encode(const struct spw_profile_iterations *table, char *at)
{
    for (const struct spw_profile_entry *it = table->first; it; it = it->hh.next) {
        const struct spw_profile_iteration *i = &it->iteration;
        const struct fixed f = {.hash = i->hash,
                                .choices_of = i->choices_of,
                                .shape_bytes = i->shape_bytes,
                                .op_count = i->op_count,
                                .choice_count = i->choice_count};
        (void)copied(&at, &f, sizeof(f));
        (void)copied(&at, it->bytes, bytes_of(i));
    }
    return at;
}

static int decode_one(struct spw_profile_iterations *table, struct spw_profile_rest *rest)
{
    struct fixed f;
    if (!spw_profile_take(rest, &f, sizeof(f)) || f.zero)
        return -EBADMSG;
    struct spw_profile_iteration it = {.hash = f.hash,
                                       .choices_of = f.choices_of,
                                       .shape_bytes = f.shape_bytes,
                                       .op_count = f.op_count,
                                       .choice_count = f.choice_count};
    if (bytes_of(&it) > rest->size || bytes_of(&it) > SPW_PROFILE_ITERATION_BYTES)
        return -EBADMSG;
    float *us = malloc(f.op_count * sizeof(*us) + 1); /* the bytes may begin at any alignment */
    if (!us)
        return -ENOMEM;
    (void)spw_profile_take(rest, us, f.op_count * sizeof(*us));
    it.us = us;
    it.shape = rest->at;
    it.list = (const uint8_t *)rest->at + f.shape_bytes;
    rest->at += f.shape_bytes + f.choice_count;
    rest->size -= f.shape_bytes + f.choice_count;
    (void)spw_profile_iterations_put(table, &it);
    free(us);
    return 0;
}

int spw_profile_iterations_decode(struct spw_profile_iterations *table, uint32_t count, struct spw_profile_rest *rest)
{
    int r = count > SPW_PROFILE_ITERATIONS ? -EBADMSG : 0;
    for (uint32_t i = 0; i < count && r == 0; i++)
        r = decode_one(table, rest);
    return r;
}
