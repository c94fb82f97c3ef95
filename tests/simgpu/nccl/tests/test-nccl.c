/* test-nccl.c - what the ranks of a communicator do together, and what becomes of them when one does not come. */
#include "ranks.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 5000, MOST = 4 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What rank `of` has at place `i`. */
static int value(int of, size_t i)
{
    return (int)(i % 7) + of + 1;
}

static int *mine(size_t count)
{
    int *numbers = malloc(count * sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = value(rank, i);
    return numbers;
}

static int *device_ints(size_t count)
{
    int *numbers = mine(count), *address = on_device(numbers, count * sizeof *numbers);
    free(numbers);
    return address;
}

/* ---- reductions ---- */

static int reduced(ncclRedOp_t op, size_t i)
{
    int result = value(0, i), sum = 0;
    for (int r = 0; r < ranks; r++) {
        const int v = value(r, i);
        sum += v;
        if (r > 0)
            result = op == ncclProd ? result * v : op == ncclMax ? (v > result ? v : result) : v < result ? v : result;
    }
    return op == ncclSum ? sum : op == ncclAvg ? sum / ranks : result;
}

static void sums_body(void)
{
    for (int op = ncclSum; op <= ncclAvg; op++) {
        int *from = device_ints(COUNT), *to = device_ints(COUNT), result[COUNT];
        NCCL(ncclAllReduce(from, to, COUNT, ncclInt32, (ncclRedOp_t)op, comm, stream));
        from_device(to, result, sizeof result);
        for (size_t i = 0; i < COUNT; i++)
            EXPECT(result[i] == reduced((ncclRedOp_t)op, i));
        NCCL(ncclAllReduce(from, from, COUNT, ncclInt32, (ncclRedOp_t)op, comm, stream));
        from_device(from, result, sizeof result);
        for (size_t i = 0; i < COUNT; i++)
            EXPECT(result[i] == reduced((ncclRedOp_t)op, i));
    }
    NCCL(ncclCommDestroy(comm));
}

static void numbers_are_reduced_in_all_ways_and_in_place(void **state)
{
    in_ranks(3, sums_body);
    in_ranks(1, sums_body);
}

/* 1.5 of each rank, and its sum over three, as these types have them. */
static const struct format {
    ncclDataType_t type;
    size_t bytes;
    uint64_t part, sum, least_part, rounded; /* and 1 + two units of half a last place is 1 + one */
} formats[] = {
    {ncclInt8, 1, 0xfe, 0xfa, 0, 0},
    {ncclUint8, 1, 0xfe, 0xfa, 0, 0},
    {ncclUint32, 4, 0xfffffffe, 0xfffffffa, 0, 0},
    {ncclInt64, 8, 0xfffffffffffffffe, 0xfffffffffffffffa, 0, 0},
    {ncclUint64, 8, 0xfffffffffffffffe, 0xfffffffffffffffa, 0, 0},
    {ncclFloat16, 2, 0x3e00, 0x4480, 0x1000, 0x3c01},
    {ncclFloat32, 4, 0x3fc00000, 0x40900000, 0x33800000, 0x3f800001},
    {ncclFloat64, 8, 0x3ff8000000000000, 0x4012000000000000, 0, 0},
    {ncclBfloat16, 2, 0x3fc0, 0x4090, 0x3b80, 0x3f81},
    {ncclFloat8e4m3, 1, 0x3c, 0x49, 0x18, 0x39},
    {ncclFloat8e5m2, 1, 0x3e, 0x44, 0x30, 0x3d},
};

static uint64_t total(const struct format *f, uint64_t part)
{
    uint64_t result = 0;
    void *at = on_device(&part, f->bytes);
    NCCL(ncclAllReduce(at, at, 1, f->type, ncclSum, comm, stream));
    from_device(at, &result, f->bytes);
    CUDA(cudaFree(at));
    return result;
}

static void formats_body(void)
{
    const uint64_t one[] = {[ncclFloat16] = 0x3c00,
                            [ncclFloat32] = 0x3f800000,
                            [ncclBfloat16] = 0x3f80,
                            [ncclFloat8e4m3] = 0x38,
                            [ncclFloat8e5m2] = 0x3c};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct format *f = &formats[i];
        EXPECT(total(f, f->part) == f->sum);
        if (f->rounded)
            EXPECT(total(f, rank == 0 ? one[f->type] : f->least_part) == f->rounded);
    }
    NCCL(ncclCommDestroy(comm));
}

static void every_type_is_summed_and_rounded_once(void **state)
{
    in_ranks(3, formats_body);
}

