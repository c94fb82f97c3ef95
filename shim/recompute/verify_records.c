/* verify_records.c - the operations of some courses for each device, by the number that the course goes by. */
#include "verify_records.h"

#include <stdlib.h>
#include <string.h>

#include "detect/iteration.h"
#include "settings.h"
#include "validation.h"

enum { COURSES = SPW_ITERATION_SHAPES };

struct course {
    uint64_t number; /* 0: none */
    uint64_t followed;
    struct spw_verify_record *list;
    uint32_t count;
};

static struct course courses[SPW_MAX_DEVICES][COURSES];
static uint64_t clock_of_courses;

static void forget(struct course *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        for (unsigned k = 0; k < SPW_VERIFY_RECORD_GIVEN; k++)
            spw_scalar_args_finish(&c->list[i].given[k]);
    free(c->list);
    *c = (struct course){0};
}

static struct course *find(int device, uint64_t number)
{
    for (unsigned i = 0; i < COURSES && number; i++)
        if (courses[device][i].number == number)
            return &courses[device][i];
    return NULL;
}

/* A free place, or the one of the course that was followed longest ago. */
static struct course *place_for_one(int device)
{
    struct course *oldest = &courses[device][0];
    for (unsigned i = 1; i < COURSES; i++)
        if (courses[device][i].followed < oldest->followed)
            oldest = &courses[device][i];
    forget(oldest);
    return oldest;
}

uint64_t spw_verify_record_follow_locked(int device, uint64_t number, uint32_t count)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct course *c = find(device, number);
    if (!c) {
        c = place_for_one(device);
        c->list = calloc((size_t)count + 1, sizeof(*c->list));
        if (!c->list)
            return 0;
        c->number = number;
        c->count = count;
    }
    c->followed = ++clock_of_courses;
    return number;
}

struct spw_verify_record *spw_verify_record_of(int device, const struct spw_recorded_op *recorded_op)
{
    const struct course *c = find(device, recorded_op->course);
    return c && recorded_op->operation < c->count ? &c->list[recorded_op->operation] : NULL;
}

/* ---- comparisons ---- */

bool spw_verify_record_was_right_with(const struct spw_verify_record *w, const struct spw_recorded_op *recorded_op)
{
    struct spw_scalar_args given;
    if (spw_validation_of(recorded_op->function) != SPW_VALIDATION_SUSPECTED)
        return spw_validation_covers_locked(recorded_op);
    if (!spw_scalar_args_take(&given, recorded_op))
        return false;
    const bool is_covered = spw_scalar_args_are_among(w->given, SPW_VERIFY_RECORD_GIVEN, &given);
    spw_scalar_args_finish(&given);
    return is_covered;
}

/* Without memory for these it is compared the next time as well, where that matters. */
static void keep_numbers(struct spw_verify_record *w, const struct spw_recorded_op *recorded_op)
{
    struct spw_scalar_args given;
    if (!recorded_op->function || !spw_scalar_args_take(&given, recorded_op))
        return;
    if (spw_scalar_args_are_among(w->given, SPW_VERIFY_RECORD_GIVEN, &given)) {
        spw_scalar_args_finish(&given);
        return;
    }
    struct spw_scalar_args *oldest = &w->given[w->given_count++ % SPW_VERIFY_RECORD_GIVEN];
    spw_scalar_args_finish(oldest);
    *oldest = given;
}

/* The operations of a plan are compared for the first time in one iteration; after that each has a time of its own. */
void spw_verify_record_note_equal_locked(struct spw_verify_record *w, const struct spw_recorded_op *recorded_op)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint32_t every = spw_settings_get()->verify_every;
    const uint32_t place = (uint32_t)((recorded_op->operation * UINT64_C(2654435761) >> 7) % every);
    w->left = w->was_compared ? every : 1 + place;
    w->was_compared = true;
    keep_numbers(w, recorded_op);
}

void spw_verify_record_reset(void)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        for (unsigned k = 0; k < COURSES; k++)
            forget(&courses[i][k]);
}
