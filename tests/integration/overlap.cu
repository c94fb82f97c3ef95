// overlap.cu - a training step of which each launch may begin before the kernel ahead of it has ended (programmatic
// dependent launch), and waits for it where it has to. Knows nothing of spillway. Prints a digest of what is left after each
// step.
//
//     overlap [STEPS]
#include "chain.h"

struct Overlapping {
    cudaStream_t stream;

    template <class... P, class... A> void operator()(void (*kernel)(P...), A... given) const
    {
        cudaLaunchAttribute attribute = {};
        cudaLaunchConfig_t config = {};
        void *list[] = {&given...};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        config.gridDim = dim3(1);
        config.blockDim = dim3(THREADS);
        config.stream = stream;
        config.attrs = &attribute;
        config.numAttrs = 1;
        CHECK(cudaLaunchKernelExC(&config, (const void *)kernel, list));
    }
};

int main(int argc, char **argv)
{
    Chain chain;
    for (int step = 0; step < (argc > 1 ? std::atoi(argv[1]) : 24); step++)
        chain.run_step(step, Overlapping{chain.stream});
    return 0;
}
