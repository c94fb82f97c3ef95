/* sim.c - the discrete-event simulation: which operation runs when, in virtual time.
 *
 * The device never runs ahead of the host clock except where the host waits for it; then the host clock follows. So an
 * operation is always submitted at or after the time that the device has reached, and the same calls give the same times.
 * Nor does it run ahead of other devices: a kernel that waits for theirs (meeting.h) holds it at the earliest time at which
 * they could come, and each tells the others how far it is. It stays behind the host clock there, and what the host wants to
 * know of later times it waits for, in real time. */
#include "sim.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "chronicle.h"
#include "driver.h"
#include "exec.h"
#include "meeting.h"
#include "memory.h"
#include "order.h"
#include "stats.h"
#include "twins.h"
#include "variables.h"

static struct {
    double host_ns, device_ns;
    double quiet_until_ns; /* no lane changes before, as far as known: programs ask more often than things happen */
    uint64_t serial, kernels;
    double asked_ns;          /* when the last query was made that nothing had changed for */
    unsigned asked;           /* how many were made one after the other, with no other call between */
    struct lane instant;      /* operations that take no time */
    struct lane host;         /* host functions */
    struct op *blocked;       /* waits for a value that isn't there */
    bool serving;             /* a host function is running on the service thread */
    bool held_up;             /* and waits for something itself, as it seems: other streams go on */
    unsigned waiting, asking; /* threads that wait for the device, or for the answer to a query */
} sim;

static pthread_cond_t served = PTHREAD_COND_INITIALIZER;

static double later(double a, double b)
{
    return a > b ? a : b;
}

static void lane_init(struct lane *lane, struct lane *partner)
{
    *lane = (struct lane){.partner = partner, .rate = 1};
    lane->tail = &lane->head;
}

void sim_init(void)
{
    lane_init(&sim.instant, NULL);
    lane_init(&sim.host, NULL);
    for (int d = 0; d < settings.devices; d++) {
        struct lane *lanes = devices[d].lanes;
        lane_init(&lanes[LANE_COMPUTE], NULL);
        lane_init(&lanes[LANE_LINK], NULL);
        lane_init(&lanes[LANE_H2D], &lanes[LANE_D2H]);
        lane_init(&lanes[LANE_D2H], &lanes[LANE_H2D]);
        lanes[LANE_H2D].slower = &settings.slower_h2d;
        lanes[LANE_D2H].slower = &settings.slower_d2h;
    }
}

double sim_host_ns(void)
{
    return sim.host_ns;
}

double sim_end_ns(void)
{
    return later(sim.host_ns, sim.device_ns);
}

void sim_spend(double ns)
{
    sim.host_ns += ns;
}

double sim_bytes_ns(double bytes, double gbps)
{
    return bytes * settings.scale_bytes / gbps;
}

/* ---- lanes ---- */

static void lane_add(struct lane *lane, struct op *op)
{
    sim.quiet_until_ns = 0;
    struct op **at = lane->tail;
    struct op *last = lane->head ? (struct op *)((char *)lane->tail - offsetof(struct op, next)) : NULL;
    if (last && (last->ready_ns > op->ready_ns || (last->ready_ns == op->ready_ns && last->serial > op->serial))) {
        at = &lane->head;
        while ((*at)->ready_ns < op->ready_ns || ((*at)->ready_ns == op->ready_ns && (*at)->serial < op->serial))
            at = &(*at)->next;
    }
    op->state = OP_READY;
    op->next = *at;
    *at = op;
    if (!op->next)
        lane->tail = &op->next;
}

static struct op *lane_take(struct lane *lane)
{
    struct op *op = lane->head;
    lane->head = op->next;
    if (!lane->head)
        lane->tail = &lane->head;
    op->next = NULL;
    return op;
}

/* Both directions of a link at once are slower than one alone; what is left of each copy goes on at the new rate. */
static void lane_change_rate(struct lane *lane, double now)
{
    struct op *op = lane->running;
    if (!op)
        return;
    sim.quiet_until_ns = 0;
    op->work_ns -= (now - lane->since_ns) * lane->rate;
    if (op->work_ns < 0)
        op->work_ns = 0;
    lane->since_ns = now;
    lane->rate = lane->partner && lane->partner->running ? settings.profile.duplex : 1;
    op->end_ns = now + op->work_ns / lane->rate;
}

/* What SIMGPU_SLOWER_LINK says of an operation that begins now. */
static double times_as_long(const struct lane *lane, double now)
{
    const struct slower_link *link = lane->slower;
    return link && link->times > 0 && now >= link->from_ns ? link->times : 1;
}