static void operator_body(void)
{
    const float two = 2;
    float numbers[] = {1, 2, 3};
    float *at = on_device(numbers, sizeof numbers), *scale = on_device(&two, sizeof two);
    ncclRedOp_t here, there;
    NCCL(ncclRedOpCreatePreMulSum(&here, (void *)&two, ncclFloat, ncclScalarHostImmediate, comm));
    NCCL(ncclRedOpCreatePreMulSum(&there, scale, ncclFloat, ncclScalarDevice, comm));
    NCCL(ncclAllReduce(at, at, 3, ncclFloat, here, comm, stream));
    NCCL(ncclAllReduce(at, at, 3, ncclFloat, there, comm, stream));
    from_device(at, numbers, sizeof numbers);
    EXPECT(numbers[0] == 16 && numbers[1] == 32 && numbers[2] == 48);
    NCCL(ncclRedOpDestroy(here, comm));
    EXPECT(ncclAllReduce(at, at, 3, ncclFloat, here, comm, stream) == ncclInvalidArgument);
    NCCL(ncclCommDestroy(comm));
}

static void the_programs_own_operators_multiply_first(void **state)
{
    in_ranks(2, operator_body);
}

/* ---- who gets what ---- */

static void shapes_body(void)
{
    const size_t all = (size_t)ranks * COUNT;
    int *from = device_ints(all), *to = device_ints(all), *result = malloc(all * sizeof *result);
    const int root = ranks - 1;
#define EACH(count, expected) \
    from_device(to, result, (count) * sizeof *result); \
    for (size_t i = 0; i < (count); i++) \
    EXPECT(result[i] == (expected))
    NCCL(ncclBroadcast(from, to, COUNT, ncclInt32, root, comm, stream));
    EACH(COUNT, value(root, i));
    NCCL(ncclReduce(from, to, COUNT, ncclInt32, ncclSum, root, comm, stream));
    EACH(COUNT, rank == root ? reduced(ncclSum, i) : value(root, i));
    NCCL(ncclAllGather(from, to, COUNT, ncclInt32, comm, stream));
    EACH(all, value((int)(i / COUNT), i % COUNT));
    NCCL(ncclReduceScatter(from, to, COUNT, ncclInt32, ncclMax, comm, stream));
    EACH(COUNT, reduced(ncclMax, (size_t)rank * COUNT + i));
    NCCL(ncclAlltoAll(from, to, COUNT, ncclInt32, comm, stream));
    EACH(all, value((int)(i / COUNT), (size_t)rank * COUNT + i % COUNT));
    NCCL(ncclScatter(from, to, COUNT, ncclInt32, root, comm, stream));
    EACH(COUNT, value(root, (size_t)rank * COUNT + i));
    NCCL(ncclGather(from, to, COUNT, ncclInt32, root, comm, stream));
    EACH(all, rank == root ? value((int)(i / COUNT), i % COUNT)
              : i < COUNT  ? value(root, (size_t)rank * COUNT + i)
                           : value((int)(i / COUNT), (size_t)rank * COUNT + i % COUNT));
    NCCL(ncclAllGather(from + rank * COUNT, from, COUNT, ncclInt32, comm, stream));
    CUDA(cudaMemcpyAsync(to, from, all * sizeof *to, cudaMemcpyDeviceToDevice, stream));
    EACH(all, value((int)(i / COUNT), i));
    NCCL(ncclCommDestroy(comm));
}

static void each_rank_gets_its_part(void **state)
{
    in_ranks(3, shapes_body);
    in_ranks(2, shapes_body);
}

/* Everybody sends to everybody, more in one group than a kernel's parameters hold. */
static void exchange_body(void)
{
    enum { TIMES = 150 };
    int *from = device_ints(TIMES), *to[MOST], result[TIMES];
    for (int r = 0; r < ranks; r++)
        to[r] = device_ints(TIMES);
    NCCL(ncclGroupStart());
    for (int i = 0; i < TIMES; i++)
        for (int r = 0; r < ranks; r++) {
            NCCL(ncclSend(from + i, 1, ncclInt32, r, comm, stream));
            NCCL(ncclRecv(to[r] + i, 1, ncclInt32, r, comm, stream));
        }
    NCCL(ncclGroupEnd());
    for (int r = 0; r < ranks; r++) {
        from_device(to[r], result, sizeof result);
        for (size_t i = 0; i < TIMES; i++)
            EXPECT(result[i] == value(r, i));
    }
    NCCL(ncclCommDestroy(comm));
}

static void messages_go_from_each_to_each_in_order(void **state)
{
    in_ranks(3, exchange_body);
}

