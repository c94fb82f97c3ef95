/* validation.c - what is known of functions by comparisons of what they made again, and the numbers that were right. */
#include "validation.h"

#include <stdlib.h>

#include "course/grow.h"
#include "scalar_args.h"

enum { MOST_SORTS = 64 }; /* of a function; with more, what it is given is nothing like what it was given before */

struct trusted {
    CUfunction function;
    enum spw_validation_state state;
    uint32_t sort_count;
    /* Of each, the numbers of the first comparison; others may differ that were right as well. */
    struct spw_scalar_args *sorts;
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
    if (SPW_GROW(list, room, count + 1) < 0)
        return NULL;
    it = &list[count++];
    *it = (struct trusted){.function = function};
    return it;
}

/* The only place where a state changes. */
static void enter(struct trusted *it, enum spw_validation_state state)
{
    SPW_ASSERT(state >= it->state, "nothing is forgiven");
    SPW_ASSERT(state != SPW_VALIDATION_SUSPECTED || it->state != SPW_VALIDATION_UNKNOWN,
               "only what was right is suspected, and not condemned at once");
    it->state = state;
}

/* ---- numbers ---- */

static struct spw_scalar_args *sort_of(const struct trusted *it, const struct spw_scalar_args *given)
{
    for (uint32_t i = 0; it && i < it->sort_count; i++)
        if (spw_scalar_args_are_of_a_sort(&it->sorts[i], given))
            return &it->sorts[i];
    return NULL;
}

/* The numbers are the function's from then on. False: without memory nobody will know that it was right with them. */
static bool add_sort(struct trusted *it, const struct spw_scalar_args *given)
{
    struct spw_scalar_args *sorts =
        it->sort_count < MOST_SORTS ? realloc(it->sorts, (it->sort_count + 1) * sizeof(*sorts)) : NULL;
    if (!sorts)
        return false;
    it->sorts = sorts;
    sorts[it->sort_count++] = *given;
    return true;
}

bool spw_validation_covers_locked(const struct spw_recorded_op *recorded_op)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct trusted *it = recorded_op->function ? find(recorded_op->function) : NULL;
    struct spw_scalar_args given;
    if (!recorded_op->function)
        return true;
    if (!it || !spw_scalar_args_take(&given, recorded_op))
        return false;
    const struct spw_scalar_args *known = sort_of(it, &given);
    const bool is_covered = known && spw_scalar_args_cover(known, &given);
    spw_scalar_args_finish(&given);
    return is_covered;
}

/* They are the function's from then on, or finished. */
static void note_right_with(struct trusted *it, struct spw_scalar_args *given)
{
    struct spw_scalar_args *known = sort_of(it, given);
    if (known)
        spw_scalar_args_allow(known, given);
    if (known || !it || !add_sort(it, given))
        spw_scalar_args_finish(given);
}

void spw_validation_note_equal_locked(const struct spw_recorded_op *recorded_op)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct trusted *it = find_or_add(recorded_op->function);
    struct spw_scalar_args given;
    if (!it)
        return;
    if (it->state == SPW_VALIDATION_UNKNOWN)
        enter(it, SPW_VALIDATION_RIGHT);
    if (spw_scalar_args_take(&given, recorded_op))
        note_right_with(it, &given);
}

void spw_validation_note_tried_locked(CUfunction function, struct spw_scalar_args *given)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (given->list)
        note_right_with(find_or_add(function), given);
    *given = (struct spw_scalar_args){0};
}

/* ---- what is known ---- */

enum spw_validation_state spw_validation_of(CUfunction function)
{
    const struct trusted *it = find(function);
    return is_incomplete ? SPW_VALIDATION_CONDEMNED : it ? it->state : SPW_VALIDATION_UNKNOWN;
}

void spw_validation_suspect_locked(CUfunction function)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct trusted *it = find_or_add(function);
    if (it)
        enter(it, SPW_VALIDATION_SUSPECTED);
    is_incomplete |= function && !it;
}

void spw_validation_condemn_locked(CUfunction function)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct trusted *it = find_or_add(function);
    if (it)
        enter(it, SPW_VALIDATION_CONDEMNED);
    is_incomplete |= function && !it;
}

void spw_validation_reset(void)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < list[i].sort_count; k++)
            spw_scalar_args_finish(&list[i].sorts[k]);
        free(list[i].sorts);
    }
    free(list);
    list = NULL;
    count = room = 0;
    is_incomplete = false;
}
