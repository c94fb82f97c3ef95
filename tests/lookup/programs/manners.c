/* manners.c - things that a host program may do around the driver; each exits 0 when all was as it would be without us. */
#include <cuda.h>
#include <cudaProfiler.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

static size_t no_shared_bytes(int block_size)
{
    return 0;
}

/* Registers, the stack and floating-point arguments arrive; the second call takes the short way and must agree. */
static void arguments_arrive(void)
{
    for (int i = 0; i < 2; i++) {
        int grid = 0, block = 0;
        CHECK(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, NULL, no_shared_bytes, 77, 5, 6) == CUDA_SUCCESS);
        CHECK(grid == 77 && block == 5006);
        CHECK(cuTexRefSetMipmapLevelBias(NULL, 0.5f) == CUDA_SUCCESS);
    }
}

/* A name that this driver is too old for. */
static void missing_names_answer_not_found(void)
{
    CUresult (*create)(void *) = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLogicalEndpointCreate");
    CHECK(cuInit(0) == CUDA_SUCCESS);
    CHECK(create && create(NULL) == CUDA_ERROR_NOT_FOUND);
}

static CUresult in_child(CUresult (*call)(void))
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit((int)call());
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return (CUresult)WEXITSTATUS(status);
}

static CUresult allocate(void)
{
    CUdeviceptr p;
    return cuMemAlloc_v2(&p, 4096);
}

static CUresult init(void)
{
    return cuInit(0);
}

/* As the workers of a data loader are: forked before or after CUDA was started. */
static void forked_children_pass(void)
{
    CHECK(in_child(init) == CUDA_SUCCESS);
    CHECK(cuInit(0) == CUDA_SUCCESS);
    CHECK(in_child(allocate) == CUDA_SUCCESS);
    CHECK(in_child(init) == CUDA_SUCCESS);
    CHECK(allocate() == CUDA_SUCCESS);
}

/* Only the child allocates, and the driver sees nothing but that. */
static void only_a_child_allocates(void)
{
    CHECK(cuInit(0) == CUDA_SUCCESS);
    CHECK(cuProfilerStart() == CUDA_SUCCESS); /* a mark in the driver's log */
    CHECK(in_child(allocate) == CUDA_SUCCESS);
}

static void *init_and_allocate(void *barrier)
{
    pthread_barrier_wait(barrier);
    for (int i = 0; i < 100; i++)
        CHECK(cuInit(0) == CUDA_SUCCESS && allocate() == CUDA_SUCCESS);
    return NULL;
}

static void threads_start_at_once(void)
{
    enum { THREADS = 16 };
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, init_and_allocate, &barrier) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void *open_library(void *path)
{
    CHECK(dlopen(path, RTLD_NOW));
    return NULL;
}

static void *start_cuda(void *unused)
{
    usleep(10000); /* the other thread is in the loader by now */
    CHECK(cuInit(0) == CUDA_SUCCESS);
    return NULL;
}

static void starts_while_a_library_is_loaded(char *path)
{
    pthread_t threads[2];
    CHECK(pthread_create(&threads[0], NULL, open_library, path) == 0);
    CHECK(pthread_create(&threads[1], NULL, start_cuda, NULL) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* dlsym() tells as much of where a name comes from, and what it did not find, as without us. */
static void lookups_are_answered_to_who_asked(void)
{
    CHECK(dlsym(RTLD_NEXT, "cuInit") && dlsym(RTLD_NEXT, "cuInit") == dlsym(RTLD_DEFAULT, "cuInit"));
    CHECK(!dlsym(RTLD_NEXT, "ncclNoCall") && strstr(dlerror(), "ncclNoCall"));
    CHECK(!dlsym(dlopen(NULL, RTLD_NOW), "ncclNoCall") && strstr(dlerror(), "ncclNoCall"));
    CHECK(!dlerror());
    CHECK(dlsym(dlopen(NULL, RTLD_NOW), "ncclSend") == dlsym(RTLD_DEFAULT, "ncclSend"));
    CHECK(dlsym(dlopen("libc.so.6", RTLD_NOW), "strlen") && !dlerror());
}

/* What cuInit() answers is the argument; messages can be had for it. */
static void init_answers(const char *expected)
{
    const char *name = NULL, *text = NULL;
    CUresult result = cuInit(0);
    printf("cuInit %d\n", (int)result);
    CHECK((int)result == atoi(expected));
    CHECK(cuGetErrorName(result, &name) == CUDA_SUCCESS && name && *name);
    CHECK(cuGetErrorString(result, &text) == CUDA_SUCCESS && text && *text);
    CHECK(cuInit(0) == result);
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    alarm(20); /* a deadlock is a failure, not a wait */
    if (!strcmp(argv[1], "arguments"))
        arguments_arrive();
    else if (!strcmp(argv[1], "missing"))
        missing_names_answer_not_found();
    else if (!strcmp(argv[1], "fork"))
        forked_children_pass();
    else if (!strcmp(argv[1], "child"))
        only_a_child_allocates();
    else if (!strcmp(argv[1], "threads"))
        threads_start_at_once();
    else if (!strcmp(argv[1], "loading") && argc > 2)
        starts_while_a_library_is_loaded(argv[2]);
    else if (!strcmp(argv[1], "lookups"))
        lookups_are_answered_to_who_asked();
    else if (!strcmp(argv[1], "init") && argc > 2)
        init_answers(argv[2]);
    else
        return 2;
    return 0;
}
