/* plan_thread.c - asks the planner for a plan of a course, at once or on a thread, and ties its answer to the course's
 * tensors. */
#include "plan_thread.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bounds/bounds.h"
#include "planners/planners.h"
#include "lock.h"
#include "plan/own.h"
#include "recorded_op.h"
#include "search/compose.h"
#include "settings.h"
#include "versions.h"

_Static_assert(SPW_COURSE_MAKERS == SPW_RECORDED_OP_DEPTH, "what a plan makes again is followed as far");

/* The share of the budget that a plan leaves free if it takes no more than FREE times the operations alone all the same. */
#define AMPLE 0.12
#define FREE  1.005

/* Limit for a first plan: about as long as one iteration of so many operations. */
#define QUICK_S 0.001

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A clock that runs out when the thread is no longer wanted. */
static double now_or_never_s(void *cancelled)
{
    const bool *c = cancelled;
    return c && __atomic_load_n(c, __ATOMIC_RELAXED) ? INFINITY : now_s();
}

void spw_course_plan_destroy(struct spw_course_plan *plan)
{
    if (!plan)
        return;
    spw_actions_finish(&plan->actions);
    spw_course_marks_finish(&plan->marks);
    free(plan->due);
    free(plan->choices.list);
    free(plan);
}

struct spw_course_plan *spw_course_plan_none(const struct spw_course *course)
{
    struct spw_course_plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return NULL;
    plan->actions.op_count = course->op_count;
    plan->actions.first = calloc((size_t)course->op_count + 2, sizeof(*plan->actions.first));
    plan->actions.start = calloc((size_t)course->tensor_count + 1, 1);
    plan->due = calloc((size_t)course->op_count + 1, 1);
    plan->marks.ghosts = calloc((size_t)course->tensor_count + 1, 1);
    plan->marks.recorded = calloc((size_t)course->op_count + 1, 1);
    plan->marks.believed = calloc((size_t)course->tensor_count + 1, 1);
    plan->predicted_us = INFINITY;
    if (plan->actions.first && plan->actions.start && plan->due && plan->marks.ghosts && plan->marks.recorded &&
        plan->marks.believed)
        return plan;
    spw_course_plan_destroy(plan);
    return NULL;
}

static int take(struct spw_course_plan *to, const struct spw_course *course, const struct spw_graph *graph,
                const struct spw_plan *plan, uint64_t host_bytes, const uint32_t *tensor_of)
{
    struct spw_actions *a = &to->actions;
    int r = spw_actions_of(graph, &plan->schedule, host_bytes, a);
    if (r == 0)
        r = spw_course_actions(course, graph, tensor_of, a, &to->marks);
    to->due = r == 0 ? calloc((size_t)course->op_count + 1, 1) : NULL;
    if (!to->due)
        return r < 0 ? r : -ENOMEM;
    for (uint32_t o = 0; o <= course->op_count; o++)
        to->due[o] = a->first[o + 1] > a->first[o];
    to->compute_us = graph->compute_us;
    to->predicted_us = plan->timing.time_us;
    to->peak_bytes = plan->timing.peak_bytes;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->list[i].kind == SPW_STEP_D2H)
            to->out_bytes += course->tensors[a->list[i].id].bytes;
        else if (a->list[i].kind == SPW_STEP_H2D)
            to->in_bytes += course->tensors[a->list[i].id].bytes;
    to->host_bytes = plan->timing.host_peak_bytes;
    to->replay_count = (uint32_t)plan->timing.replays;
    to->replayed_us = plan->timing.replayed_us;
    for (uint32_t o = 0; o < course->op_count; o++)
        to->recorded_count += to->marks.recorded[o];
    return 0;
}

/* ---- one plan ---- */

/* For an operation without a known duration: the average of the others. */
static double usual_us(const struct spw_course *course)
{
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < course->op_count; i++)
        if (course->ops[i].us >= 0) {
            sum += course->ops[i].us;
            n++;
        }
    return n ? sum / n : 1;
}

/* Prefers a plan that costs no time with even less memory: then nothing comes in at the last moment. */
static int make_within(struct spw_plan_request *request, double reserve, struct spw_plan *ret_plan)
{
    const struct spw_planner *planner = spw_planner_find("auto");
    const uint64_t bytes = request->device_bytes, fewer = bytes - (uint64_t)((double)bytes * AMPLE);
    const double limit_s = request->time_limit_s;
    if (reserve < AMPLE && request->graph->peak_bytes > bytes && fewer > request->graph->least_bytes) {
        request->device_bytes = fewer;
        request->time_limit_s = QUICK_S;
        int r = spw_plan_make(planner, request, ret_plan);
        if (r == 0 && ret_plan->timing.time_us <= FREE * request->graph->compute_us)
            return 0;
        if (r == 0)
            spw_plan_finish(ret_plan);
        else if (r != -ENOSPC)
            return r;
    }
    request->device_bytes = bytes;
    request->time_limit_s = limit_s;
    return spw_plan_make(planner, request, ret_plan);
}

