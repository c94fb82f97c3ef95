/* group.c - what a thread has asked for in its open group, and its end. */
#include "group.h"

#include <stdlib.h>
#include <string.h>

#include "kernel.h"

struct task {
    struct ncclComm *comm;
    cudaStream_t stream;
    struct work work;
    bool is_done;
};

static _Thread_local struct group {
    int depth;
    ncclResult_t error; /* of a call inside */
    struct task *tasks;
    size_t task_count, task_room;
    struct group_start *starts;
    size_t start_count, start_room;
} group;

/* One more element. NULL: no memory. */
static void *append(void **list, size_t *count, size_t *room, size_t bytes)
{
    if (*count == *room) {
        const size_t more = *room ? 2 * *room : 16;
        void *moved = realloc(*list, more * bytes);
        if (!moved)
            return NULL;
        *list = moved;
        *room = more;
    }
    return (char *)*list + bytes * (*count)++;
}

static ncclResult_t remember(ncclResult_t result)
{
    if (group.error == ncclSuccess)
        group.error = result;
    return result;
}

/* ---- communicators ---- */

struct beginning {
    const struct group_start *start;
    pthread_t thread;
    bool is_started;
    ncclResult_t result;
};

static void *begin_one(void *argument)
{
    struct beginning *b = argument;
    const struct group_start *s = b->start;
    b->result = s->parent ? comm_split(s->parent, s->color, s->key, s->comm) : comm_join(s->comm, &s->id, s->ranks, s->rank);
    if (b->result != ncclSuccess || (s->parent && s->color == NCCL_SPLIT_NOCOLOR))
        *s->ret = NULL;
    return NULL;
}

/* Several ranks may be this thread's, which have to wait for each other. */
static ncclResult_t begin_all(const struct group_start *starts, size_t count)
{
    struct beginning *all = calloc(count, sizeof *all);
    ncclResult_t r = all ? ncclSuccess : ncclSystemError;
    for (size_t i = 0; all && i < count; i++) {
        all[i].start = &starts[i];
        all[i].is_started = count > 1 && pthread_create(&all[i].thread, NULL, begin_one, &all[i]) == 0;
        if (!all[i].is_started)
            begin_one(&all[i]);
    }
    for (size_t i = 0; all && i < count; i++) {
        if (all[i].is_started)
            pthread_join(all[i].thread, NULL);
        if (all[i].result != ncclSuccess)
            r = all[i].result;
    }
    free(all);
    return r;
}

ncclResult_t group_begin_comm(const struct group_start *start)
{
    if (group.depth == 0)
        return begin_all(start, 1);
    struct group_start *s = append((void **)&group.starts, &group.start_count, &group.start_room, sizeof *s);
    if (!s)
        return remember(ncclSystemError);
    *s = *start;
    return ncclSuccess;
}

/* ---- works ---- */

/* One stream waits for what the other has to do by now. */
static ncclResult_t order(cudaStream_t earlier, cudaStream_t later)
{
    cudaEvent_t event;
    cudaError_t r = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (r != cudaSuccess)
        return ncclUnhandledCudaError;
    r = cudaEventRecord(event, earlier);
    if (r == cudaSuccess)
        r = cudaStreamWaitEvent(later, event, 0);
    (void)cudaEventDestroy(event);
    return r == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

/* All streams that the communicator is given in this group come before its first one, or after it. */
static ncclResult_t order_others(const struct task *first, bool before)
{
    ncclResult_t r = ncclSuccess;
    for (const struct task *t = first + 1; r == ncclSuccess && t < group.tasks + group.task_count; t++)
        if (t->comm == first->comm && t->stream != first->stream)
            r = before ? order(t->stream, first->stream) : order(first->stream, t->stream);
    return r;
}

/* All that the group has for one communicator, in as few kernels as possible. */
static ncclResult_t launch_with(struct task *first)
{
    struct work works[KERNEL_WORKS];
    unsigned count = 0;
    ncclResult_t r = order_others(first, true);
    for (struct task *t = first; r == ncclSuccess && t < group.tasks + group.task_count; t++) {
        if (t->comm != first->comm)
            continue;
        works[count++] = t->work;
        t->is_done = true;
        if (count == KERNEL_WORKS) {
            r = kernel_launch(first->comm, works, count, first->stream);
            count = 0;
        }
    }
    if (r == ncclSuccess && count > 0)
        r = kernel_launch(first->comm, works, count, first->stream);
    return r == ncclSuccess ? order_others(first, false) : r;
}

/* Each kernel on the device of its communicator. */
static ncclResult_t launch_all(void)
{
    ncclResult_t r = ncclSuccess;
    int before = 0;
    (void)cudaGetDevice(&before);
    for (size_t i = 0; r == ncclSuccess && i < group.task_count; i++) {
        if (group.tasks[i].is_done)
            continue;
        r = cudaSetDevice(group.tasks[i].comm->device) == cudaSuccess ? launch_with(&group.tasks[i])
                                                                      : ncclUnhandledCudaError;
    }
    (void)cudaSetDevice(before);
    return r;
}

ncclResult_t group_do(struct ncclComm *comm, const struct work *work, cudaStream_t stream)
{
    struct task *t = append((void **)&group.tasks, &group.task_count, &group.task_room, sizeof *t);
    if (!t)
        return remember(ncclSystemError);
    *t = (struct task){comm, stream, *work, false};
    if (group.depth > 0)
        return ncclSuccess;
    const ncclResult_t r = launch_all();
    group.task_count = 0;
    return r;
}

ncclResult_t ncclGroupStart(void)
{
    group.depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (group.depth == 0)
        return comm_complain(ncclInvalidUsage, "a group ends that has not begun");
    if (--group.depth > 0)
        return ncclSuccess;
    ncclResult_t r = group.error;
    if (r == ncclSuccess && group.start_count > 0)
        r = begin_all(group.starts, group.start_count);
    if (r == ncclSuccess)
        r = launch_all();
    free(group.tasks);
    free(group.starts);
    group = (struct group){0};
    return r;
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
    if (info)
        info->estimatedTime = 0;
    free(group.tasks);
    free(group.starts);
    group = (struct group){0};
    return ncclSuccess;
}
