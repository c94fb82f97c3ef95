/* notes.c - finds the tensors among a launch's parameters. */
#include "notes.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "tensors.h"

enum { BUCKETS = 1 << 14, PIECE = 8 };

static struct note *buckets[BUCKETS];

struct target { /* what an address leads to */
    uint64_t address, bytes, serial;
    bool is_told; /* of by the program's runtime */
    bool is_written;
};

/* The program's tensor, a module's variable, or the driver's block where the program's runtime says nothing. */
static bool find_target(uint64_t address, struct target *ret)
{
    const struct tensor *t = tensor_find(address);
    if (t) {
        *ret = (struct target){t->span.start, t->span.end - t->span.start, t->serial, true, t->is_written};
        return true;
    }
    const struct block *b = memory_find(address);
    if (b && tensors_are_told() && b->kind != BLOCK_GLOBAL)
        return false;
    if (b && b->device)
        *ret = (struct target){b->span.start, b->span.end - b->span.start, b->id, false, true};
    return b && b->device;
}

struct reading { /* a launch's parameters, use by use */
    const struct layout *layout;
    const unsigned char *image;
    const uint32_t *grid;
    struct note *note;
    uint32_t room;
    uint64_t youngest; /* serial of the youngest tensor so far, which is tensors[of] */
    uint32_t of;
    bool of_is_written;
    bool no_memory;
};

static uint64_t word_at(const struct reading *r, uint32_t offset)
{
    uint64_t word;
    memcpy(&word, r->image + offset, sizeof word);
    return word;
}

static void mix(struct reading *r, uint64_t number)
{
    r->note->seed = note_mix(r->note->seed, number);
}

static void mix_bytes(struct reading *r, uint32_t offset, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i += PIECE) {
        uint64_t number = 0;
        memcpy(&number, r->image + offset + i, bytes - i < PIECE ? bytes - i : PIECE);
        mix(r, number);
    }
}

/* Where the tensor stands in the note, added if need be; UINT32_MAX: no memory. */
static uint32_t place_of(struct reading *r, const struct target *t)
{
    for (uint32_t i = 0; i < r->note->count; i++)
        if (r->note->tensors[i].address == t->address)
            return i;
    if (r->note->count == r->room) {
        struct note *grown = realloc(r->note, sizeof *grown + 2 * r->room * sizeof grown->tensors[0]);
        if (!grown) {
            r->no_memory = true;
            return UINT32_MAX;
        }
        r->note = grown;
        r->room *= 2;
    }
    r->note->tensors[r->note->count] =
        (struct touched_tensor){.address = t->address, .bytes = t->bytes, .serial = t->is_told ? t->serial : 0};
    if (t->serial > r->youngest) {
        r->youngest = t->serial;
        r->of = r->note->count;
        r->of_is_written = t->is_written;
    }
    return r->note->count++;
}

/* False: the address leads to nothing. What nobody has written yet can't be read. */
static bool touch(struct reading *r, uint64_t address, bool writes)
{
    struct target t;
    uint32_t place;
    if (!find_target(address, &t))
        return false;
    if ((place = place_of(r, &t)) == UINT32_MAX)
        return true;
    r->note->tensors[place].reads |= t.is_written;
    r->note->tensors[place].writes |= writes;
    mix(r, place);
    mix(r, address - t.address);
    mix(r, t.bytes);
    mix(r, writes);
    return true;
}

static void read_words(struct reading *r, const struct use *u)
{
    uint32_t addresses = 0, start = (u->offset + PIECE - 1) / PIECE * PIECE, end = u->offset + u->bytes, at = u->offset;
    bool counts = u->how == USE_WORDS;
    if (counts && start > at)
        mix_bytes(r, at, (start < end ? start : end) - at);
    for (at = start; at + PIECE <= end; at += PIECE)
        if (touch(r, word_at(r, at), addresses < u->first_written))
            addresses++;
        else if (counts)
            mix(r, word_at(r, at));
    if (counts && at < end)
        mix_bytes(r, at, end - at);
}

/* Which of the entries of its lists the launch's blocks work on. */
static void find_named(const struct reading *r, const struct use *u, bool named[LAYOUT_MOST_TENSORS])
{
    const uint32_t end = r->layout->kernel.param_bytes;
    for (uint32_t i = 0; u->along && i < r->grid[u->along == 'y'] && i < u->most; i++)
        named[i] = true;
    for (uint32_t i = 0; !u->along && i < r->grid[0] && u->blocks + (i + 1) * u->block_bytes <= end; i++) {
        uint16_t number = 0;
        memcpy(&number, r->image + u->blocks + i * u->block_bytes, u->block_bytes);
        if (number < u->most)
            named[number] = true;
    }
}

static uint32_t entry_at(const struct use *u, uint32_t list, uint32_t i)
{
    return u->offset + (list * u->most + i) * PIECE;
}

static void read_tensors(struct reading *r, const struct use *u)
{
    bool named[LAYOUT_MOST_TENSORS] = {false};
    find_named(r, u, named);
    for (uint32_t list = 0; list < u->lists; list++)
        for (uint32_t i = 0; i < u->most; i++)
            if (named[i])
                (void)touch(r, word_at(r, entry_at(u, list, i)), u->written >> list & 1);
}