/* Returns the plan's schedule with the copies out that its drops need besides: `late` or as early as possible. *ret_timing
 * is its timing. Returns 0, also if nothing has to be added; -ENOSPC if the host has no room for it; -ENOMEM. */
static int keep(const struct spw_course *course, const uint32_t *tensor_of, const struct spw_plan_request *request,
                bool late, const struct spw_plan *plan, struct spw_schedule *ret_schedule, struct spw_timing *ret_timing)
{
    struct spw_machine machine = request->machine;
    uint32_t count;
    machine.host_bytes = request->host_bytes;
    int r = spw_schedule_init(ret_schedule, request->graph);
    if (r == 0)
        r = spw_schedule_copy(ret_schedule, &plan->schedule, request->graph);
    if (r == 0)
        r = spw_course_keep(course, request->graph, tensor_of, late, ret_schedule, &count);
    if (r == 0)
        r = spw_timeline(request->graph, ret_schedule, &machine, request->device_bytes, NULL, ret_timing, NULL);
    if (r != 0)
        spw_schedule_finish(ret_schedule);
    return r;
}

/* Adds these copies, in the order that takes less time. If that is impossible the engine copies as it goes, and the plan
 * stays. */
static void keep_bytes(const struct spw_course *course, const uint32_t *tensor_of, const struct spw_plan_request *request,
                       struct spw_plan *plan)
{
    struct spw_schedule best, other;
    struct spw_timing best_timing, other_timing;
    if (keep(course, tensor_of, request, false, plan, &best, &best_timing) != 0)
        return;
    if (keep(course, tensor_of, request, true, plan, &other, &other_timing) == 0) {
        const bool is_better = other_timing.time_us < best_timing.time_us;
        spw_schedule_finish(is_better ? &best : &other);
        best = is_better ? other : best;
        best_timing = is_better ? other_timing : best_timing;
    }
    spw_schedule_finish(&plan->schedule);
    plan->schedule = best;
    plan->timing = best_timing;
}

static struct spw_machine machine_of(const struct spw_plan_terms *terms)
{
    static const uint64_t in_one_piece = (uint64_t)1 << 60;
    return (struct spw_machine){.duplex = terms->duplex, .chunk_bytes = in_one_piece, .chunk_us = terms->move_us};
}

static int make(const struct spw_course *course, const struct spw_graph *graph, const uint32_t *tensor_of,
                const struct spw_plan_terms *terms, bool quick, const bool *cancelled, struct spw_course_plan *to)
{
    struct spw_plan plan;
    to->choices = (struct spw_plan_choices){
        .list = calloc(1, spw_choice_count(graph)), .count = spw_choice_count(graph), .of = spw_choice_digest(graph)};
    if (!to->choices.list)
        return -ENOMEM;
    const struct spw_plan_choices *begin_with = terms->begin_with;
    struct spw_plan_request request = {.graph = graph,
                                       .device_bytes = spw_own_to_plan_with(graph, terms->device_bytes, terms->reserve),
                                       .host_bytes = terms->host_bytes,
                                       .may_copy = true,
                                       .may_replay = terms->may_replay,
                                       .machine = machine_of(terms),
                                       .seed = 1,
                                       .time_limit_s = quick ? QUICK_S : 0,
                                       .bound_limit_s = quick ? QUICK_S : 0,
                                       .now_s = cancelled ? now_or_never_s : NULL,
                                       .now_context = (void *)cancelled,
                                       .ret_choices = to->choices.list};
    if (begin_with && begin_with->list && begin_with->of == to->choices.of && begin_with->count == to->choices.count)
        request.begin_with = begin_with->list;
    if (terms->only_begin_with && !request.begin_with)
        return -ENOSPC;
    request.only_begin_with = terms->only_begin_with;
    int r = make_within(&request, terms->reserve, &plan);
    if (r == -ENOSPC &&
        request.device_bytes < terms->device_bytes) { /* a plan that leaves nothing free is better than none */
        request.device_bytes = terms->device_bytes;
        r = make_within(&request, 0, &plan);
    }
    if (r < 0)
        return r;
    keep_bytes(course, tensor_of, &request, &plan);
    r = take(to, course, graph, &plan, terms->host_bytes, tensor_of);
    spw_plan_finish(&plan);
    return r;
}

