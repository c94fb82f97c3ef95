/* test-clocks.c - what the ranks' clocks say does not depend on how fast the machine lets each of them go on; and no rank is
 * held for ever by one that does not come. */
#include "ranks.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 10, ROUNDS = 3, MOST = 4, LARGE = 8 << 20 };

static struct measured {
    unsigned late_us;               /* of real time that rank 1 lets the other wait */
    float elapsed_ms[ROUNDS][MOST]; /* from before a collective to behind it, by rank */
    double waited_s;                /* of real time, by rank 0 */
    volatile bool may_come;         /* rank 1 is told that it may go on */
} * measured;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void wait_until(const volatile bool *is_so)
{
    while (!*is_so)
        usleep(1000);
}

static void *zeros(size_t bytes)
{
    void *at;
    CUDA(cudaMalloc(&at, bytes));
    CUDA(cudaMemset(at, 0, bytes));
    CUDA(cudaDeviceSynchronize());
    return at;
}

static void add_up(void *at, ncclComm_t with)
{
    NCCL(ncclAllReduce(at, at, 1, ncclInt32, ncclSum, with, stream));
}

static cudaStream_t beside;

static void begin(void)
{
    CUDA(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    add_up(zeros(4), comm); /* from here on their clocks are close */
    CUDA(cudaStreamSynchronize(stream));
}

/* Rank 1 comes late in real time, but not by its clock. `wait` is how rank 0 passes the time. */
static void measure(void (*wait)(cudaEvent_t))
{
    int *at = zeros(4);
    cudaEvent_t before, after;
    begin();
    CUDA(cudaEventCreate(&before));
    CUDA(cudaEventCreate(&after));
    for (int i = 0; i < ROUNDS; i++) {
        CUDA(cudaEventRecord(before, stream));
        if (rank == 1)
            usleep(measured->late_us);
        add_up(at, comm);
        CUDA(cudaEventRecord(after, stream));
        if (rank == 0)
            wait(after);
        CUDA(cudaEventSynchronize(after));
        CUDA(cudaEventElapsedTime(&measured->elapsed_ms[i][rank], before, after));
    }
    NCCL(ncclCommDestroy(comm));
}

static void asks_all_the_time(cudaEvent_t after)
{
    while (cudaEventQuery(after) == cudaErrorNotReady) {
    }
}

static void asking_body(void)
{
    measure(asks_all_the_time);
}

static void waits_for_more(cudaEvent_t after)
{
    static void *large;
    (void)after;
    large = large ? large : zeros(LARGE);
    for (int i = 0; i < 50; i++)
        CUDA(cudaMemsetAsync(large, i, LARGE, beside));
    CUDA(cudaStreamSynchronize(beside));
}

static void waiting_body(void)
{
    measure(waits_for_more);
}

static void expect_the_same(int count, void (*body)(void))
{
    float first[ROUNDS][MOST];
    for (unsigned run = 0; run < RUNS; run++) {
        measured->late_us = run * 15000;
        in_ranks(count, body);
        for (int i = 0; i < ROUNDS; i++)
            for (int r = 0; r < count; r++) {
                const float ms = measured->elapsed_ms[i][r];
                first[i][r] = run == 0 ? ms : first[i][r];
                assert_true(ms >= 0.015f);
                assert_float_equal(ms, first[i][r], 1e-5f);
            }
    }
}

static void a_rank_that_asks_does_not_run_ahead_of_the_others(void **state)
{
    expect_the_same(2, asking_body);
}

static void a_rank_that_waits_for_something_else_does_not_run_ahead(void **state)
{
    expect_the_same(2, waiting_body);
}

/* Each rank has something else to do beside, and exchanges with half of the others before it does with all. */
static void halves_body(void)
{
    ncclComm_t half;
    int *at = zeros(4), *other = zeros(4);
    void *large = zeros(LARGE);
    cudaEvent_t before, after;
    NCCL(ncclCommSplit(comm, rank % 2, 0, &half, NULL));
    begin();
    CUDA(cudaEventCreate(&before));
    CUDA(cudaEventCreate(&after));
    for (int i = 0; i < ROUNDS; i++) {
        CUDA(cudaEventRecord(before, stream));
        usleep(measured->late_us / 15 * (unsigned)((rank + i) % ranks));
        add_up(at, half);
        for (int k = 0; k < 10 * (ranks - rank); k++)
            CUDA(cudaMemsetAsync(large, k, LARGE, beside));
        if (rank < 2)
            CUDA(cudaStreamSynchronize(beside));
        add_up(other, comm);
        CUDA(cudaEventRecord(after, stream));
        if (rank % 2)
            asks_all_the_time(after);
        CUDA(cudaStreamSynchronize(beside));
        CUDA(cudaEventSynchronize(after));
        CUDA(cudaEventElapsedTime(&measured->elapsed_ms[i][rank], before, after));
    }
    NCCL(ncclCommDestroy(half));
    NCCL(ncclCommDestroy(comm));
}

static void nor_do_ranks_of_several_communicators(void **state)
{
    expect_the_same(4, halves_body);
}

/* ---- nobody is held for ever ---- */

/* What a rank does while it waits for another on `stream`; how long that takes, in seconds of real time. */
static double go_on(void *large)
{
    const double start = seconds();
    for (int i = 0; i < 1000; i++)
        EXPECT(cudaStreamQuery(stream) == cudaErrorNotReady);
    CUDA(cudaMemsetAsync(large, 0, LARGE, beside));
    CUDA(cudaStreamSynchronize(beside));
    return seconds() - start;
}

static void stuck_body(void)
{
    int *at = zeros(4), *other = zeros(LARGE);
    begin();
    if (rank == 1) /* for rank 0, and no call says so */
        wait_until(&measured->may_come);
    add_up(at, comm);
    if (rank == 0) {
        measured->waited_s = go_on(other);
        measured->may_come = true;
    }
    CUDA(cudaStreamSynchronize(stream));
    NCCL(ncclCommDestroy(comm));
}

static void a_rank_that_waits_for_another_in_its_own_way_holds_it_once_and_for_seconds(void **state)
{
    measured->may_come = false;
    in_ranks(2, stuck_body);
    assert_true(measured->waited_s < 10);
}

/* As watchdogs do, however long the others take. */
static void *ask_now_and_then(void *unused)
{
    while (!measured->may_come) {
        (void)cudaStreamQuery(beside);
        usleep(10000);
    }
    return unused;
}

static void watched_body(void)
{
    int *at = zeros(4), *other = zeros(LARGE);
    pthread_t watchdog;
    begin();
    if (rank == 1) {
        EXPECT(pthread_create(&watchdog, NULL, ask_now_and_then, NULL) == 0);
        wait_until(&measured->may_come);
        EXPECT(pthread_join(watchdog, NULL) == 0);
    }
    add_up(at, comm);
    if (rank == 0) {
        measured->waited_s = 0;
        for (int i = 0; i < 10; i++)
            measured->waited_s += go_on(other);
        measured->may_come = true;
    }
    CUDA(cudaStreamSynchronize(stream));
    NCCL(ncclCommDestroy(comm));
}

static void nor_does_one_that_asks_now_and_then_meanwhile_hold_it_for_longer(void **state)
{
    measured->may_come = false;
    in_ranks(2, watched_body);
    assert_true(measured->waited_s < 10);
}

static void absent_body(void)
{
    int *at = zeros(4), *other = zeros(LARGE);
    begin();
    if (rank == 1) /* it has much to do, but not this */
        while (!measured->may_come)
            CUDA(cudaStreamSynchronize(beside));
    if (rank == 0) {
        add_up(at, comm);
        measured->waited_s = go_on(other);
        measured->may_come = true;
        NCCL(ncclCommAbort(comm));
    }
}

static void a_rank_that_never_comes_and_goes_on_holds_nobody(void **state)
{
    measured->may_come = false;
    in_ranks(2, absent_body);
    assert_true(measured->waited_s < 2);
}

static void dying_body(void)
{
    int *at = zeros(4), *other = zeros(LARGE);
    begin();
    if (rank == 1) {
        usleep(200000);
        raise(SIGKILL);
    }
    add_up(at, comm);
    EXPECT(go_on(other) < 2);
    NCCL(ncclCommAbort(comm));
}

static void a_rank_that_dies_holds_nobody(void **state)
{
    int ends[2];
    run_ranks(2, dying_body, ends);
    assert_int_equal(ends[0], 0);
    assert_int_equal(ends[1], KILLED);
}

/* Rank 1 makes a communicator first, which has to wait for rank 0. */
static void split_body(void)
{
    ncclComm_t both = NULL;
    int *at = zeros(4), *other = zeros(LARGE);
    begin();
    if (rank == 1)
        NCCL(ncclCommSplit(comm, 0, 0, &both, NULL));
    add_up(at, comm);
    if (rank == 0) {
        measured->waited_s = go_on(other);
        NCCL(ncclCommSplit(comm, 0, 0, &both, NULL));
    }
    add_up(at, both);
    CUDA(cudaStreamSynchronize(stream));
    NCCL(ncclCommDestroy(both));
    NCCL(ncclCommDestroy(comm));
}

static void a_rank_that_waits_for_others_to_make_a_communicator_holds_nobody(void **state)
{
    in_ranks(2, split_body);
    assert_true(measured->waited_s < 2);
}

/* Each waits for the other with a communicator of its own, and has to do something else first. */
static void crossed_body(void)
{
    ncclComm_t second;
    int *first_at = zeros(4), *second_at = zeros(4), *large = zeros(LARGE);
    NCCL(ncclCommSplit(comm, 0, 0, &second, NULL));
    begin();
    const double start = seconds();
    add_up(rank == 0 ? first_at : second_at, rank == 0 ? comm : second);
    for (int i = 0; i < 20; i++)
        CUDA(cudaMemsetAsync(large, i, LARGE, beside));
    if (rank == 0)
        CUDA(cudaStreamSynchronize(beside));
    else
        for (int i = 0; i < 1000; i++)
            (void)cudaStreamQuery(beside);
    NCCL(ncclAllReduce(rank == 0 ? second_at : first_at, rank == 0 ? second_at : first_at, 1, ncclInt32, ncclSum,
                       rank == 0 ? second : comm, beside));
    CUDA(cudaStreamSynchronize(beside));
    CUDA(cudaStreamSynchronize(stream));
    EXPECT(seconds() - start < 2);
    NCCL(ncclCommDestroy(second));
    NCCL(ncclCommDestroy(comm));
}

static void ranks_that_wait_for_each_other_go_on(void **state)
{
    in_ranks(2, crossed_body);
}

struct part { /* of a rank that is a thread */
    int number;
    ncclComm_t comm;
    pthread_t thread;
};

static void *be_part(void *argument)
{
    struct part *p = argument;
    cudaStream_t mine;
    void *at;
    CUDA(cudaSetDevice(p->number));
    CUDA(cudaStreamCreateWithFlags(&mine, cudaStreamNonBlocking));
    CUDA(cudaMalloc(&at, 4));
    for (int i = 0; i < 10; i++) {
        usleep(p->number == i % 2 ? 100000 : 0);
        NCCL(ncclAllReduce(at, at, 1, ncclInt32, ncclMax, p->comm, mine));
        while (i % 3 == 0 && cudaStreamQuery(mine) == cudaErrorNotReady) {
        }
        CUDA(cudaStreamSynchronize(mine));
    }
    return NULL;
}

static void threads_body(void)
{
    struct part parts[2] = {{.number = 0}, {.number = 1}};
    ncclComm_t both[2];
    const double start = seconds();
    NCCL(ncclCommInitAll(both, 2, NULL));
    for (int i = 0; i < 2; i++) {
        parts[i].comm = both[i];
        EXPECT(pthread_create(&parts[i].thread, NULL, be_part, &parts[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        EXPECT(pthread_join(parts[i].thread, NULL) == 0);
        NCCL(ncclCommDestroy(both[i]));
    }
    EXPECT(seconds() - start < 5);
}

static void ranks_that_are_threads_go_on(void **state)
{
    in_ranks(1, threads_body);
}

/* One thread asks while another gives the communicator up. */
static void *give_up(void *with)
{
    usleep(200000);
    NCCL(ncclCommAbort(with));
    return NULL;
}

static void aborted_body(void)
{
    pthread_t other;
    int *at = zeros(4);
    begin();
    if (rank == 1)
        wait_until(&measured->may_come);
    if (rank == 0) {
        const double start = seconds();
        add_up(at, comm);
        EXPECT(pthread_create(&other, NULL, give_up, comm) == 0);
        while (cudaStreamQuery(stream) == cudaErrorNotReady) {
        }
        EXPECT(pthread_join(other, NULL) == 0 && seconds() - start < 2);
        measured->may_come = true;
    }
}

static void a_rank_that_is_held_by_another_can_give_up(void **state)
{
    measured->may_come = false;
    in_ranks(2, aborted_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_asks_does_not_run_ahead_of_the_others),
        cmocka_unit_test(a_rank_that_waits_for_something_else_does_not_run_ahead),
        cmocka_unit_test(nor_do_ranks_of_several_communicators),
        cmocka_unit_test(a_rank_that_waits_for_another_in_its_own_way_holds_it_once_and_for_seconds),
        cmocka_unit_test(nor_does_one_that_asks_now_and_then_meanwhile_hold_it_for_longer),
        cmocka_unit_test(a_rank_that_never_comes_and_goes_on_holds_nobody),
        cmocka_unit_test(a_rank_that_dies_holds_nobody),
        cmocka_unit_test(a_rank_that_waits_for_others_to_make_a_communicator_holds_nobody),
        cmocka_unit_test(ranks_that_wait_for_each_other_go_on),
        cmocka_unit_test(ranks_that_are_threads_go_on),
        cmocka_unit_test(a_rank_that_is_held_by_another_can_give_up),
    };
    measured = mmap(NULL, sizeof *measured, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setenv("SIMGPU_DEVICES", "2", 1);
    cmocka_set_test_filter(getenv("ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
