/* probe_policy.c - chooses what is to be learned from which launch, within the time that learning may take. */
#include "probe_policy.h"

#include "check.h"
#include "ledger.h"
#include "lock.h"

enum { LOOKS = 2, MORE_LOOKS = 8, TRIES = 2, FAILURES = 8 }; /* more: for launches that are passed other numbers */

/* Cost of a step in times of the launch, for a launch that does little else than move bytes: two passes over what it
 * touches; or two more launches, three passes, everything copied twice and restored three times. */
static const double costs[] = {[SPW_PROBE_OBSERVE] = 2, [SPW_PROBE_REPLAY] = 12};

/* In durations of an iteration. */
#define ALLOWED_IN_ONE 1.5
#define ALLOWED_IN_ALL 2.5
#define ALLOWED_LATE   6 /* in addition, for copies to the host */

void spw_probe_policy_begin(struct spw_probe_policy *policy, double iteration_us)
{
    policy->allowed_us = ALLOWED_IN_ONE * iteration_us;
    policy->left_us = ALLOWED_IN_ALL * iteration_us;
    policy->late_left_us = ALLOWED_LATE * iteration_us;
    policy->spent_us = 0;
    policy->is_complete = false;
    policy->is_fresh = true;
    policy->iterations = 0;
    for (struct spw_probed *it = policy->device->probed; it; it = it->next)
        it->came = it->fits = it->fits_late = it->is_varied = false;
}

void spw_probe_policy_go_on(struct spw_probe_policy *policy)
{
    policy->is_fresh = true;
}

static bool may_try(const struct spw_probed *probed)
{
    return probed->class->changed && (probed->fits || probed->fits_late) && probed->verdict <= SPW_REPLAYABLE &&
           probed->tries < TRIES && probed->failures < FAILURES && (probed->fits || !probed->tries) &&
           !spw_function_is_condemned_locked(probed->class->function);
}

static bool is_wanted(const struct spw_probed *probed)
{
    return probed->came && probed->failures < FAILURES &&
           (probed->looks < LOOKS || (probed->is_strange && probed->looks < MORE_LOOKS) || may_try(probed));
}

/* True if observing everything twice would leave no time for trials: then what was observed once is tried. */
static bool is_short_of_time(const struct spw_probe_policy *policy)
{
    return (policy->left_us - policy->spent_us) * ALLOWED_IN_ONE < policy->allowed_us * (ALLOWED_IN_ALL / 2);
}

bool spw_probe_policy_wants_probes(const struct spw_probe_policy *policy)
{
    bool trials = false, looks = false;
    for (const struct spw_probed *probed = policy->device->probed; probed; probed = probed->next) {
        trials |= probed->came && may_try(probed);
        looks |= is_wanted(probed) && probed->looks < LOOKS;
    }
    return trials && (!looks || policy->iterations > LOOKS || is_short_of_time(policy));
}

bool spw_probe_policy_iteration(struct spw_probe_policy *policy)
{
    bool under_way = false, wanted = false;
    for (const struct spw_probed *probed = policy->device->probed; probed; probed = probed->next) {
        under_way |= probed->under_way;
        wanted |= is_wanted(probed);
    }
    policy->iterations++;
    policy->left_us -= policy->spent_us;
    policy->is_complete = !under_way && !policy->is_fresh &&
                          (!wanted || (policy->spent_us <= 0 && !policy->is_awaited) || policy->left_us <= 0);
    policy->spent_us = 0;
    policy->is_fresh = policy->is_awaited = false;
    return policy->is_complete;
}

/* True if no launch of the class fitted in a whole iteration: it is tried once with the help of host memory. */
static bool is_tried_late(const struct spw_probe_policy *policy, const struct spw_probed *probed,
                          const struct spw_probe_launch *launch)
{
    return !probed->fits && !probed->tries && probed->came && probed->first_iteration < policy->iterations &&
           launch->fits_late && launch->late_us <= policy->late_left_us;
}

static enum spw_probe_step step_of(const struct spw_probe_policy *policy, const struct spw_probed *probed,
                                   const struct spw_probe_launch *launch)
{
    if (probed->under_way || probed->failures >= FAILURES)
        return SPW_PROBE_NOTHING;
    const unsigned looks = launch->class->is_strange ? MORE_LOOKS : LOOKS;
    const bool is_seen =
        probed->looks >= looks || (is_short_of_time(policy) && probed->looks > probed->tries && may_try(probed));
    if (!is_seen)
        return SPW_PROBE_OBSERVE;
    const bool leaves_it_to_another = probed->tries && probed->is_varied && probed->tried_at == launch->geometry;
    const bool fits = launch->fits || is_tried_late(policy, probed, launch);
    return may_try(probed) && fits && !leaves_it_to_another ? SPW_PROBE_REPLAY : SPW_PROBE_NOTHING;
}