static void lane_start(struct lane *lane, double now)
{
    struct op *op = lane_take(lane);
    op->work_ns *= times_as_long(lane, now);
    op->state = OP_RUNNING;
    op->ready_ns = now; /* from here on: when it started */
    lane->running = op;
    lane->since_ns = now;
    lane->rate = 1;
    op->end_ns = now + op->work_ns;
    if (lane->partner && lane->partner->running) {
        lane_change_rate(lane, now);
        lane_change_rate(lane->partner, now);
    }
}

static double lane_due(const struct lane *lane)
{
    if (lane->running)
        return lane->running->end_ns;
    if (lane->head)
        return lane->head->ready_ns > sim.device_ns ? lane->head->ready_ns : sim.device_ns;
    return INFINITY;
}

/* The lane whose next change comes first; ends come before starts. */
static struct lane *lane_next(double *ret_due)
{
    struct lane *best = NULL;
    double due = INFINITY;
    for (int i = -2; i < settings.devices * LANE_COUNT; i++) {
        struct lane *lane = i == -2 ? &sim.instant : i == -1 ? &sim.host : &devices[i / LANE_COUNT].lanes[i % LANE_COUNT];
        double d = i == -1 && sim.held_up ? INFINITY : lane_due(lane);
        if (d < due || (d == due && best && lane->running && !best->running)) {
            best = lane;
            due = d;
        }
    }
    *ret_due = due;
    return best;
}

/* ---- completion ---- */

static void op_ready(struct op *op, double now)
{
    op->ready_ns = now > op->ready_ns ? now : op->ready_ns;
    op->could_start_ns = op->ready_ns;
    lane_add(op->lane, op);
}

/* `earlier` is complete, on which `op` depends. */
static void op_go_on(struct op *op, const struct op *earlier, double now)
{
    if (op->brought_in && earlier->stream_id == op->stream_id)
        op->ready_ns = now > op->ready_ns ? now : op->ready_ns; /* its stream could go on */
    if (--op->unmet > 0)
        return;
    if (op->brought_in && now > op->ready_ns) {
        stats.late++;
        stats.late_ns += now - op->ready_ns;
    }
    op->behind = earlier->serial;
    op_ready(op, now);
}

static void op_complete(struct op *op, double now)
{
    op->state = OP_DONE;
    op->end_ns = now;
    chronicle_operation(op);
    if (op->kind == OP_HOST_FUNCTION || op->kind == OP_CALLBACK)
        host_learn(&op->when);
    for (unsigned i = 0; i < op->waiter_count; i++)
        op_go_on(op->waiters[i], op, now);
    op->waiter_count = 0;
    op_release_payload(op);
    op_drop(op);
}

/* Waits for values look again after anything that may have written one. */
static void wake_blocked(double now)
{
    for (struct op **at = &sim.blocked; *at;) {
        struct op *op = *at;
        if (op->context->error || exec_value_is_there(&op->u.value)) {
            *at = op->next;
            op->next = NULL;
            op_complete(op, now);
            at = &sim.blocked;
        } else {
            at = &op->next;
        }
    }
}

static struct {
    pthread_t thread;
    bool started;
    struct op *op;
} service;
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER;

extern pthread_mutex_t driver_mutex;

static void *serve(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&driver_mutex);
    for (;;) {
        while (!service.op)
            pthread_cond_wait(&wanted, &driver_mutex);
        struct op *op = service.op;
        CUresult status = op->context->error;
        host_learn(&op->when); /* what it comes after is complete, and it may tell other threads before it returns */
        pthread_mutex_unlock(&driver_mutex);
        host_function_begin();
        if (op->kind == OP_CALLBACK)
            op->u.host.callback(op->u.host.stream, status, op->u.host.data);
        else if (!status)
            op->u.host.function(op->u.host.data);
        host_function_end();
        pthread_mutex_lock(&driver_mutex);
        service.op = NULL;
        sim.serving = sim.held_up = false;
        sim.host.running = NULL;
        sim.quiet_until_ns = 0;
        sim.device_ns = later(sim.device_ns, op->end_ns);
        stats.host_functions++;
        op_complete(op, sim.device_ns);
        pthread_cond_broadcast(&served);
    }
    return NULL;
}

/* Hands the host function at the head of time to the service thread. */
static void serve_begin(struct op *op)
{
    if (!service.started) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        service.started = pthread_create(&service.thread, &attributes, serve, NULL) == 0;
        pthread_attr_destroy(&attributes);
    }
    if (!service.started) {
        fprintf(stderr, "simgpu: no thread for host functions could be started\n");
        abort();
    }
    service.op = op;
    sim.serving = true;
    pthread_cond_signal(&wanted);
}

