/* beside.h - a second thread that works on a stream of its own, all the while that the program trains.
 *
 * Its tensors are its own. Either it captures graphs in the strictest mode: such a capture is invalidated by every call that
 * is not allowed during one, whichever thread makes it, so what the program itself does beside it must be allowed (--alloc
 * async). Or it launches kernels, and allocates and frees what these work on. */
#ifndef HARM_BESIDE_H
#define HARM_BESIDE_H
#include "options.h"
#include <atomic>
#include <thread>

class beside
{
  public:
    /* Launches a graph, and a kernel on the default stream, for which nobody waits in the first step; one that captures has
     * a capture open through all of that step. From the second one on the thread has `turns` turns, the n-th not before
     * step n * `period`. */
    beside(training &t, size_t count, enum beside_work work, int turns, int period);
    ~beside();
    void at_step(int number)
    {
        step = number;
    }
    /* Ends the thread, once it has had all turns. All its work is done then. */
    void end();

  private:
    void run();
    cudaGraphExec_t captured(int until);
    void launch_some();

    words first, second, idle; /* the last one is used by the default stream, once */
    cudaStream_t stream;
    cudaGraphExec_t early;
    std::atomic<int> step{0};
    std::atomic<bool> has_begun{false};
    const enum beside_work work;
    const int turns, period;
    std::thread thread;
};
#endif
