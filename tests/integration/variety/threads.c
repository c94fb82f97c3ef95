/* threads.c - four threads, each with a stream, tensors that come and go, and a part in one tensor that all of them write in
 * turn; who comes next waits for an event of who came before. */
#include <pthread.h>

#include "driver.h"

enum { THREADS = 4, ROUNDS = 12, TENSORS = 5, PIECE = 128 << 10 };

static CUcontext context;
static CUdeviceptr shared_tensor;
static CUevent done[THREADS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static unsigned turn;
static uint64_t sums[THREADS];

/* Adds this thread's bytes to the shared tensor, when it is its turn; the host waits for the order only, not for the device.
 */
static void take_turn(unsigned me, unsigned round, CUstream stream, CUdeviceptr own)
{
    pthread_mutex_lock(&lock);
    while (turn != round * THREADS + me)
        pthread_cond_wait(&turned, &lock);
    if (turn > 0)
        CHECK(cuStreamWaitEvent(stream, done[(me + THREADS - 1) % THREADS], 0));
    size_t at = (size_t)(round * 7 + me * 3) % 16 * (PIECE / 32);
    CHECK(cuMemcpyDtoDAsync(shared_tensor + at, own + me * 64, PIECE / 2, stream));
    CHECK(cuEventRecord(done[me], stream));
    turn++;
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&lock);
}

static void one_round(unsigned me, unsigned round, CUstream stream, CUdeviceptr *tensor, unsigned char *host)
{
    for (unsigned i = 0; i < TENSORS; i++) {
        if ((round + i) % 3 == 0) { /* a new one in the place of an old one */
            CHECK(cuMemFreeAsync(tensor[i], stream));
            CHECK(cuMemAllocAsync(&tensor[i], PIECE, stream));
            CHECK(cuMemcpyDtoDAsync(tensor[i], tensor[(i + 1) % TENSORS], PIECE, stream));
        }
        CHECK(cuMemsetD8Async(tensor[i] + round * 100 + me, (unsigned char)(round * 16 + i), 3000, stream));
        CHECK(cuMemcpyDtoDAsync(tensor[i] + PIECE / 2, tensor[(i + 2) % TENSORS], PIECE / 4, stream));
    }
    take_turn(me, round, stream, tensor[round % TENSORS]);
    CHECK(cuMemcpyDtoHAsync(host, tensor[(round + 2) % TENSORS], PIECE, stream));
    CHECK(cuStreamSynchronize(stream));
    sums[me] = sums[me] * 31 + sum_of(host, PIECE);
}

static void *work(void *argument)
{
    unsigned me = (unsigned)(uintptr_t)argument;
    CUdeviceptr tensor[TENSORS];
    CUstream stream;
    unsigned char *host = host_bytes(PIECE);
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < TENSORS; i++) {
        CHECK(cuMemAllocAsync(&tensor[i], PIECE, stream));
        pattern(host, PIECE, me * 10 + i);
        CHECK(cuMemcpyHtoDAsync(tensor[i], host, PIECE, stream));
        CHECK(cuStreamSynchronize(stream));
    }
    for (unsigned round = 0; round < ROUNDS; round++)
        one_round(me, round, stream, tensor, host);
    for (unsigned i = 0; i < TENSORS; i++)
        CHECK(cuMemFreeAsync(tensor[i], stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuStreamDestroy(stream));
    free(host);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    (void)start();
    CHECK(cuCtxGetCurrent(&context));
    CHECK(cuMemAlloc(&shared_tensor, PIECE));
    fill_device(shared_tensor, PIECE, 99);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(cuEventCreate(&done[i], CU_EVENT_DISABLE_TIMING));
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) != 0)
            return EXIT_WRONG;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        printf("thread %u: %016llx\n", i, (unsigned long long)sums[i]);
    }
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(cuEventDestroy(done[i]));
    printf("shared: %016llx\n", (unsigned long long)device_sum(shared_tensor, PIECE));
    CHECK(cuMemFree(shared_tensor));
    return 0;
}