static void lane_finish(struct lane *lane, double now)
{
    struct op *op = lane->running;
    lane->running = NULL;
    lane->busy_ns += now - op->ready_ns;
    if (lane->partner)
        lane_change_rate(lane->partner, now);
    if (op->kind == OP_WAIT_VALUE && !op->context->error && !exec_value_is_there(&op->u.value)) {
        op->next = sim.blocked;
        sim.blocked = op;
        return;
    }
    if (lane == &sim.instant && meeting_is(op)) {
        meeting_begin(op);
        return;
    }
    if (op->kind == OP_KERNEL) {
        op->u.run.launch.serial = ++sim.kernels;
        op->u.run.launch.order = settings.vary_blocks ? sim.kernels : 0;
    }
    exec_run(op);
    op_complete(op, now);
    if (sim.blocked)
        wake_blocked(now);
}

/* What has met the others takes its turn on the link. */
static void end_meetings(void)
{
    for (struct op *op; (op = meeting_take());) {
        op->lane = &op->context->device->lanes[LANE_LINK];
        lane_add(op->lane, op);
    }
}

/* Nothing changes on the device before, whatever comes from others. */
static double next_change_ns(double due)
{
    const double horizon_ns = meeting_horizon_ns();
    return due < horizon_ns ? due : horizon_ns;
}

/* Others that wait for kernels of this device go on as far as none can come to them from here. While the host waits, what it
 * will ask for comes after what happens first. */
static void tell_others(double due)
{
    const double host_ns = sim.waiting == 0 ? sim.host_ns : sim_end_ns();
    const double ns = next_change_ns(due);
    if (ns > host_ns && (sim.waiting == 0 || ns == INFINITY || sim.blocked || sim.held_up))
        meeting_tell(host_ns, sim.device_ns); /* what comes next is the host's */
    else
        meeting_tell(ns, ns);
}

enum step { STEP_NOTHING, STEP_DONE, STEP_HOST_FUNCTION };

/* One change at or before `limit`, and not later than something may still come from other devices. A host function is left
 * where it is: STEP_HOST_FUNCTION. */
static enum step step(double limit)
{
    double due = sim.quiet_until_ns;
    end_meetings();
    if (limit > meeting_limit_ns())
        limit = meeting_limit_ns();
    if (limit < sim.quiet_until_ns) {
        tell_others(sim.quiet_until_ns);
        return STEP_NOTHING;
    }
    struct lane *lane = lane_next(&due);
    tell_others(due);
    if (!lane || due > limit) {
        sim.quiet_until_ns = due;
        return STEP_NOTHING;
    }
    sim.quiet_until_ns = 0;
    if (lane->running && lane == &sim.host)
        return STEP_HOST_FUNCTION;
    sim.device_ns = due;
    if (lane->running)
        lane_finish(lane, due);
    else
        lane_start(lane, due);
    return STEP_DONE;
}

void sim_advance(void)
{
    if (sim.blocked)
        wake_blocked(later(sim.device_ns, sim.host_ns));
    while (step(sim.host_ns) == STEP_DONE) {
    }
}

/* Runs the host function that stands in the way. One that takes longer than so long (real time) waits for something itself:
 * it is passed by then. */
static void pass_host_function(unsigned milliseconds)
{
    exec_close();
    if (!sim.serving)
        serve_begin(sim.host.running);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += milliseconds * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    while (sim.serving && !sim.held_up)
        sim.held_up = pthread_cond_timedwait(&served, &driver_mutex, &until) != 0 && sim.serving;
}

/* One change, and the host functions before it. False: there is none. */
static bool step_past_host_functions(double limit, unsigned milliseconds)
{
    const enum step s = step(limit);
    if (s == STEP_HOST_FUNCTION)
        pass_host_function(milliseconds);
    return s != STEP_NOTHING;
}

static void nap(void)
{
    driver_unlock();
    usleep(50);
    driver_lock();
}

/* Nothing is due by now and yet something is awaited: only the host can still write the value that a stream waits for, or
 * kernels of other devices are still to come. */
static void wait_for_the_host(unsigned *naps)
{
    if (sim.blocked && meeting_limit_ns() == INFINITY && ++*naps == 100000)
        fprintf(stderr,
                "simgpu: a stream has been waiting for a value for seconds, and nothing on the device will write it\n");
    nap();
    if (sim.blocked)
        wake_blocked(later(sim.device_ns, sim.host_ns));
}

void sim_wait(struct op *op)
{
    enum { PATIENCE_MS = 100 };
    unsigned naps = 0;
    if (!op)
        return;
    op_keep(op);
    sim.waiting++;
    while (op->state != OP_DONE)
        if (!step_past_host_functions(INFINITY, PATIENCE_MS))
            wait_for_the_host(&naps);
    sim.waiting--;
    sim.host_ns = later(sim.host_ns, op->end_ns);
    host_learn(&op->when);
    op_drop(op);
}

