/* trust.c - what is known of functions by comparisons of what they made again, and the numbers that were right. */
#include "trust.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FORMS = 64 }; /* of a function; with more, what it is given is nothing like what it was given before */

struct form { /* launches of a function whose parameters hold addresses in the same places */
    uint64_t places;
    uint32_t count;    /* of the numbers of the first comparison; 0: there was no memory for them, and none is right */
    uint32_t *numbers; /* followed by one for each that is not 0 where comparisons that were right have differed */
};

struct trusted {
    CUfunction function;
    bool is_right, is_suspected, is_condemned;
    uint32_t form_count;
    struct form *forms;
};

struct given { /* to one launch */
    uint64_t places;
    uint32_t count, *numbers;
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

/* The numbers in order, at most one for each four bytes, and where among the parameters addresses are. Without room for the
 * numbers they are only counted. */
static void look_at(const struct spw_rerun *rerun, uint32_t at_most, struct given *given)
{
    uint32_t geometry[SPW_SUBMISSION_GEOMETRY];
    size_t bytes;
    const unsigned char *image = spw_submission_image(rerun->submission, geometry, &bytes);
    given->count = given->places = 0;
    for (unsigned i = 0; i < SPW_SUBMISSION_GEOMETRY; i++, given->count++)
        if (given->count < at_most)
            given->numbers[given->count] = geometry[i];
    for (size_t at = 0; at < bytes; given->count++) {
        uint64_t word = 0;
        uint32_t number = 0;
        if (at + sizeof(word) <= bytes)
            memcpy(&word, image + at, sizeof(word));
        const uint32_t tensor = word ? tensor_of(rerun, word) : 0;
        memcpy(&number, image + at, bytes - at < sizeof(number) ? bytes - at : sizeof(number));
        if (given->count < at_most)
            given->numbers[given->count] = tensor ? tensor : number;
        if (tensor)
            given->places = (given->places ^ (at + 1)) * UINT64_C(0x9e3779b97f4a7c15);
        at += tensor ? sizeof(word) : sizeof(number);
    }
}

/* False: no memory. The numbers are the caller's to free. */
static bool take_given(const struct spw_rerun *rerun, struct given *ret)
{
    *ret = (struct given){0};
    look_at(rerun, 0, ret);
    ret->numbers = malloc((ret->count + 1) * sizeof(*ret->numbers));
    if (ret->numbers)
        look_at(rerun, ret->count, ret);
    return ret->numbers;
}

static struct form *form_of(const struct trusted *it, const struct given *given)
{
    for (uint32_t i = 0; it && i < it->form_count; i++)
        if (it->forms[i].places == given->places && it->forms[i].count == given->count)
            return &it->forms[i];
    return NULL;
}

/* It was right with these. Without memory nobody will know. */
static void add_form(struct trusted *it, const struct given *given)
{
    struct form *forms = it->form_count < MOST_FORMS ? realloc(it->forms, (it->form_count + 1) * sizeof(*forms)) : NULL;
    if (!forms)
        return;
    it->forms = forms;
    struct form *f = &forms[it->form_count];
    *f = (struct form){given->places, given->count, calloc(given->count + 1, 2 * sizeof(*f->numbers))};
    if (!f->numbers)
        return;
    memcpy(f->numbers, given->numbers, given->count * sizeof(*f->numbers));
    it->form_count++;
}

/* But for those that may differ they are what they were. */
static bool covers(const struct form *f, const struct given *given)
{
    for (uint32_t i = 0; i < f->count; i++)
        if (given->numbers[i] != f->numbers[i] && !f->numbers[f->count + i])
            return false;
    return true;
}

bool spw_trust_covers_locked(const struct spw_rerun *rerun)
{
    const struct trusted *it = rerun->function ? find(rerun->function) : NULL;
    struct given given;
    if (!rerun->function)
        return true;
    if (!it || !take_given(rerun, &given))
        return false;
    const struct form *f = form_of(it, &given);
    const bool is_covered = f && covers(f, &given);
    free(given.numbers);
    return is_covered;
}

bool spw_trust_numbers_locked(const struct spw_rerun *rerun, struct spw_hash *ret_numbers)
{
    struct given given;
    if (!take_given(rerun, &given))
        return false;
    spw_hash_host(given.numbers, given.count * sizeof(*given.numbers), ret_numbers);
    free(given.numbers);
    return true;
}

void spw_trust_note_equal_locked(const struct spw_rerun *rerun)
{
    struct trusted *it = find_or_add(rerun->function);
    struct given given;
    if (!it)
        return;
    it->is_right = true;
    if (!take_given(rerun, &given))
        return;
    struct form *f = form_of(it, &given);
    for (uint32_t i = 0; f && i < f->count; i++)
        f->numbers[f->count + i] |= given.numbers[i] != f->numbers[i];
    if (!f)
        add_form(it, &given);
    free(given.numbers);
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
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < list[i].form_count; k++)
            free(list[i].forms[k].numbers);
        free(list[i].forms);
    }
    free(list);
    list = NULL;
    count = room = 0;
    is_incomplete = false;
}
