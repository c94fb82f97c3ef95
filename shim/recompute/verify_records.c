/* verify_records.c - keeps the records of the last few courses of each device, by the course's number. */
#include "verify_records.h"

#include <stdlib.h>
#include <string.h>

#include "detect/iteration.h"
#include "settings.h"

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

/* A free place, or that of the course that was followed longest ago. */
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

/* Returns the place of a form, or a free one; SPW_VERIFIED_FORMS: there is none. */
static unsigned place_of(const struct spw_verify_record *w, uint64_t form)
{
    unsigned i = 0;
    while (i < SPW_VERIFIED_FORMS && w->forms[i] && w->forms[i] != (form | 1))
        i++;
    return i;
}

bool spw_verify_record_has(const struct spw_verify_record *w, uint64_t form, bool *ret_is_full)
{
    const unsigned i = place_of(w, form);
    *ret_is_full = i == SPW_VERIFIED_FORMS;
    return i < SPW_VERIFIED_FORMS && w->forms[i];
}

/* The operations of a plan are compared for the first time in one iteration; after that each has its own turn. */
void spw_verify_record_note_equal_locked(int device, const struct spw_recorded_op *recorded_op)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_verify_record *w = spw_verify_record_of(device, recorded_op);
    if (!w)
        return;
    const uint32_t every = spw_settings_get()->verify_every;
    const uint32_t place = (uint32_t)((recorded_op->operation * UINT64_C(2654435761) >> 7) % every);
    w->left = w->was_compared ? every : 1 + place;
    w->was_compared = true;
    const unsigned i = place_of(w, recorded_op->form);
    if (i < SPW_VERIFIED_FORMS)
        w->forms[i] = recorded_op->form | 1;
}

void spw_verify_record_reset(void)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        for (unsigned k = 0; k < COURSES; k++)
            forget(&courses[i][k]);
}