static void note(const struct spw_probe_policy *policy, struct spw_probed *probed, const struct spw_probe_launch *launch)
{
    probed->first_iteration = probed->came ? probed->first_iteration : policy->iterations;
    probed->came = true;
    probed->is_strange |= launch->class->is_strange;
    probed->fits_late |= launch->fits_late && launch->late_us <= policy->late_left_us;
    if (!launch->fits)
        return;
    probed->first_geometry = probed->fits ? probed->first_geometry : launch->geometry;
    probed->is_varied |= probed->first_geometry != launch->geometry;
    probed->fits = true;
}

static bool can_afford(struct spw_probe_policy *policy, enum spw_probe_step step, const struct spw_probe_launch *launch)
{
    const double cost = costs[step] * launch->us,
                 may_spend = policy->allowed_us < policy->left_us ? policy->allowed_us : policy->left_us;
    if (step == SPW_PROBE_REPLAY && !launch->fits) {
        policy->late_left_us -= launch->late_us;
        return true;
    }
    if (step == SPW_PROBE_NOTHING ||
        (policy->spent_us + cost > may_spend && (policy->spent_us > 0 || cost > policy->left_us)))
        return false;
    policy->spent_us += cost;
    return true;
}

enum spw_probe_step spw_probe_policy_next(struct spw_probe_policy *policy, const struct spw_probe_launch *launch)
{
    if (!launch->class || !launch->class->count || policy->is_complete)
        return SPW_PROBE_NOTHING;
    struct spw_probed *probed = spw_probed_of_locked(launch->class, policy->device);
    if (!probed)
        return SPW_PROBE_NOTHING;
    note(policy, probed, launch);
    const enum spw_probe_step step = step_of(policy, probed, launch);
    const bool waits = step == SPW_PROBE_REPLAY && !launch->has_memory;
    const bool is_later = launch->fits_late && !probed->fits && launch->late_us <= policy->late_left_us && may_try(probed);
    policy->is_awaited |= probed->under_way || waits || is_later;
    if (waits || !can_afford(policy, step, launch))
        return SPW_PROBE_NOTHING;
    probed->under_way = true;
    if (step == SPW_PROBE_REPLAY)
        probed->tried_at = launch->geometry;
    return step;
}

/* The only place where the verdict on a class changes: a refusal is final. */
static void judge(struct spw_probed *it, enum spw_replay_verdict verdict)
{
    SPW_ASSERT(it->verdict <= SPW_REPLAYABLE || verdict > SPW_REPLAYABLE, "a refusal is for good");
    it->verdict = verdict;
    SPW_ASSERT((it->tries == 0) == (verdict == SPW_REPLAY_NOT_TRIED), "the verdict says whether it was tried");
}

void spw_probe_class_observed(struct spw_probed *it)
{
    it->is_strange = false; /* or the next one sets it again */
    it->under_way = false;
    it->looks++;
}

void spw_probe_class_widened(struct spw_probed *it)
{
    if (it->verdict != SPW_REPLAYABLE)
        return;
    it->tries = 0;
    judge(it, SPW_REPLAY_NOT_TRIED);
}

void spw_probe_class_replayed(struct spw_probed *it, enum spw_replay_verdict verdict)
{
    it->under_way = false;
    it->tries++;
    if (it->verdict <= SPW_REPLAYABLE)
        judge(it, verdict);
}

void spw_probe_class_missed(struct spw_probed *it)
{
    it->under_way = false;
    it->failures++;
}

enum spw_replay_verdict spw_probe_verdict_locked(const struct spw_launch_class *class, const struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_probed *it = class ? spw_probed_find(class, d) : NULL;
    if (!it)
        return SPW_REPLAY_NOT_TRIED;
    if (spw_function_is_condemned_locked(class->function))
        return SPW_REPLAY_MISMATCH;
    if (it->verdict == SPW_REPLAY_NOT_TRIED && class->changed && it->came && !it->fits && !it->fits_late)
        return SPW_REPLAY_TOO_LARGE;
    return it->verdict;
}
