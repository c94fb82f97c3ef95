/* comm.c - communicators are made, asked and ended. */
#include "comm.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group.h"
#include "rendezvous.h"

static char last_error[256];

ncclResult_t comm_complain(ncclResult_t result, const char *format, ...)
{
    char text[sizeof last_error];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    fprintf(stderr, "simgpu: NCCL: %s\n", text);
    memcpy(last_error, text, sizeof text);
    return result;
}

void comm_fail(struct ncclComm *comm, ncclResult_t error)
{
    if (comm->error == ncclSuccess)
        comm->error = error;
}

/* ---- the beginning ---- */

struct ncclComm *comm_create(void)
{
    struct ncclComm *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    pthread_mutex_init(&c->mutex, NULL);
    if (cudaGetDevice(&c->device) != cudaSuccess)
        c->device = 0;
    return c;
}

static struct simgpu_tell driver;

static void open_driver(void)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOW);
    simgpu_resolve *resolve = handle ? (simgpu_resolve *)dlsym(handle, "cuGetProcAddress_v2") : NULL;
    if (resolve)
        simgpu_tell_open(&driver, resolve);
}

const struct simgpu_tell *comm_driver(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_driver);
    return &driver;
}

/* *clock_ns is this rank's, and then the latest of all. NULL: errno says why; 0 where one of the ranks is gone. */
static struct board *meet(struct ncclComm *c, const ncclUniqueId *id, unsigned ranks, unsigned rank, double *clock_ns)
{
    unsigned char words[BOARD_WORDS] = {0}, all[BOARD_RANKS][BOARD_WORDS];
    struct board *board = rendezvous_meet(id, ranks, rank);
    memcpy(words, clock_ns, sizeof *clock_ns);
    if (board && !board_tell(board, words, all, &c->stop)) {
        board_close(board);
        errno = 0;
        return NULL;
    }
    for (unsigned i = 0; board && i < ranks; i++) {
        double ns;
        memcpy(&ns, all[i], sizeof ns);
        *clock_ns = ns > *clock_ns ? ns : *clock_ns;
    }
    return board;
}

ncclResult_t comm_join(struct ncclComm *c, const ncclUniqueId *id, int ranks, int rank)
{
    if (ranks < 1 || ranks > BOARD_RANKS || rank < 0 || rank >= ranks)
        return comm_complain(ncclInvalidArgument, "rank %d of %d", rank, ranks);
    const struct simgpu_tell *tell = comm_driver();
    double clock_ns = tell->away ? tell->away(boards_show_clock) : 0;
    struct board *board = meet(c, id, (unsigned)ranks, (unsigned)rank, &clock_ns);
    const int error = errno;
    if (tell->back)
        tell->back(clock_ns);
    if (!board)
        return error == EINVAL ? comm_complain(ncclInvalidArgument, "that is no id of a communicator")
                               : comm_complain(ncclRemoteError, "a rank was gone before the communicator was there");
    c->ranks = (unsigned)ranks;
    c->rank = (unsigned)rank;
    c->board = board;
    return ncclSuccess;
}

struct wish { /* of a rank, when a communicator is split */
    int color, key;
    ncclUniqueId id; /* of the new one, if this rank is its first */
};

_Static_assert(sizeof(struct wish) <= BOARD_WORDS, "a rank can tell its wish");

static bool tell(struct ncclComm *parent, const struct wish *mine, struct wish *ret_all)
{
    unsigned char words[BOARD_WORDS] = {0}, all[BOARD_RANKS][BOARD_WORDS];
    memcpy(words, mine, sizeof *mine);
    const struct simgpu_tell *driver = comm_driver();
    if (driver->away)
        (void)driver->away(boards_show_clock);
    const bool told = parent->board && board_tell(parent->board, words, all, &parent->stop);
    if (driver->back)
        driver->back(0);
    if (!told)
        return false;
    for (unsigned i = 0; i < parent->ranks; i++)
        memcpy(&ret_all[i], all[i], sizeof *ret_all);
    return true;
}

/* How many have the same color; how many of these come before this rank; and which is the first. */
static int members(const struct ncclComm *parent, const struct wish *all, int *ret_before, unsigned *ret_first)
{
    const unsigned me = parent->rank;
    int count = 0;
    *ret_before = 0;
    *ret_first = me;
    for (unsigned i = 0; i < parent->ranks; i++) {
        const struct wish *first = &all[*ret_first];
        if (all[i].color != all[me].color)
            continue;
        count++;
        *ret_before += all[i].key < all[me].key || (all[i].key == all[me].key && i < me);
        if (all[i].key < first->key || (all[i].key == first->key && i < *ret_first))
            *ret_first = i;
    }
    return count;
}

ncclResult_t comm_split(struct ncclComm *parent, int color, int key, struct ncclComm *c)
{
    struct wish mine = {.color = color, .key = key}, all[BOARD_RANKS];
    unsigned first;
    int before;
    if (!tell(parent, &mine, all))
        return comm_complain(ncclRemoteError, "a rank was gone before the communicator was split");
    const int count = members(parent, all, &before, &first);
    if (color != NCCL_SPLIT_NOCOLOR && first == parent->rank && rendezvous_open(&mine.id) < 0)
        return comm_complain(ncclSystemError, "there is no socket to be had");
    if (!tell(parent, &mine, all))
        return comm_complain(ncclRemoteError, "a rank was gone while the communicator was split");
    return color == NCCL_SPLIT_NOCOLOR ? ncclSuccess : comm_join(c, &all[first].id, count, before);
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *ret_id)
{
    if (!ret_id)
        return comm_complain(ncclInvalidArgument, "no room for an id");
    const int r = rendezvous_open(ret_id);
    return r < 0 ? comm_complain(ncclSystemError, "no place to meet: %s", strerror(-r)) : ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
    struct ncclComm *c = comm ? comm_create() : NULL;
    if (!c)
        return comm ? ncclSystemError : comm_complain(ncclInvalidArgument, "no room for a communicator");
    *comm = c;
    return group_begin_comm(&(struct group_start){.comm = c, .ret = comm, .id = id, .ranks = ranks, .rank = rank});
}