static void read_use(struct reading *r, const struct use *u)
{
    switch (u->how) {
    case USE_VALUE:
        mix_bytes(r, u->offset, u->bytes);
        break;
    case USE_FLOPS:
        memcpy(&r->note->flops, r->image + u->offset, sizeof r->note->flops);
        break;
    case USE_READS:
    case USE_WRITES:
        (void)touch(r, word_at(r, u->offset), u->how == USE_WRITES);
        break;
    case USE_WORDS:
    case USE_ADDRESSES:
        read_words(r, u);
        break;
    case USE_TENSORS:
        read_tensors(r, u);
        break;
    }
}

/* Where nothing is known to be written, the youngest is. */
static void finish(struct reading *r)
{
    bool writes = false;
    for (uint32_t i = 0; i < r->note->count; i++)
        writes |= r->note->tensors[i].writes;
    if (!writes && r->note->count > 0)
        r->note->tensors[r->of].writes = true;
    for (uint32_t i = 0; i < r->note->count; i++) {
        const struct touched_tensor *t = &r->note->tensors[i];
        r->note->bytes += (double)t->bytes * (t->reads + t->writes);
    }
}

static void add_to_key(struct note *note, const struct reading *r, uint32_t offset, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes; at += PIECE) {
        uint64_t number = 0;
        memcpy(&number, r->image + offset + at, bytes - at < PIECE ? bytes - at : PIECE);
        note->key[0] = note_mix(note->key[0], number);
        note->key[1] = note_mix(note->key[1], note->key[0] ^ number << 1);
    }
}

static void add_tensors_to_key(struct note *note, const struct reading *r, const struct use *u)
{
    bool named[LAYOUT_MOST_TENSORS] = {false};
    find_named(r, u, named);
    for (uint32_t i = 0; i < u->most; i++)
        for (uint32_t list = 0; named[i] && list < u->lists; list++)
            add_to_key(note, r, entry_at(u, list, i), PIECE);
}

/* Parameters are the same where all that counts is: nobody may have filled in the rest. */
static void set_key(struct note *note, const struct layout *l, const uint32_t grid[3], const uint32_t block[3],
                    const void *image)
{
    const struct reading r = {.layout = l, .image = image, .grid = grid};
    note->key[0] = l->name_hash;
    note->key[1] = ~l->name_hash;
    for (int i = 0; i < 3; i++)
        note->key[0] = note_mix(note->key[0], (uint64_t)grid[i] << 32 | block[i]);
    for (uint32_t i = 0; i < l->use_count; i++) {
        const struct use *u = &l->uses[i];
        if (u->how == USE_TENSORS)
            add_tensors_to_key(note, &r, u);
        else
            add_to_key(note, &r, u->offset, u->bytes);
    }
}

static struct note *find(const uint64_t key[2])
{
    for (struct note *n = buckets[key[0] % BUCKETS]; n; n = n->next)
        if (n->key[0] == key[0] && n->key[1] == key[1])
            return n;
    return NULL;
}

/* But for which of the tensors that were made there it means. */
static bool says_the_same(const struct note *a, const struct note *b)
{
    bool same = a->seed == b->seed && a->is_announced == b->is_announced && a->count == b->count &&
                memcmp(&a->flops, &b->flops, sizeof a->flops) == 0;
    for (uint32_t i = 0; same && i < a->count; i++) {
        const struct touched_tensor *x = &a->tensors[i], *y = &b->tensors[i];
        same = x->address == y->address && x->bytes == y->bytes && x->reads == y->reads && x->writes == y->writes;
    }
    return same;
}

/* In front of what was said before, which a launch on its way may still need. */
static const struct note *keep(struct note *note)
{
    struct note *old = find(note->key), **bucket = &buckets[note->key[0] % BUCKETS];
    if (old && says_the_same(old, note)) {
        memcpy(old->tensors, note->tensors, note->count * sizeof note->tensors[0]);
        free(note);
        return old;
    }
    note->next = *bucket;
    *bucket = note;
    return note;
}

static void note_writes(const struct note *note)
{
    for (uint32_t i = 0; i < note->count; i++) {
        struct tensor *t = note->tensors[i].writes ? tensor_find(note->tensors[i].address) : NULL;
        if (t)
            t->is_written = true;
    }
}

const struct note *note_make(const struct layout *layout, const uint32_t grid[3], const uint32_t block[3], const void *image,
                             bool announced)
{
    enum { ROOM = 8 };
    struct reading r = {.layout = layout, .image = image, .grid = grid, .room = ROOM};
    r.note = calloc(1, sizeof *r.note + ROOM * sizeof r.note->tensors[0]);
    if (!r.note)
        return NULL;
    r.note->is_announced = announced;
    r.note->seed = layout->name_hash;
    for (int i = 0; i < 3; i++)
        mix(&r, (uint64_t)grid[i] << 32 | block[i]);
    for (uint32_t i = 0; i < layout->use_count; i++)
        read_use(&r, &layout->uses[i]);
    if (r.no_memory) {
        free(r.note);
        return NULL;
    }
    finish(&r);
    note_writes(r.note);
    set_key(r.note, layout, grid, block, image);
    return keep(r.note);
}

static bool means_the_same_now(const struct note *note)
{
    for (uint32_t i = 0; i < note->count; i++) {
        const struct tensor *t = note->tensors[i].serial ? tensor_find(note->tensors[i].address) : NULL;
        if (t && t->serial != note->tensors[i].serial)
            return false;
    }
    return true;
}

const struct note *note_find(const struct layout *layout, const uint32_t grid[3], const uint32_t block[3], const void *image)
{
    struct note looked_for;
    set_key(&looked_for, layout, grid, block, image);
    const struct note *n = find(looked_for.key);
    return n && (n->is_announced || means_the_same_now(n)) ? n : NULL;
}
