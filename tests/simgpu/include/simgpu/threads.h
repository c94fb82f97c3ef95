/* threads.h - runs the threads of one block: as plain calls one after another, until one of them waits for the others.
 *
 * The first thread that reaches a barrier stays on the stack where it is. The threads after it become fibres (contexts with
 * stacks of their own), and from then on a thread that waits switches to the next one. So a kernel without barriers costs
 * nothing extra, and a barrier may be in any function. Threads before the first waiting one have returned, which counts as
 * having left every barrier, as on a GPU. */
#ifndef SIMGPU_THREADS_H
#define SIMGPU_THREADS_H
#pragma GCC system_header

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <ucontext.h>
#include <vector>
#include "place.h"

namespace simgpu
{
constexpr unsigned warp_threads = 32;
constexpr size_t fibre_stack_bytes = 128 * 1024;

/* What the lanes of a warp exchange. */
struct warp_state {
    uint32_t waiting = 0; /* lanes that still wait inside sync() */
    uint64_t slots[warp_threads] = {};
};

class block_threads
{
  public:
    /* Runs `call(closure)` once per thread of a block of the present blockDim. */
    void run(void (*call)(void *closure), void *closure);

    void barrier();
    unsigned count_at_barrier(bool predicate); /* a barrier that returns how many of the threads passed true */
    void warp_barrier(uint32_t lanes);         /* waits for those of the lanes that have not returned */

    /* Returns the value that the source lane passed. */
    uint64_t exchange(uint32_t lanes, uint64_t value, unsigned source_lane);
    /* Returns one bit for each lane that passed true. */
    uint32_t vote(uint32_t lanes, bool predicate);
    uint32_t live_lanes() const;
    unsigned lane() const
    {
        return current_ % warp_threads;
    }

  private:
    struct fibre {
        ucontext_t context;
        bool returned = false;
    };

    static void fibre_main(unsigned low, unsigned high);
    void become_fibres();
    void start_fibre(unsigned thread);
    void hand_over();
    void finish();
    void place(unsigned thread);
    uint32_t live_lanes_of(unsigned warp) const;