static void rounds_body(void)
{
    cudaStream_t other;
    unsigned char ones[COUNT];
    int *at = device_ints(COUNT), result[COUNT];
    unsigned char *flags = on_device(memset(ones, 1, sizeof ones), sizeof ones);
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    for (int i = 0; i < 600; i++) { /* more than a channel has posts at a time; on two streams in turn */
        NCCL(ncclAllReduce(at, at, COUNT, ncclInt32, i % 2 ? ncclMax : ncclMin, comm, i % 3 ? stream : other));
        CUDA(cudaStreamSynchronize(i % 3 ? stream : other));
    }
    NCCL(ncclAllReduce(flags, flags, COUNT, ncclUint8, ncclSum, comm, other));
    NCCL(ncclAllReduce(flags, flags, COUNT, ncclUint8, ncclSum, comm,
                       stream)); /* behind the one before, on whatever stream */
    from_device(flags, ones, sizeof ones);
    EXPECT(ones[0] == 4 && ones[COUNT - 1] == 4);
    from_device(at, result, sizeof result);
    EXPECT(result[0] == value(0, 0));
    NCCL(ncclCommDestroy(comm));
}

static void rounds_follow_each_other_on_any_stream(void **state)
{
    in_ranks(2, rounds_body);
}

static void split_body(void)
{
    ncclComm_t half, none;
    int count, own, device, *at = device_ints(1), result;
    NCCL(ncclCommSplit(comm, rank % 2, -rank, &half, NULL));
    NCCL(ncclCommCount(half, &count));
    NCCL(ncclCommUserRank(half, &own));
    NCCL(ncclCommCuDevice(half, &device));
    EXPECT(count == 2 && own == (rank < 2) && device == 0);
    NCCL(ncclAllReduce(at, at, 1, ncclInt32, ncclSum, half, stream));
    from_device(at, &result, sizeof result);
    EXPECT(result == value(rank, 0) + value((rank + 2) % 4, 0));
    NCCL(ncclCommSplit(comm, rank == 3 ? 7 : NCCL_SPLIT_NOCOLOR, 0, &none, NULL));
    EXPECT((none != NULL) == (rank == 3));
    NCCL(ncclCommDestroy(half));
    NCCL(ncclCommFinalize(comm));
    NCCL(ncclCommDestroy(comm));
}

static void a_communicator_is_split(void **state)
{
    in_ranks(4, split_body);
}

/* ---- waiting ---- */

static void waits_body(void)
{
    cudaStream_t beside;
    int *at = device_ints(COUNT), *other = device_ints(COUNT), result[COUNT];
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    if (rank == 1)
        usleep(400000);
    NCCL(ncclAllReduce(at, at, COUNT, ncclInt32, ncclSum, comm, stream));
    CUDA(cudaMemsetAsync(at, 0, 4, stream));
    if (rank == 0) { /* all else goes on meanwhile */
        CUDA(cudaMemsetAsync(other, 0, COUNT * sizeof *other, beside));
        CUDA(cudaStreamSynchronize(beside));
        EXPECT(cudaStreamQuery(stream) == cudaErrorNotReady);
    }
    from_device(at, result, sizeof result);
    EXPECT(result[0] == 0);
    for (size_t i = 1; i < COUNT; i++)
        EXPECT(result[i] == reduced(ncclSum, i));
    NCCL(ncclCommDestroy(comm));
}

static void a_collective_holds_its_stream_alone_until_all_have_come(void **state)
{
    in_ranks(2, waits_body);
}

static float elapsed_ms(void *at, size_t count)
{
    cudaEvent_t before, after;
    float ms;
    CUDA(cudaEventCreate(&before));
    CUDA(cudaEventCreate(&after));
    CUDA(cudaEventRecord(before, stream));
    NCCL(ncclAllReduce(at, at, count, ncclUint8, ncclMax, comm, stream));
    CUDA(cudaEventRecord(after, stream));
    CUDA(cudaEventSynchronize(after));
    CUDA(cudaEventElapsedTime(&ms, before, after));
    return ms;
}

static void cost_body(void)
{
    enum { LARGE = 16 << 20 };
    const float link_ms = LARGE / 370e6f;
    void *at;
    CUDA(cudaMalloc(&at, LARGE));
    CUDA(cudaMemsetAsync(at, rank, LARGE, stream));
    (void)elapsed_ms(at, 1); /* from here on their clocks are the same */
    CUDA(cudaStreamSynchronize(stream));
    const float small = elapsed_ms(at, 1), large = elapsed_ms(at, LARGE);
    EXPECT(small >= 0.015f && small < 0.03f);
    EXPECT(large - small > link_ms - 1e-3f && large - small < link_ms + 1e-3f);
    NCCL(ncclCommDestroy(comm));
}

static void it_costs_what_the_link_takes(void **state)
{
    in_ranks(2, cost_body);
}

static void unordered_body(void)
{
    cudaStream_t other;
    int *at = device_ints(COUNT);
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    NCCL(ncclAllReduce(at, at, COUNT, ncclInt32, ncclSum, comm, stream));
    (void)cudaMemsetAsync(at, 0, 4, other);
    EXPECT(cudaStreamSynchronize(other) == cudaErrorLaunchFailure);
}

