/* exam_answers.c - reads the digests of an exam: what has changed, and whether the launch gave the same when it was run
 * again. */
#include "exam_answers.h"

#include "digest.h"
#include "lock.h"
#include "versions.h"

/* Returns 1 if all are there, in `hashes`; 0 if not yet; negative if some will never come. */
static int read_hashes(struct spw_device *d, const struct spw_exam_piece *piece, unsigned count, struct spw_hash *hashes)
{
    for (unsigned k = 0; k < count; k++) {
        const int r = spw_digest_answer_locked(d, piece->tickets[k], &hashes[k]);
        if (r <= 0)
            return r;
    }
    return 1;
}

/* Judges a piece by its hashes after the program's launch and after the two runs. */
static enum spw_replay_verdict judge(const struct spw_hash hashes[1 + SPW_EXAM_PASSES])
{
    if (!spw_hash_equal(hashes[1], hashes[2]))
        return SPW_REPLAY_DIFFERS;
    return spw_hash_equal(hashes[0], hashes[1]) ? SPW_REPLAYABLE : SPW_REPLAY_HIDDEN_STATE;
}

/* The worse verdict counts: results that differ explain everything else. */
static enum spw_replay_verdict worse(enum spw_replay_verdict a, enum spw_replay_verdict b)
{
    if (a == SPW_REPLAY_DIFFERS || b == SPW_REPLAY_DIFFERS)
        return SPW_REPLAY_DIFFERS;
    return a == SPW_REPLAYABLE ? b : a;
}

/* The launch was found to write what it was believed to read only: what was made from that meanwhile cannot be relied
 * on. */
static void distrust(const struct spw_exam *e, uint64_t changed)
{
    for (uint32_t i = 0; i < e->count; i++) {
        const struct spw_exam_piece *p = &e->pieces[i];
        uint64_t serial;
        struct spw_versioned *v = p->hits & changed ? spw_versioned_at_locked(p->address, &serial) : NULL;
        if (v && serial == p->serial)
            spw_version_raise_locked(v);
    }
}

/* Which pieces changed and which did not, by hits. A doubted address says nothing if it leads to memory that the launch may
 * have changed through another address. */
struct seen {
    uint64_t changed, doubted_changed, unchanged;
};

static void see(const struct spw_exam *e, const struct spw_exam_piece *p, bool is_changed, struct seen *seen)
{
    const uint64_t known = p->hits & spw_exam_hits(e->hits);
    if (!is_changed)
        seen->unchanged |= p->hits;
    else if (known)
        seen->changed |= known;
    else
        seen->doubted_changed |= p->hits;
}

static void note_doubted(const struct spw_exam *e, const struct seen *seen)
{
    for (uint32_t i = 0; i < e->doubted_count && e->hits + i < SPW_CLASS_HITS; i++) {
        const uint64_t hit = UINT64_C(1) << (e->hits + i);
        struct spw_launch_class *place = spw_launch_class_of_place_locked(e->function, e->doubted[i]);
        const bool was_spared = spw_launch_class_is_spared(place);
        if (place && hit & (seen->doubted_changed | seen->unchanged))
            (void)spw_launch_class_observed_locked(place, (hit & seen->doubted_changed) != 0, 1);
        if (was_spared && hit & seen->doubted_changed)
            distrust(e, hit);
    }
}

static void note_look(struct spw_probed *probed, const struct spw_exam *e, const struct seen *seen)
{
    struct spw_launch_class *class = probed->class;
    const uint64_t before = class->changed;
    if (spw_launch_class_observed_locked(class, seen->changed, UINT64_MAX))
        distrust(e, seen->changed);
    spw_launch_class_note_numbers_locked(class, e->numbers, e->number_count);
    if (class->changed != before)
        spw_probe_class_widened(probed);
    spw_probe_class_observed(probed);
}

int spw_exam_read_locked(struct spw_device *d, struct spw_exam *e)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const bool is_look = e->step == SPW_PROBE_OBSERVE;
    enum spw_replay_verdict verdict = SPW_REPLAYABLE;
    struct seen seen = {0};
    for (uint32_t i = 0; i < e->count; i++) {
        struct spw_hash hashes[1 + SPW_EXAM_PASSES];
        const int r = read_hashes(d, &e->pieces[i], is_look ? 2 : 1 + SPW_EXAM_PASSES, hashes);
        if (r <= 0)
            return r;
        if (is_look)
            see(e, &e->pieces[i], !spw_hash_equal(hashes[0], hashes[1]), &seen);
        else
            verdict = worse(verdict, judge(hashes));
    }
    struct spw_probed *class = spw_exam_class_locked(e, d);
    if (is_look)
        note_doubted(e, &seen);
    if (class && is_look)
        note_look(class, e, &seen);
    else if (class)
        spw_probe_class_replayed(class, verdict);
    return 1;
}
