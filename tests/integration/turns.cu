/* turns.cu - equal nets on one device that are trained in turn, a step each, and evaluations in between.
 *
 *     turns [--nets N] [--layers N] [--steps N] [--kibibytes N] [--evaluate-every N]
 *
 * --evaluate-every: after so many steps, of whichever net, that net is evaluated. Prints the loss of each step, and how long
 * each took with the evaluation behind it. Exit status 3: a CUDA call failed. */
#include "nets.h"

static int evaluate_every = 0;

static void read_options(char **argv)
{
    for (char **at = argv + 1; *at; at++)
        if (strcmp(*at, "--evaluate-every") == 0 && at[1])
            evaluate_every = atoi(*++at);
        else if (!read_number(at))
            wonder(*at);
}

int main(int argc, char **argv)
{
    (void)argc;
    read_options(argv);
    std::vector<net> nets;
    std::vector<float> times_ms;
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    nets.reserve((size_t)o.nets);
    for (int i = 0; i < o.nets; i++)
        nets.emplace_back(i);
    for (int step = 0; step < o.steps; step++) {
        net &one = nets[(size_t)(step % o.nets)];
        float ms;
        CHECK(cudaEventRecord(begin, one.stream));
        one.submit();
        if (evaluate_every && (step + 1) % evaluate_every == 0)
            one.evaluate();
        CHECK(cudaEventRecord(end, one.stream));
        printf("loss %d 0x%08x\n", one.number, one.finish());
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        times_ms.push_back(ms);
    }
    printf("step_ms_each");
    for (float ms : times_ms)
        printf(" %.3f", ms);
    printf("\n");
    for (net &one : nets)
        one.close();
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    return 0;
}
