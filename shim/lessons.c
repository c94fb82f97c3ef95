/* lessons.c - chooses what is to be learned from which launch, within the time that learning may take. */
#include "lessons.h"

#include <stdlib.h>

enum { LOOKS = 2, TRIES = 2, FAILURES = 8 };

/* What a step costs beside the launch, in times of the launch, for one that does little else than move bytes: two passes
 * over what it touches; three more launches, four passes, everything copied twice and its output filled three times. */
static const double costs[] = {[SPW_LESSON_LOOK] = 2, [SPW_LESSON_TRY] = 12};

/* In iterations. */
#define ALLOWED_IN_ONE 0.6
#define ALLOWED_IN_ALL 2.5

void spw_lessons_begin(struct spw_lessons *l, double iteration_us)
{
    l->allowed_us = ALLOWED_IN_ONE * iteration_us;
    l->left_us = ALLOWED_IN_ALL * iteration_us;
    l->spent_us = 0;
    l->is_complete = false;
    l->is_fresh = true;
}

bool spw_lessons_round(struct spw_lessons *l)
{
    bool under_way = false;
    for (uint32_t i = 0; i < l->count; i++)
        under_way |= l->list[i].under_way;
    l->left_us -= l->spent_us;
    l->is_complete = !under_way && !l->is_fresh && ((l->spent_us <= 0 && !l->is_awaited) || l->left_us <= 0);
    l->spent_us = 0;
    l->is_fresh = l->is_awaited = false;
    return l->is_complete;
}

static struct spw_lesson *find(const struct spw_lessons *l, const struct spw_writeset *kind)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (l->list[i].number == kind->number)
            return &l->list[i];
    return NULL;
}

static struct spw_lesson *add(struct spw_lessons *l)
{
    if (l->count == l->room) {
        const uint32_t room = l->room ? 2 * l->room : 64;
        void *list = realloc(l->list, room * sizeof(*l->list));
        if (!list)
            return NULL;
        l->list = list;
        l->room = room;
    }
    return &l->list[l->count++];
}

static struct spw_lesson *find_or_add(struct spw_lessons *l, const struct spw_writeset *kind)
{
    struct spw_lesson *it = find(l, kind);
    if (!it && (it = add(l)))
        *it = (struct spw_lesson){.number = kind->number, .function = kind->function, .verdict = SPW_REPLAY_NOT_TRIED};
    return it;
}

static enum spw_lesson_step step_of(const struct spw_lesson *lesson, uint64_t changed, uint64_t geometry)
{
    if (lesson->under_way || lesson->failures >= FAILURES)
        return SPW_LESSON_NOTHING;
    const bool may_try = changed && lesson->verdict <= SPW_REPLAYABLE && lesson->tries < TRIES;
    if (may_try && lesson->tries < lesson->looks && (!lesson->tries || lesson->tried_at != geometry))
        return SPW_LESSON_TRY;
    if (lesson->looks < LOOKS)
        return SPW_LESSON_LOOK;
    return may_try ? SPW_LESSON_TRY : SPW_LESSON_NOTHING;
}

enum spw_lesson_step spw_lessons_next(struct spw_lessons *l, const struct spw_writeset *kind, uint64_t geometry, double us,
                                      uint32_t *ret_lesson)
{
    if (!kind || !kind->count || l->is_complete)
        return SPW_LESSON_NOTHING;
    struct spw_lesson *lesson = find_or_add(l, kind);
    const enum spw_lesson_step step = lesson ? step_of(lesson, kind->changed, geometry) : SPW_LESSON_NOTHING;
    l->is_awaited |= lesson && lesson->under_way;
    const double cost = costs[step] * us, may_spend = l->allowed_us < l->left_us ? l->allowed_us : l->left_us;
    if (step == SPW_LESSON_NOTHING || (l->spent_us + cost > may_spend && (l->spent_us > 0 || cost > l->left_us)))
        return SPW_LESSON_NOTHING;
    l->spent_us += cost;
    lesson->under_way = true;
    if (step == SPW_LESSON_TRY)
        lesson->tried_at = geometry;
    *ret_lesson = (uint32_t)(lesson - l->list);
    return step;
}

void spw_lesson_looked(struct spw_lessons *l, uint32_t lesson)
{
    l->list[lesson].under_way = false;
    l->list[lesson].looks++;
}

void spw_lesson_tried(struct spw_lessons *l, uint32_t lesson, enum spw_replay_verdict verdict)
{
    struct spw_lesson *it = &l->list[lesson];
    it->under_way = false;
    it->tries++;
    if (it->verdict <= SPW_REPLAYABLE)
        it->verdict = verdict;
}

void spw_lesson_missed(struct spw_lessons *l, uint32_t lesson)
{
    l->list[lesson].under_way = false;
    l->list[lesson].failures++;
}

void spw_lesson_postponed(struct spw_lessons *l, uint32_t lesson)
{
    l->list[lesson].under_way = false;
}

enum spw_replay_verdict spw_lessons_verdict(const struct spw_lessons *l, const struct spw_writeset *kind)
{
    const struct spw_lesson *it = kind ? find(l, kind) : NULL;
    return it ? it->verdict : SPW_REPLAY_NOT_TRIED;
}

void spw_lessons_condemn(struct spw_lessons *l, CUfunction function, enum spw_replay_verdict verdict)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (l->list[i].function == function)
            l->list[i].verdict = verdict;
}

void spw_lessons_finish(struct spw_lessons *l)
{
    free(l->list);
    *l = (struct spw_lessons){0};
}