/* Nothing has changed. A host that has asked often enough, and done nothing else, goes on at once to the last query before
 * something does: those between would have had the same answer, and the clock is as if they had been made. */
static void asked_in_vain(void)
{
    const double call_ns = settings.profile.call_ns;
    sim.asked = sim.host_ns == sim.asked_ns + call_ns ? sim.asked + 1 : 1;
    if (settings.queries && sim.asked >= settings.queries && call_ns > 0 && sim.quiet_until_ns < INFINITY && !meeting_any())
        while (sim.host_ns + call_ns < sim.quiet_until_ns)
            sim.host_ns += call_ns;
    sim.asked_ns = sim.host_ns;
}

bool sim_query(struct op *op)
{
    enum { PATIENCE_MS = 50 };
    const double now_ns = sim.host_ns;
    op_keep(op);
    sim.asking++;
    for (;; nap()) {
        while (step_past_host_functions(now_ns, PATIENCE_MS)) {
            /* all that is due, whatever is asked about: a program may poll for what a host function leaves behind */
        }
        if ((op && op->state == OP_DONE) || next_change_ns(sim.quiet_until_ns) > now_ns)
            break; /* whatever other devices still do, the answer is this one */
    }
    sim.asking--;
    bool done = !op || op->state == OP_DONE;
    if (op && done)
        host_learn(&op->when);
    if (!done)
        asked_in_vain();
    op_drop(op);
    return done;
}

/* ---- while no call is made ---- */

static void go_on_alone(void)
{
    enum { PATIENCE_MS = 50 };
    sim.waiting++;
    while (step_past_host_functions(INFINITY, PATIENCE_MS)) {
    }
    sim.waiting--;
    sim.host_ns = later(sim.host_ns, sim.device_ns);
}

/* A program may wait in its own ways for what a host function does at the end of its work, and call nothing meanwhile. */
static void *watch(void *unused)
{
    (void)unused;
    for (double seen = -1;;) {
        usleep(settings.idle_ms * 1000);
        driver_lock();
        if (sim.host_ns == seen && sim.waiting + sim.asking == 0)
            go_on_alone();
        seen = sim.host_ns;
        driver_unlock();
    }
    return NULL;
}

int sim_watch(void)
{
    pthread_t thread;
    if (settings.idle_ms == 0)
        return 0;
    if (pthread_create(&thread, NULL, watch, NULL) != 0)
        return -EAGAIN;
    pthread_detach(thread);
    return 0;
}

/* ---- submission ---- */

static double kernel_ns(const struct op *op)
{
    return op->work_ns > settings.profile.kernel_min_ns ? op->work_ns : settings.profile.kernel_min_ns;
}

static struct lane *lane_of(const struct op *op)
{
    struct lane *lanes = op->context->device->lanes;
    switch (op->kind) {
    case OP_KERNEL:
        return meeting_is(op) ? &sim.instant : &lanes[LANE_COMPUTE];
    case OP_SET:
        return &lanes[LANE_COMPUTE];
    case OP_COPY:
        return op->lane;
    case OP_HOST_FUNCTION:
    case OP_CALLBACK:
        return &sim.host;
    default:
        return &sim.instant;
    }
}

static void count(const struct op *op)
{
    if (op->kind == OP_KERNEL)
        *(twin_is(op->u.run.kernel) ? &stats.library_launches : &stats.launches) += 1;
    else if (op->kind == OP_SET)
        stats.sets++;
    else if (op->kind == OP_COPY) {
        stats.copies[op->u.copy.direction].count++;
        stats.copies[op->u.copy.direction].bytes += op->u.copy.width * op->u.copy.height * op->u.copy.depth;
    }
}

void op_issue(struct op *op, struct timeline *timeline, unsigned long long stream_id)
{
    op->serial = ++sim.serial;
    op->when = timeline_next(timeline);
    op->stream_id = stream_id;
    op->lane = lane_of(op);
    if (op->kind == OP_KERNEL)
        op->work_ns = meeting_is(op) ? 0 : kernel_ns(op);
    if (op->lane == &sim.host)
        op->work_ns = settings.profile.host_function_ns;
    op->ready_ns = op->submitted_ns = op->could_start_ns = sim.host_ns;
    count(op);
    if (op->kind == OP_COPY)
        op->sabotaged = settings_sabotage(SABOTAGE_SKIP_COPY);
    if (op->kind == OP_KERNEL)
        op->sabotaged = settings_sabotage(SABOTAGE_SKIP_KERNEL);
    if (settings.order != ORDER_OFF)
        order_check(op);
    if (op->unmet == 0)
        lane_add(op->lane, op);
}
