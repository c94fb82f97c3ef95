/* device.h - the device as the training programs use it: its streams by what they are for, and memory that is freed in
 * stream order after its last use.
 *
 * Every failure of a CUDA call ends the program: the call, its place and the error's name on stderr, exit status 3. */
#ifndef WORKLOADS_DEVICE_H
#define WORKLOADS_DEVICE_H
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#define CHECK(call) check_result((call), #call, __FILE__, __LINE__)
/* After <<<>>>: reports what the launch itself refused. */
#define CHECK_LAUNCH(kernel) check_result(cudaGetLastError(), "launch of " #kernel, __FILE__, __LINE__)

void check_result(cudaError_t result, const char *call, const char *file, int line);

/* What work is for. With one stream all of it is in one order; with more, the roles that the streams suffice for get
 * their own: two streams part COMPUTE from the rest, three part COPY too, four give each role its own. */
enum role { COMPUTE, COPY, WEIGHTS, UPDATE };

enum allocator {
    ALLOCATE_ASYNC, /* cudaMallocAsync, cudaFreeAsync */
    ALLOCATE_PLAIN  /* cudaMalloc, cudaFree */
};

/* Chooses the device and makes its streams. `streams` is 1 to 4. */
void device_open(int device, int streams, enum allocator allocator);
/* Waits for all work and gives the streams back; all memory must have been freed. */
void device_close(void);

cudaStream_t stream_of(enum role role);

/* Work given to `after` from now on starts when all work given to `before` so far has ended. */
void order_after(enum role before, enum role after);
void wait_for_device(void);

/* Bytes in memory blocks that are alive at once, at most, as the program asked for them. */
size_t peak_live_bytes(void);

/* A piece of device memory. It comes in stream order of the role that allocates it and goes in stream order after
 * everything that was given, until it dies, to the streams it was used on. */
class block
{
  public:
    block(size_t bytes, enum role role);
    ~block();
    block(const block &) = delete;
    block &operator=(const block &) = delete;

    void *address() const
    {
        return where;
    }
    /* Says that work of this role uses the block too. */
    void used_for(enum role role);
    bool used_on_one_stream() const
    {
        return (streams_used & (streams_used - 1)) == 0;
    }

  private:
    void *where = nullptr;
    size_t size_bytes;
    unsigned streams_used; /* bit i: stream i */
};
#endif
