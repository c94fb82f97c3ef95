/* ranks.c - processes are forked before anything of CUDA happens; the first of them makes the id. */
#include "ranks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int rank, ranks;
ncclComm_t comm;
cudaStream_t stream;

static struct shared {
    volatile int has_id;
    ncclUniqueId id;
} * shared;

void expect(bool good, const char *what, int line)
{
    if (good)
        return;
    fprintf(stderr, "# rank %d, line %d: not so: %s\n", rank, line, what);
    _exit(1);
}

static void be_rank(void (*body)(void))
{
    for (int number = SIGILL; number <= SIGSEGV; number++) /* the test's own handlers would go on with the next test */
        signal(number, SIG_DFL);
    alarm(20);
    if (rank == 0) {
        ncclUniqueId id;
        NCCL(ncclGetUniqueId(&id));
        shared->id = id;
        shared->has_id = 1;
    }
    while (!shared->has_id)
        usleep(1000);
    CUDA(cudaSetDevice(0));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    NCCL(ncclCommInitRank(&comm, ranks, shared->id, rank));
    body();
    exit(0);
}

/* Sockets and files in memory have no place in a file system; those of sockets are listed nevertheless. */
static bool left(void)
{
    char line[512];
    bool found = false;
    FILE *file = fopen("/proc/net/unix", "re");
    char mine[64];
    snprintf(mine, sizeof mine, "@simgpu-nccl-");
    while (file && fgets(line, sizeof line, file)) {
        int pid = 0;
        const char *at = strstr(line, mine);
        found |= at && sscanf(at + strlen(mine), "%d-", &pid) == 1 && getpgid(pid) == getpgrp();
    }
    if (file)
        fclose(file);
    return found;
}

void run_ranks(int count, void (*body)(void), int *ret)
{
    pid_t children[16];
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(shared, 0, sizeof *shared);
    fflush(NULL);
    for (int i = 0; i < count; i++) {
        children[i] = fork();
        if (children[i] != 0)
            continue;
        rank = i;
        ranks = count;
        dup2(STDERR_FILENO, STDOUT_FILENO);
        be_rank(body);
    }
    for (int i = 0; i < count; i++) {
        int status = 0;
        waitpid(children[i], &status, 0);
        ret[i] = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    munmap(shared, sizeof *shared);
    assert_false(left());
}

void in_ranks(int count, void (*body)(void))
{
    int ends[16];
    run_ranks(count, body, ends);
    for (int i = 0; i < count; i++)
        assert_int_equal(ends[i], 0);
}

void *on_device(const void *bytes, size_t count)
{
    void *address;
    CUDA(cudaMalloc(&address, count));
    CUDA(cudaMemcpyAsync(address, bytes, count, cudaMemcpyHostToDevice, stream));
    return address;
}

void from_device(const void *address, void *ret_bytes, size_t count)
{
    CUDA(cudaMemcpyAsync(ret_bytes, address, count, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
}
