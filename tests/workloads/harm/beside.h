/* beside.h - a second thread that captures graphs in the strictest mode, all the while that the program trains.
 *
 * Its tensors and its stream are its own. A capture in this mode is invalidated by every call that is not allowed during
 * one, whichever thread makes it; so what the program itself does beside it must be allowed (--alloc async). */
#ifndef HARM_BESIDE_H
#define HARM_BESIDE_H
#include "layer.h"
#include <atomic>
#include <thread>

class beside
{
  public:
    /* Launches a graph, for which nobody waits in the first step, and begins to capture from the second one on. A graph is
     * launched `launches` times then, the n-th not before step n * `period`. */
    beside(training &t, size_t count, int launches, int period);
    ~beside();
    void at_step(int number)
    {
        step = number;
    }
    /* Ends the thread, once it has launched all; what it made of its tensor, whose work is done. */
    words result();

  private:
    void run();
    cudaGraphExec_t captured();

    words first, second;
    cudaStream_t stream;
    cudaGraphExec_t early;
    std::atomic<int> step{0};
    const int launches, period;
    std::thread thread;
};
#endif