    void (*call_)(void *closure) = nullptr;
    void *closure_ = nullptr;
    unsigned count_ = 0;   /* threads in the block */
    unsigned current_ = 0; /* the running thread, in the order of its index */
    unsigned first_ = 0;   /* the thread on the caller's stack, once there are fibres */
    unsigned live_ = 0;    /* threads that have not returned, once there are fibres */
    unsigned arrived_ = 0;
    uint64_t barriers_ = 0; /* number of barriers that have opened */
    /* Switches since a thread last made progress; more than a few rounds: none ever will. */
    uint64_t handed_over_ = 0;
    unsigned true_ = 0, true_result_ = 0;
    bool fibres_started_ = false;
    std::vector<fibre> fibres_;
    std::vector<warp_state> warps_;
    std::unique_ptr<char[]> stacks_;
    size_t stacks_bytes_ = 0;
};

/* Never destroyed, since kernels may still run while the process ends. */
inline block_threads &threads()
{
    static thread_local block_threads *self = new block_threads;
    return *self;
}

inline void block_threads::place(unsigned thread)
{
    current_ = thread;
    threadIdx.x = thread % blockDim.x;
    threadIdx.y = thread / blockDim.x % blockDim.y;
    threadIdx.z = thread / blockDim.x / blockDim.y;
}

inline void block_threads::run(void (*call)(void *closure), void *closure)
{
    call_ = call;
    closure_ = closure;
    count_ = blockDim.x * blockDim.y * blockDim.z;
    fibres_started_ = false;
    for (unsigned thread = 0; thread < count_; thread++) {
        place(thread);
        call_(closure_);
        if (fibres_started_) {
            finish();
            return;
        }
    }
}

/* Makes fibres: the current thread, on the caller's stack, is the first to wait, and all after it get stacks of their
 * own. */
inline void block_threads::become_fibres()
{
    fibres_started_ = true;
    first_ = current_;
    live_ = count_ - first_;
    arrived_ = 0;
    handed_over_ = 0;
    true_ = 0;
    fibres_.resize(count_);
    warps_.assign((count_ + warp_threads - 1) / warp_threads, warp_state());
    if (stacks_bytes_ < count_ * fibre_stack_bytes) {
        stacks_bytes_ = count_ * fibre_stack_bytes;
        stacks_.reset(new char[stacks_bytes_]);
    }
    for (unsigned thread = 0; thread < count_; thread++) {
        fibres_[thread].returned = thread < first_;
        if (thread > first_)
            start_fibre(thread);
    }
}

inline void block_threads::start_fibre(unsigned thread)
{
    ucontext_t &context = fibres_[thread].context;
    const uintptr_t self = reinterpret_cast<uintptr_t>(this);
    getcontext(&context);
    context.uc_stack.ss_sp = stacks_.get() + thread * fibre_stack_bytes;
    context.uc_stack.ss_size = fibre_stack_bytes;
    context.uc_link = nullptr;
    /* makecontext() passes ints only. */
    makecontext(&context, reinterpret_cast<void (*)()>(fibre_main), 2, static_cast<unsigned>(self),
                static_cast<unsigned>(self >> 32));
}

inline void block_threads::fibre_main(unsigned low, unsigned high)
{
    block_threads *self =
        reinterpret_cast<block_threads *>(static_cast<uintptr_t>(low) | static_cast<uintptr_t>(high) << 32);
    self->call_(self->closure_);
    self->fibres_[self->current_].returned = true;
    self->live_--;
    self->handed_over_ = 0;
    self->hand_over();
}

/* Switches to the next thread; returns when it is this thread's turn again. For a thread that has returned, it only
 * returns if that is the one on the caller's stack and all are done. */
inline void block_threads::hand_over()
{
    const unsigned self = current_;
    unsigned next = self;
    if (++handed_over_ > 4 * static_cast<uint64_t>(count_) + 4) {
        std::fprintf(stderr, "simgpu: threads of a block wait for each other for ever (a barrier that some threads skip)\n");
        std::abort();
    }
    do
        next = next + 1 < count_ ? next + 1 : first_;
    while (next != self && fibres_[next].returned);
    if (live_ == 0)
        next = first_;
    if (next == self)
        return;
    place(next);
    swapcontext(&fibres_[self].context, &fibres_[next].context);
    place(self);
}

/* The thread on the caller's stack has returned: runs the others until they have returned too. */
inline void block_threads::finish()
{
    fibres_[first_].returned = true;
    live_--;
    handed_over_ = 0;
    while (live_ > 0) {
        place(first_);
        hand_over();
    }
    fibres_started_ = false;
}

inline void block_threads::barrier()
{
    if (count_ == 1)
        return;
    if (!fibres_started_)
        become_fibres();
    const uint64_t mine = barriers_;
    arrived_++;
    while (barriers_ == mine) {
        if (arrived_ >= live_) {
            arrived_ = 0;
            true_result_ = true_;
            true_ = 0;
            barriers_++;
            handed_over_ = 0;
        } else {
            hand_over();
        }
    }
}

inline unsigned block_threads::count_at_barrier(bool predicate)
{
    if (count_ == 1)
        return predicate;
    if (!fibres_started_)
        become_fibres();
    true_ += predicate;
    barrier();
    const unsigned result = true_result_;
    barrier(); /* no thread starts the next count before all have read this one */
    return result;
}

inline uint32_t block_threads::live_lanes_of(unsigned warp) const
{
    uint32_t lanes = 0;
    for (unsigned lane = 0; lane < warp_threads && warp * warp_threads + lane < count_; lane++)
        lanes |= static_cast<uint32_t>(!fibres_[warp * warp_threads + lane].returned) << lane;
    return lanes;
}

inline uint32_t block_threads::live_lanes() const
{
    if (fibres_started_)
        return live_lanes_of(current_ / warp_threads);
    const unsigned first = current_ / warp_threads * warp_threads;
    const unsigned lanes = count_ - first < warp_threads ? count_ - first : warp_threads;
    return (lanes == warp_threads ? ~0u : (1u << lanes) - 1) & ~((1u << (current_ - first)) - 1);
}

inline void block_threads::warp_barrier(uint32_t lanes)
{
    if (count_ == 1)
        return;
    if (!fibres_started_)
        become_fibres();
    const uint32_t me = 1u << lane();
    warp_state &warp = warps_[current_ / warp_threads];
    warp.waiting |= me;
    lanes |= me;
    for (;;) {
        const uint32_t expected = lanes & live_lanes_of(current_ / warp_threads);
        if (!(warp.waiting & me))
            return;
        if ((warp.waiting & expected) == expected) {
            warp.waiting &= ~expected;
            handed_over_ = 0;
            return;
        }
        hand_over();
    }
}

inline uint64_t block_threads::exchange(uint32_t lanes, uint64_t value, unsigned source_lane)
{
    if (count_ == 1)
        return value;
    if (!fibres_started_)
        become_fibres();
    warp_state &warp = warps_[current_ / warp_threads];
    warp.slots[lane()] = value;
    warp_barrier(lanes);
    const bool there = (lanes & live_lanes_of(current_ / warp_threads)) >> source_lane & 1;
    const uint64_t result = there ? warp.slots[source_lane] : value;
    warp_barrier(lanes);
    return result;
}

inline uint32_t block_threads::vote(uint32_t lanes, bool predicate)
{
    if (count_ == 1)
        return predicate ? 1u << lane() : 0;
    if (!fibres_started_)
        become_fibres();
    warp_state &warp = warps_[current_ / warp_threads];
    uint32_t result = 0;
    warp.slots[lane()] = predicate;
    warp_barrier(lanes);
    const uint32_t voters = lanes & live_lanes_of(current_ / warp_threads);
    for (unsigned other = 0; other < warp_threads; other++)
        result |= static_cast<uint32_t>((voters >> other & 1) && warp.slots[other]) << other;
    warp_barrier(lanes);
    return result;
}
} // namespace simgpu
#endif