/* All of it can be had only by ranks that wait for each other: what is asked not to wait is complete when it returns. */
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config)
{
    if (config && config->magic != 0xcafebeef)
        return comm_complain(ncclInvalidArgument, "the configuration was not initialised");
    return ncclCommInitRank(comm, ranks, id, rank);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int ranks, int rank, int ids, ncclUniqueId *id, ncclConfig_t *config)
{
    if (ids < 1 || !id)
        return comm_complain(ncclInvalidArgument, "no id of a communicator");
    return ncclCommInitRankConfig(comm, ranks, id[0], rank, config);
}

ncclResult_t ncclCommInitAll(ncclComm_t *comm, int count, const int *devices)
{
    ncclUniqueId id;
    int before = 0;
    ncclResult_t r = comm && count > 0 ? ncclGetUniqueId(&id) : comm_complain(ncclInvalidArgument, "no devices");
    if (r != ncclSuccess)
        return r;
    (void)cudaGetDevice(&before);
    (void)ncclGroupStart();
    for (int i = 0; r == ncclSuccess && i < count; i++) {
        r = cudaSetDevice(devices ? devices[i] : i) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
        if (r == ncclSuccess)
            r = ncclCommInitRank(&comm[i], count, id, i);
    }
    const ncclResult_t ended = ncclGroupEnd();
    (void)cudaSetDevice(before);
    return r == ncclSuccess ? ended : r;
}

ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t *comm, ncclConfig_t *config)
{
    struct ncclComm *c = parent && comm ? comm_create() : NULL;
    (void)config;
    if (!c)
        return parent && comm ? ncclSystemError : comm_complain(ncclInvalidArgument, "nothing to split");
    c->device = parent->device;
    *comm = c;
    return group_begin_comm(&(struct group_start){.comm = c, .ret = comm, .parent = parent, .color = color, .key = key});
}

/* ---- the end ---- */

static void let_go(struct ncclComm *c)
{
    pthread_mutex_lock(&c->mutex);
    board_close(c->board);
    c->board = NULL;
    pthread_mutex_unlock(&c->mutex);
}

ncclResult_t ncclCommAbort(ncclComm_t c)
{
    if (!c)
        return comm_complain(ncclInvalidArgument, "no communicator");
    __atomic_store_n(&c->stop, true, __ATOMIC_RELAXED);
    let_go(c);
    return ncclSuccess;
}

/* What was launched is complete, or has failed. */
static ncclResult_t drain(struct ncclComm *c)
{
    cudaError_t state = cudaSuccess;
    while (c->newest && c->error == ncclSuccess && (state = cudaEventQuery(c->newest)) == cudaErrorNotReady)
        (void)cudaStreamSynchronize(c->stream);
    return state == cudaSuccess || state == cudaErrorCudartUnloading ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclCommFinalize(ncclComm_t c)
{
    return c ? drain(c) : comm_complain(ncclInvalidArgument, "no communicator");
}

ncclResult_t ncclCommDestroy(ncclComm_t c)
{
    if (!c)
        return ncclSuccess;
    const ncclResult_t r = drain(c);
    __atomic_store_n(&c->stop, true, __ATOMIC_RELAXED);
    let_go(c);
    if (c->newest)
        (void)cudaEventDestroy(c->newest);
    c->newest = NULL;
    return r;
}

ncclResult_t ncclCommRevoke(ncclComm_t c, int flags)
{
    if (!c || flags)
        return comm_complain(ncclInvalidArgument, "no communicator, or flags");
    __atomic_store_n(&c->stop, true, __ATOMIC_RELAXED);
    return ncclSuccess;
}

/* ---- questions ---- */

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *ret_error)
{
    if (!c || !ret_error)
        return comm_complain(ncclInvalidArgument, "no communicator");
    pthread_mutex_lock(&c->mutex);
    *ret_error = c->error;
    pthread_mutex_unlock(&c->mutex);
    return ncclSuccess;
}

static ncclResult_t answer(const struct ncclComm *c, int value, int *ret_value)
{
    if (!c || !ret_value)
        return comm_complain(ncclInvalidArgument, "no communicator");
    *ret_value = value;
    return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t c, int *count)
{
    return answer(c, c ? (int)c->ranks : 0, count);
}

ncclResult_t ncclCommUserRank(const ncclComm_t c, int *rank)
{
    return answer(c, c ? (int)c->rank : 0, rank);
}

ncclResult_t ncclCommCuDevice(const ncclComm_t c, int *device)
{
    return answer(c, c ? c->device : 0, device);
}

ncclResult_t ncclGetVersion(int *ret_version)
{
    if (!ret_version)
        return comm_complain(ncclInvalidArgument, "no room for a version");
    *ret_version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

const char *ncclGetLastError(ncclComm_t c)
{
    (void)c;
    return last_error;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const texts[ncclNumResults] = {
        [ncclSuccess] = "no error",
        [ncclUnhandledCudaError] = "unhandled cuda error",
        [ncclSystemError] = "unhandled system error",
        [ncclInternalError] = "internal error",
        [ncclInvalidArgument] = "invalid argument",
        [ncclInvalidUsage] = "invalid usage",
        [ncclRemoteError] = "remote process exited or there was a network error",
        [ncclInProgress] = "NCCL operation in progress",
    };
    return (unsigned)result < ncclNumResults ? texts[result] : "unknown result code";
}
