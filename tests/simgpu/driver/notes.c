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
    const struct ranges *written; /* NULL: all of it; the program's runtime says nothing */
};

/* The program's tensor, a module's variable, or the driver's block where the program's runtime says nothing. */
static bool find_target(uint64_t address, struct target *ret)
{
    const struct tensor *t = tensor_find(address);
    if (t) {
        *ret = (struct target){t->span.start, t->span.end - t->span.start, t->serial, &t->written};
        return true;
    }
    const struct block *b = memory_find(address);
    if (b && tensors_are_told() && b->kind != BLOCK_GLOBAL)
        return false;
    if (b && b->device)
        *ret = (struct target){b->span.start, b->span.end - b->span.start, b->id, NULL};
    return b && b->device;
}

struct reading { /* a launch's parameters, use by use */
    const struct layout *layout;
    const unsigned char *image;
    const uint32_t *grid;
    struct note *note;
    uint32_t room;
    uint64_t youngest; /* serial of the youngest tensor so far, which is touched[of] */
    uint32_t of;
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

/* Where it stands in the note, added if need be; UINT32_MAX: no memory. */
static uint32_t place_of(struct reading *r, const struct target *t, const struct region *where)
{
    for (uint32_t i = 0; i < r->note->count; i++)
        if (region_equal(&r->note->touched[i].where, where))
            return i;
    if (r->note->count == r->room) {
        struct note *grown = realloc(r->note, sizeof *grown + 2 * r->room * sizeof grown->touched[0]);
        if (!grown) {
            r->no_memory = true;
            return UINT32_MAX;
        }
        r->note = grown;
        r->room *= 2;
    }
    r->note->touched[r->note->count] =
        (struct touched){.where = *where, .tensor = t->address, .serial = t->written ? t->serial : 0};
    if (t->serial > r->youngest) {
        r->youngest = t->serial;
        r->of = r->note->count;
    }
    return r->note->count++;
}

static bool is_all_written(const struct ranges *written, const struct region *where)
{
    if (ranges_hold(written, where->address, region_end(where)))
        return true;
    for (uint64_t i = 0; i < region_row_count(where); i++) {
        const uint64_t row = region_row(where, i);
        if (!ranges_hold(written, row, row + where->row_bytes))
            return false;
    }
    return true;
}

/* What nobody has written yet can't be read. */
static void read(struct reading *r, struct touched *touched, const struct target *t)
{
    if (touched->reads)
        return;
    touched->reads = !t->written || is_all_written(t->written, &touched->where);
    if (touched->reads)
        return;
    if (!ranges_add_part(&touched->defined, t->written, touched->where.address, region_end(&touched->where), 0))
        r->no_memory = true;
    touched->reads = touched->defined.count > 0;
}

/* `part`: five numbers that say which bytes from the address on; NULL: the whole tensor, as where they say
 * what can't be. False: it leads to nothing. */
static bool touch(struct reading *r, uint64_t address, enum how how, const void *part)
{
    struct target t;
    struct region where;
    uint32_t place;
    if (!find_target(address, &t))
        return false;
    if (!part || !region_read(&where, address, part))
        where = region_plain(t.address, t.bytes);
    if (region_bytes(&where) == 0)
        return false;
    if ((place = place_of(r, &t, &where)) == UINT32_MAX)
        return true;
    if (how != USE_OVERWRITES)
        read(r, &r->note->touched[place], &t);
    r->note->touched[place].writes |= how != USE_READS;
    mix(r, place);
    mix(r, address - t.address);
    mix(r, t.bytes);
    mix(r, how != USE_READS);
    return true;
}

/* What the device finds in the table when the launch runs, the program's host has already had copied there. */
static void read_table(struct reading *r, const struct use *u)
{
    const uint64_t end = word_at(r, u->table_end);
    for (uint64_t at = word_at(r, u->offset); at + PIECE <= end; at += PIECE) {
        uint64_t address;
        if (tensors_copied(at, &address))
            (void)touch(r, address, u->written ? USE_WRITES : USE_READS, NULL);
    }
}

static void read_words(struct reading *r, const struct use *u)
{
    uint32_t addresses = 0, start = (u->offset + PIECE - 1) / PIECE * PIECE, end = u->offset + u->bytes, at = u->offset;
    bool counts = u->how == USE_WORDS;
    if (counts && start > at)
        mix_bytes(r, at, (start < end ? start : end) - at);
    for (at = start; at + PIECE <= end; at += PIECE)
        if (touch(r, word_at(r, at), addresses < u->first_written ? USE_WRITES : USE_READS, NULL))
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
                (void)touch(r, word_at(r, entry_at(u, list, i)), u->written >> list & 1 ? USE_WRITES : USE_READS, NULL);
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
    case USE_OVERWRITES:
        (void)touch(r, word_at(r, u->offset), u->how, u->is_part ? r->image + u->region : NULL);
        break;
    case USE_TABLE:
        read_table(r, u);
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
        writes |= r->note->touched[i].writes;
    if (!writes && r->note->count > 0)
        r->note->touched[r->of].writes = true;
    for (uint32_t i = 0; i < r->note->count; i++) {
        const struct touched *t = &r->note->touched[i];
        r->note->bytes += (double)region_bytes(&t->where) * (t->reads + t->writes);
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
        const struct touched *x = &a->touched[i], *y = &b->touched[i];
        same = region_equal(&x->where, &y->where) && x->reads == y->reads && x->writes == y->writes &&
               ranges_equal(&x->defined, &y->defined);
    }
    return same;
}

static void drop(struct note *note)
{
    for (uint32_t i = 0; i < note->count; i++)
        ranges_finish(&note->touched[i].defined);
    free(note);
}

/* In front of what was said before, which a launch on its way may still need. */
static const struct note *keep(struct note *note)
{
    struct note *old = find(note->key), **bucket = &buckets[note->key[0] % BUCKETS];
    if (old && says_the_same(old, note)) {
        for (uint32_t i = 0; i < note->count; i++)
            old->touched[i].serial = note->touched[i].serial;
        drop(note);
        return old;
    }
    note->next = *bucket;
    *bucket = note;
    return note;
}

/* False: no memory. */
static bool note_writes(const struct note *note)
{
    bool good = true;
    for (uint32_t i = 0; i < note->count; i++) {
        const struct region *where = &note->touched[i].where;
        struct tensor *t = note->touched[i].writes ? tensor_find(note->touched[i].tensor) : NULL;
        for (uint64_t row = 0; t && row < region_row_count(where); row++)
            good = good && tensor_write(t, region_row(where, row), where->row_bytes);
    }
    return good;
}

const struct note *note_make(const struct layout *layout, const uint32_t grid[3], const uint32_t block[3], const void *image,
                             bool announced)
{
    enum { ROOM = 8 };
    struct reading r = {.layout = layout, .image = image, .grid = grid, .room = ROOM};
    r.note = calloc(1, sizeof *r.note + ROOM * sizeof r.note->touched[0]);
    if (!r.note)
        return NULL;
    r.note->is_announced = announced;
    r.note->seed = layout->name_hash;
    for (int i = 0; i < 3; i++)
        mix(&r, (uint64_t)grid[i] << 32 | block[i]);
    for (uint32_t i = 0; i < layout->use_count; i++)
        read_use(&r, &layout->uses[i]);
    finish(&r);
    if (r.no_memory || !note_writes(r.note)) {
        drop(r.note);
        return NULL;
    }
    set_key(r.note, layout, grid, block, image);
    return keep(r.note);
}

static bool means_the_same_now(const struct note *note)
{
    for (uint32_t i = 0; i < note->count; i++) {
        const struct tensor *t = note->touched[i].serial ? tensor_find(note->touched[i].tensor) : NULL;
        if (t && t->serial != note->touched[i].serial)
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
