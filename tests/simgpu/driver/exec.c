/* exec.c - runs kernels and moves bytes in the real mappings, where a bad access is a real fault. */
#include "exec.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "driver.h"
#include "graph_memory.h"
#include "memory.h"
#include "stats.h"
#include "touched.h"
#include "variables.h"

static struct sigaction previous_segv, previous_bus;
static bool installed;
static _Thread_local sigjmp_buf *landing; /* where a fault of this thread goes; NULL: it is none of ours */
static _Thread_local volatile uint64_t fault_address;

/* A fault outside of the device's work belongs to whoever handled it before. */
static void chain(int number, siginfo_t *info, void *context)
{
    const struct sigaction *before = number == SIGSEGV ? &previous_segv : &previous_bus;
    if (before->sa_flags & SA_SIGINFO)
        before->sa_sigaction(number, info, context);
    else if (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN)
        sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL); /* it happens again, and ends the process */
    else
        before->sa_handler(number);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    if (!landing) {
        chain(number, info, context);
        return;
    }
    if (number == SIGSEGV && touched_open((uint64_t)(uintptr_t)info->si_addr, context))
        return;
    fault_address = (uint64_t)(uintptr_t)info->si_addr;
    siglongjmp(*landing, 1);
}

static void open_guard(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    if (installed)
        return;
    sigaction(SIGSEGV, &action, &previous_segv);
    sigaction(SIGBUS, &action, &previous_bus);
    installed = true;
}

void exec_close(void)
{
    if (!installed)
        return;
    sigaction(SIGSEGV, &previous_segv, NULL);
    sigaction(SIGBUS, &previous_bus, NULL);
    installed = false;
}

/* Runs `work`; false where it faulted. */
static bool guarded(void (*work)(void *), void *argument)
{
    sigjmp_buf here;
    open_guard();
    if (sigsetjmp(here, 0)) {
        landing = NULL;
        return false;
    }
    landing = &here;
    work(argument);
    landing = NULL;
    return true;
}

static void fail(struct op *op, uint64_t address)
{
    const char *what = op->kind == OP_KERNEL ? "kernel" : "operation";
    uint64_t bad;
    bool strays = bounds_apply(op) && memory_reachable(op->context->device, address, 1, false, &bad);
    fprintf(stderr, "simgpu: %s %s (operation %llu, stream %llu) touched 0x%llx, which it %s: CUDA_ERROR_ILLEGAL_ADDRESS\n",
            what, op->name, (unsigned long long)op->serial, op->stream_id, (unsigned long long)address,
            strays ? "does not declare" : "can't reach");
    stats.faults++;
    op->context->error = CUDA_ERROR_ILLEGAL_ADDRESS;
}

static void run_kernel(void *argument)
{
    struct op *op = argument;
    op->u.run.kernel->run(&op->u.run.launch, op->u.run.image);
}

static bool run_watched_kernel(struct op *op)
{
    touched_begin();
    bool good = guarded(run_kernel, op);
    touched_end(op);
    return good;
}

static bool run_bounded_kernel(struct op *op)
{
    uint64_t stray;
    bounds_begin(op);
    bool good = guarded(run_kernel, op), strayed = bounds_end(&stray);
    if (good && strayed)
        fault_address = stray;
    return good && !strayed;
}

static size_t last_page(size_t bytes)
{
    return bytes > 4096 ? bytes - 4096 : 0;
}

static void run_copy(void *argument)
{
    struct op *op = argument;
    const struct copy *c = &op->u.copy;
    const char *source = c->staged ? c->staged : (const char *)(uintptr_t)c->source;
    char *target = (char *)(uintptr_t)c->target;
    size_t width = settings_sabotage(SABOTAGE_TRUNCATE_COPY) ? last_page(c->width) : c->width;
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            memmove(target + z * c->target_slice + y * c->target_pitch, source + z * c->source_slice + y * c->source_pitch,
                    width);
}