static void what_does_not_wait_for_a_collective_is_found(void **state)
{
    in_ranks(2, unordered_body);
}

/* ---- what goes wrong ---- */

static ncclResult_t error_within(double most)
{
    const double start = seconds();
    ncclResult_t error = ncclSuccess;
    while (error == ncclSuccess && seconds() - start < most) {
        EXPECT(cudaStreamQuery(stream) == cudaErrorNotReady);
        NCCL(ncclCommGetAsyncError(comm, &error));
        usleep(1000);
    }
    return error;
}

static void killed_body(void)
{
    int *at = device_ints(COUNT);
    NCCL(ncclAllReduce(at, at, COUNT, ncclInt32, ncclMax, comm, stream));
    CUDA(cudaStreamSynchronize(stream));
    if (rank == 1)
        raise(SIGKILL);
    NCCL(ncclAllReduce(at, at, COUNT, ncclInt32, ncclMax, comm, stream));
    EXPECT(error_within(5) == ncclRemoteError);
    NCCL(ncclCommAbort(comm));
    CUDA(cudaStreamSynchronize(stream));
}

static void a_rank_that_dies_is_an_error_of_the_others(void **state)
{
    int ends[3];
    run_ranks(3, killed_body, ends);
    assert_int_equal(ends[0], 0);
    assert_int_equal(ends[1], KILLED);
    assert_int_equal(ends[2], 0);
}

static void abort_body(void)
{
    int *at = device_ints(COUNT);
    ncclResult_t error;
    if (rank == 0) {
        NCCL(ncclAllReduce(at, at, COUNT, ncclInt32, ncclMax, comm, stream));
        usleep(200000);
        NCCL(ncclCommGetAsyncError(comm, &error));
        EXPECT(error == ncclSuccess);
    } else {
        sleep(1);
    }
    NCCL(ncclCommAbort(comm));
    CUDA(cudaStreamSynchronize(stream));
}

static void what_is_aborted_ends(void **state)
{
    in_ranks(2, abort_body);
}

static void disagreement_body(void)
{
    int *at = device_ints(COUNT);
    NCCL(ncclAllReduce(at, at, rank ? COUNT : COUNT - 1, ncclInt32, ncclMax, comm, stream));
    EXPECT(error_within(5) == ncclInvalidUsage);
    NCCL(ncclCommAbort(comm));
}

static void ranks_that_want_different_things_are_told(void **state)
{
    in_ranks(2, disagreement_body);
}

static void wrong_body(void)
{
    int *at = device_ints(COUNT), version;
    EXPECT(ncclBroadcast(at, at, COUNT, ncclInt32, ranks, comm, stream) == ncclInvalidArgument);
    EXPECT(ncclAllReduce(NULL, at, COUNT, ncclInt32, ncclSum, comm, stream) == ncclInvalidArgument);
    EXPECT(ncclAllReduce(at, at, COUNT, ncclNumTypes, ncclSum, comm, stream) == ncclInvalidArgument);
    EXPECT(ncclGroupEnd() == ncclInvalidUsage);
    EXPECT(!strcmp(ncclGetErrorString(ncclRemoteError), "remote process exited or there was a network error"));
    EXPECT(strlen(ncclGetLastError(comm)) > 0);
    NCCL(ncclGetVersion(&version));
    EXPECT(version == NCCL_VERSION_CODE);
    NCCL(ncclCommDestroy(comm));
    EXPECT(ncclAllReduce(at, at, COUNT, ncclInt32, ncclSum, comm, stream) == ncclInvalidArgument);
}

static void wrong_arguments_are_refused(void **state)
{
    in_ranks(1, wrong_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_reduced_in_all_ways_and_in_place),
        cmocka_unit_test(every_type_is_summed_and_rounded_once),
        cmocka_unit_test(the_programs_own_operators_multiply_first),
        cmocka_unit_test(each_rank_gets_its_part),
        cmocka_unit_test(messages_go_from_each_to_each_in_order),
        cmocka_unit_test(rounds_follow_each_other_on_any_stream),
        cmocka_unit_test(a_communicator_is_split),
        cmocka_unit_test(a_collective_holds_its_stream_alone_until_all_have_come),
        cmocka_unit_test(it_costs_what_the_link_takes),
        cmocka_unit_test(what_does_not_wait_for_a_collective_is_found),
        cmocka_unit_test(a_rank_that_dies_is_an_error_of_the_others),
        cmocka_unit_test(what_is_aborted_ends),
        cmocka_unit_test(ranks_that_want_different_things_are_told),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    cmocka_set_test_filter(getenv("ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
