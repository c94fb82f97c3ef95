/* user_object.c - things of the program that graphs keep alive. Destructors run on a thread of their own. */
#include "user_object.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"
#include "graph.h"

struct user_object {
    CUhostFn destroy;
    void *data;
    unsigned long long refs, of_the_program; /* all of them, and those that no graph owns */
    struct user_object *next;                /* among those that wait for their destructor */
};

/* ---- destructors ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct user_object *first, **last;
    bool started;
} dying = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .last = &dying.first};

static void *bury(void *unused)
{
    (void)unused;
    host_function_begin(); /* for good: destructors may call nothing */
    for (;;) {
        pthread_mutex_lock(&dying.lock);
        while (!dying.first)
            pthread_cond_wait(&dying.filled, &dying.lock);
        struct user_object *o = dying.first;
        dying.first = o->next;
        if (!dying.first)
            dying.last = &dying.first;
        pthread_mutex_unlock(&dying.lock);
        o->destroy(o->data);
        free(o);
    }
    return NULL;
}

static void die(struct user_object *o)
{
    pthread_t thread;
    handle_remove(o);
    pthread_mutex_lock(&dying.lock);
    if (!dying.started) {
        dying.started = pthread_create(&thread, NULL, bury, NULL) == 0;
        if (dying.started)
            pthread_detach(thread);
        else
            fprintf(stderr, "simgpu: no thread for the destructors of user objects could be started\n");
    }
    *dying.last = o;
    dying.last = &o->next;
    pthread_cond_signal(&dying.filled);
    pthread_mutex_unlock(&dying.lock);
}

static void drop(struct user_object *o, unsigned long long count)
{
    o->refs -= count;
    if (o->refs == 0)
        die(o);
}

/* ---- references of graphs ---- */

CUresult user_refs_add(struct user_ref **refs, struct user_object *o, unsigned count, bool moved)
{
    struct user_ref *ref = *refs;
    if (moved && count > o->of_the_program)
        return CUDA_ERROR_INVALID_VALUE;
    while (ref && ref->object != o)
        ref = ref->next;
    if (!ref) {
        if (!(ref = calloc(1, sizeof *ref)))
            return CUDA_ERROR_OUT_OF_MEMORY;
        ref->object = o;
        ref->next = *refs;
        *refs = ref;
    }
    ref->count += count;
    if (moved)
        o->of_the_program -= count;
    else
        o->refs += count;
    return CUDA_SUCCESS;
}

CUresult user_refs_remove(struct user_ref **refs, struct user_object *o, unsigned count)
{
    while (*refs && (*refs)->object != o)
        refs = &(*refs)->next;
    struct user_ref *ref = *refs;
    if (!ref || ref->count < count)
        return CUDA_ERROR_INVALID_VALUE;
    ref->count -= count;
    if (ref->count == 0) {
        *refs = ref->next;
        free(ref);
    }
    drop(o, count);
    return CUDA_SUCCESS;
}

CUresult user_refs_copy(const struct user_ref *refs, struct user_ref **ret_refs)
{
    struct user_ref *copy = NULL;
    for (; refs; refs = refs->next) {
        struct user_ref *ref = malloc(sizeof *ref);
        if (!ref) {
            user_refs_drop(&copy);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        *ref = (struct user_ref){refs->object, refs->count, copy};
        ref->object->refs += ref->count;
        copy = ref;
    }
    *ret_refs = copy;
    return CUDA_SUCCESS;
}

void user_refs_move(struct user_ref **to, struct user_ref **from)
{
    while (*to)
        to = &(*to)->next;
    *to = *from;
    *from = NULL;
}

void user_refs_drop(struct user_ref **refs)
{
    while (*refs) {
        struct user_ref *ref = *refs;
        *refs = ref->next;
        drop(ref->object, ref->count);
        free(ref);
    }
}

/* ---- calls ---- */

SIMGPU_EXPORT CUresult cuUserObjectCreate(CUuserObject *object, void *data, CUhostFn destroy, unsigned int count,
                                          unsigned int flags)
{
    struct call call;
    struct user_object *o = NULL;
    CUresult r = driver_enter(&call, "cuUserObjectCreate", NEEDS_INIT);
    if (r == CUDA_SUCCESS &&
        (!object || !destroy || count == 0 || count > INT_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && (!(o = calloc(1, sizeof *o)) || handle_add(HANDLE_USER_OBJECT, o) < 0)) {
        free(o);
        r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (r == CUDA_SUCCESS) {
        *o = (struct user_object){destroy, data, count, count, NULL};
        *object = (CUuserObject)o;
    }
    return driver_leave(&call, r);
}

static CUresult enter_counting(struct call *call, const char *name, CUuserObject object, unsigned count)
{
    CUresult r = driver_enter(call, name, NEEDS_INIT);
    if (r == CUDA_SUCCESS && (!handle_is(HANDLE_USER_OBJECT, object) || count == 0 || count > INT_MAX))
        r = CUDA_ERROR_INVALID_VALUE;
    return r;
}

SIMGPU_EXPORT CUresult cuUserObjectRetain(CUuserObject object, unsigned int count)
{
    struct call call;
    struct user_object *o = (struct user_object *)object;
    CUresult r = enter_counting(&call, "cuUserObjectRetain", object, count);
    if (r == CUDA_SUCCESS) {
        o->refs += count;
        o->of_the_program += count;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuUserObjectRelease(CUuserObject object, unsigned int count)
{
    struct call call;
    struct user_object *o = (struct user_object *)object;
    CUresult r = enter_counting(&call, "cuUserObjectRelease", object, count);
    if (r == CUDA_SUCCESS && count > o->of_the_program)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        o->of_the_program -= count;
        drop(o, count);
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags)
{
    struct call call;
    CUresult r = enter_counting(&call, "cuGraphRetainUserObject", object, count);
    if (r == CUDA_SUCCESS && (!handle_is(HANDLE_GRAPH, graph) || flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = user_refs_add(&((struct graph *)graph)->users, (struct user_object *)object, count, flags != 0);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
    struct call call;
    CUresult r = enter_counting(&call, "cuGraphReleaseUserObject", object, count);
    if (r == CUDA_SUCCESS && !handle_is(HANDLE_GRAPH, graph))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = user_refs_remove(&((struct graph *)graph)->users, (struct user_object *)object, count);
    return driver_leave(&call, r);
}