static void run_set(void *argument)
{
    struct op *op = argument;
    const struct set *s = &op->u.set;
    for (size_t y = 0; y < s->height; y++) {
        char *row = (char *)(uintptr_t)(s->target + y * s->pitch);
        if (s->element_bytes == 1) {
            memset(row, (int)s->value, s->width);
            continue;
        }
        for (size_t x = 0; x < s->width; x++)
            memcpy(row + x * s->element_bytes, &s->value, s->element_bytes);
    }
}

static void run_write_value(void *argument)
{
    const struct value *v = argument;
    if (v->wide)
        __atomic_store_n((uint64_t *)(uintptr_t)v->address, v->value, __ATOMIC_SEQ_CST);
    else
        __atomic_store_n((uint32_t *)(uintptr_t)v->address, (uint32_t)v->value, __ATOMIC_SEQ_CST);
}

/* Every byte that the operation says it touches has to be there now, whatever it then really touches. */
static bool reachable(struct op *op)
{
    if (op->kind == OP_KERNEL && !op->declared)
        return true;
    for (unsigned i = 0; i < op->access_count; i++) {
        const struct access *a = &op->accesses[i];
        uint64_t bad;
        if (!memory_reachable(op->context->device, a->address, a->bytes, a->how & SIMGPU_WRITES, &bad)) {
            fail(op, bad);
            return false;
        }
    }
    return true;
}

void exec_run(struct op *op)
{
    static void (*const works[])(void *) = {[OP_KERNEL] = run_kernel, [OP_COPY] = run_copy, [OP_SET] = run_set};
    if (op->kind == OP_GRAPH_END)
        exec_launch_is_done(op->u.exec);
    else if (op->kind == OP_GRAPH_FREE)
        graph_memory_vanish(op->u.block);
    else if (op->kind == OP_GRAPH_ALLOC && !op->context->error)
        graph_memory_appear(op->u.block);
    if (op->context->error || op->sabotaged)
        return;
    if (op->kind == OP_WRITE_VALUE) {
        if (!guarded(run_write_value, &op->u.value))
            fail(op, fault_address);
        return;
    }
    if (op->kind > OP_SET || !reachable(op))
        return;
    struct variables *variables = op->kind == OP_KERNEL ? op->u.run.variables : NULL;
    bool watched = op->kind == OP_KERNEL && touched_wanted();
    variables_change_places(variables);
    bool good = watched ? run_watched_kernel(op) : bounds_apply(op) ? run_bounded_kernel(op) : guarded(works[op->kind], op);
    variables_change_places(variables);
    if (!good)
        fail(op, fault_address);
}

static void run_arrive(void *argument)
{
    struct op *op = argument;
    op->u.run.kernel->meeting->arrive(&op->u.run.launch, op->u.run.image, op->ready_ns);
}

void exec_arrive(struct op *op)
{
    if (reachable(op) && !guarded(run_arrive, op))
        fail(op, fault_address);
}

struct reading {
    void *target;
    uint64_t source;
    size_t bytes;
};

static void run_read(void *argument)
{
    const struct reading *r = argument;
    memcpy(r->target, (const void *)(uintptr_t)r->source, r->bytes);
}

bool exec_read(void *target, uint64_t source, size_t bytes)
{
    return guarded(run_read, &(struct reading){target, source, bytes});
}

bool exec_value_is_there(const struct value *v)
{
    uint64_t now = 0;
    if (!exec_read(&now, v->address, v->wide ? 8 : 4))
        return false;
    switch (v->flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ:
        return v->wide ? (int64_t)(now - v->value) >= 0 : (int32_t)((uint32_t)now - (uint32_t)v->value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return v->wide ? now == v->value : (uint32_t)now == (uint32_t)v->value;
    case CU_STREAM_WAIT_VALUE_AND:
        return (now & v->value) != 0;
    default:
        return v->wide ? ~(now | v->value) != 0 : (uint32_t) ~(now | v->value) != 0;
    }
}