/* Finds the time that no way of carrying the course out is below, with all memory there is, whatever a plan leaves free. */
static int find_bound(const struct spw_course *course, const struct spw_course_terms *of_graph, uint64_t device_bytes,
                      double duplex, bool quick, const bool *cancelled, double *ret_us)
{
    const struct spw_bounds_terms of_bound = {duplex, quick ? QUICK_S : 0, cancelled ? now_or_never_s : NULL,
                                              (void *)cancelled};
    struct spw_course_terms terms = *of_graph;
    struct spw_graph_problem problem;
    struct spw_graph *graph;
    uint32_t *tensor_of;
    struct spw_bounds bounds;
    terms.holds_nothing = true;
    int r = spw_course_graph(course, &terms, &graph, &tensor_of, &problem);
    if (r < 0)
        return r;
    r = spw_bounds_within(graph, device_bytes, true, terms.may_replay, &of_bound, &bounds);
    if (r == 0)
        *ret_us = bounds.best_us;
    spw_graph_destroy(graph);
    free(tensor_of);
    return r;
}

static struct spw_course_terms graph_terms(const struct spw_course *course, const struct spw_plan_terms *terms)
{
    return (struct spw_course_terms){.d2h_bytes_per_us = terms->d2h_bytes_per_us,
                                     .h2d_bytes_per_us = terms->h2d_bytes_per_us,
                                     .granule_bytes = terms->granule_bytes,
                                     .unknown_us = usual_us(course),
                                     .working_bytes = terms->device_bytes / 4 * 3,
                                     .may_replay = terms->may_replay};
}

static int plan_as(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick, const bool *cancelled,
                   struct spw_course_plan **ret_plan)
{
    struct spw_graph_problem problem;
    struct spw_graph *graph;
    uint32_t *tensor_of;
    const double began_s = now_s();
    const struct spw_course_terms of_graph = graph_terms(course, terms);
    int r = spw_course_graph(course, &of_graph, &graph, &tensor_of, &problem);
    if (r < 0)
        return r;
    struct spw_course_plan *plan = calloc(1, sizeof(*plan));
    r = plan ? make(course, graph, tensor_of, terms, quick, cancelled, plan) : -ENOMEM;
    spw_graph_destroy(graph);
    free(tensor_of);
    if (r == 0)
        r = find_bound(course, &of_graph, terms->device_bytes, terms->duplex, quick, cancelled, &plan->lower_bound_us);
    if (r == 0 && cancelled && __atomic_load_n(cancelled, __ATOMIC_RELAXED))
        r = -ECANCELED;
    if (r < 0) {
        spw_course_plan_destroy(plan);
        return r;
    }
    plan->is_quick = quick;
    plan->reserve = terms->reserve;
    plan->d2h_bytes_per_us = terms->d2h_bytes_per_us;
    plan->h2d_bytes_per_us = terms->h2d_bytes_per_us;
    plan->planning_s = now_s() - began_s;
    *ret_plan = plan;
    return 0;
}

static bool knows_replays(const struct spw_course *course)
{
    for (uint32_t i = 0; i < course->op_count; i++)
        if (course->ops[i].replayable)
            return true;
    return false;
}

/* Keeps the faster of two plans; *plan NULL: there is none yet. */
static int consider(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick, const bool *cancelled,
                    struct spw_course_plan **plan)
{
    struct spw_course_plan *other;
    int r = plan_as(course, terms, quick, cancelled, &other);
    if (r < 0)
        return r;
    const bool is_better = !*plan || other->predicted_us < (*plan)->predicted_us;
    const double planning_s = (*plan ? (*plan)->planning_s : 0) + other->planning_s;
    spw_course_plan_destroy(is_better ? *plan : other);
    *plan = is_better ? other : *plan;
    (*plan)->planning_s = planning_s;
    return 0;
}

static bool is_free(const struct spw_course_plan *plan)
{
    return plan->predicted_us <= FREE * plan->compute_us;
}

/* Copies alone come first if they might cost next to nothing, since replays gain nothing then. If they cannot, and are
 * known to take longer than a plan with replays, they are not searched for. */
static int plan_with_replays(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick,
                             const bool *cancelled, struct spw_course_plan **plan)
{
    struct spw_plan_terms copies = *terms;
    double copies_us = 0, free_us = 0;
    copies.may_replay = false;
    const struct spw_course_terms of_graph = graph_terms(course, &copies);
    for (uint32_t i = 0; i < course->op_count; i++)
        free_us += FREE * (course->ops[i].us >= 0 ? course->ops[i].us : of_graph.unknown_us);
    int r = find_bound(course, &of_graph, terms->device_bytes, terms->duplex, quick, cancelled, &copies_us);
    if (r == -ECANCELED || r == -ENOMEM)
        return r;
    const bool copies_first = r < 0 || copies_us <= free_us;
    r = consider(course, copies_first ? &copies : terms, quick, cancelled, plan);
    if (r < 0 && r != -ENOSPC)
        return r;
    if (r == 0 && (copies_first ? is_free(*plan) : (*plan)->predicted_us <= copies_us))
        return 0;
    r = consider(course, copies_first ? terms : &copies, quick, cancelled, plan);
    return *plan && r != -ECANCELED ? 0 : r;
}

int spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick, const bool *cancelled,
                    struct spw_course_plan **ret_plan)
{
    struct spw_plan_terms copies = *terms;
    struct spw_course_plan *plan = NULL;
    copies.may_replay = false;
    int r = terms->may_replay && knows_replays(course) ? plan_with_replays(course, terms, quick, cancelled, &plan)
                                                       : consider(course, &copies, quick, cancelled, &plan);
    if (r < 0)
        spw_course_plan_destroy(plan);
    else
        *ret_plan = plan;
    return r;
}

/* ---- on a thread ---- */

struct spw_plan_thread {
    struct spw_course *course; /* a copy */
    struct spw_plan_terms terms;
    struct spw_plan_choices begin_with; /* a copy */
    struct spw_course_plan *plan;
    bool cancelled, done; /* atomic */
    pthread_t thread;
    struct spw_plan_thread *next; /* the one abandoned before it */
};

static struct spw_plan_thread *abandoned; /* told to stop, newest first; engine lock */

/* Has the thread use only processor time that would be idle otherwise, if the system can do that. */
static void be_modest(void)
{
    const struct sched_param none = {0};
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
    (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
}

static void *run(void *context)
{
    struct spw_plan_thread *p = context;
    if (spw_settings_get()->plan != SPW_PLAN_WAIT) /* the program waits meanwhile */
        be_modest();
    if (spw_plan_course(p->course, &p->terms, false, &p->cancelled, &p->plan) < 0)
        p->plan = NULL;
    __atomic_store_n(&p->done, true, __ATOMIC_RELEASE);
    return NULL;
}

/* Creates the thread with all signals blocked: the program's signals are not for it. */
static int create_deaf(struct spw_plan_thread *p)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(&p->thread, NULL, run, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r ? -EAGAIN : 0;
}

static void destroy(struct spw_plan_thread *p)
{
    spw_course_destroy(p->course);
    free(p->begin_with.list);
    free(p);
}

/* Copies the choices, since their plan may be destroyed meanwhile. */
static bool copy_choices(struct spw_plan_thread *p, const struct spw_plan_choices *choices)
{
    p->terms.begin_with = NULL;
    if (!choices || !choices->list)
        return true;
    p->begin_with = *choices;
    p->begin_with.list = malloc(choices->count);
    if (!p->begin_with.list)
        return false;
    memcpy(p->begin_with.list, choices->list, choices->count);
    p->terms.begin_with = &p->begin_with;
    return true;
}

int spw_plan_thread_start(const struct spw_course *course, const struct spw_plan_terms *terms,
                          struct spw_plan_thread **ret_planning)
{
    spw_plan_thread_reap_locked(false);
    struct spw_plan_thread *p = calloc(1, sizeof(*p));
    if (!p)
        return -EAGAIN;
    p->terms = *terms;
    const bool has_all = spw_course_copy(course, &p->course) == 0 && copy_choices(p, terms->begin_with);
    const int r = has_all ? create_deaf(p) : -EAGAIN;
    if (r == 0)
        *ret_planning = p;
    else
        destroy(p);
    return r;
}

bool spw_plan_thread_is_done(const struct spw_plan_thread *p)
{
    return __atomic_load_n(&p->done, __ATOMIC_ACQUIRE);
}

struct spw_course_plan *spw_plan_thread_finish(struct spw_plan_thread *p, bool cancel)
{
    if (cancel)
        __atomic_store_n(&p->cancelled, true, __ATOMIC_RELAXED);
    pthread_join(p->thread, NULL);
    struct spw_course_plan *plan = p->plan;
    destroy(p);
    return plan;
}

void spw_plan_thread_abandon_locked(struct spw_plan_thread *p)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    __atomic_store_n(&p->cancelled, true, __ATOMIC_RELAXED);
    p->next = abandoned;
    abandoned = p;
}

void spw_plan_thread_reap_locked(bool wait)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (struct spw_plan_thread **at = &abandoned; *at;) {
        struct spw_plan_thread *p = *at;
        if (!wait && !spw_plan_thread_is_done(p)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        spw_course_plan_destroy(spw_plan_thread_finish(p, true));
    }
}

void spw_plan_thread_forget_abandoned(void)
{
    abandoned = NULL;
}
