/* elsewhere.cu - a net trains in one thread while another captures in global mode, PyTorch's default, again and again and
 * whenever it comes to it; each graph is launched when it is there.
 *
 *     elsewhere [--layers N] [--steps N] [--kibibytes N]
 *
 * The training itself calls nothing that such a capture forbids. Prints the losses, and whether what the graphs made was
 * right; to stderr how many were captured while it trained. Exit status 3: a CUDA call failed, as the end of a capture does
 * that was made invalid. */
#include <atomic>
#include <thread>
#include <unistd.h>

#include "nets.h"

enum { MIXED = 4, PAUSE_US = 700 }; /* kernels in a graph; the longest pause between two */

static std::atomic<bool> trained;

struct capturer {
    cudaStream_t stream;
    float *a, *b, *result; /* these live as long as the program */
    uint64_t captures = 0, wrong = 0, random = 1;

    capturer()
    {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaMallocHost((void **)&result, sizeof *result));
        a = make_weight(stream, 1);
        b = make_weight(stream, 2);
    }

    void pause()
    {
        random = random * 6364136223846793005u + 1442695040888963407u;
        usleep((useconds_t)((random >> 33) % PAUSE_US));
    }

    void capture_once()
    {
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        CHECK(cudaMemsetAsync(a, 0, tensor_bytes(), stream));
        for (int i = 0; i < MIXED; i++) {
            pause();
            update<<<1, 1, 0, stream>>>(a, b, 0.5f, tensor_length());
            CHECK(cudaGetLastError());
        }
        CHECK(cudaMemcpyAsync(result, a + 1, sizeof *result, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        CHECK(cudaGraphDestroy(graph));
        pause();
        *result = 0;
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaGraphExecDestroy(exec));
        const float each = (float)((1 * 31 + 2 * 17) % 101) / 101.0f; /* b[1], as make_weight() says */
        wrong += *result != 0.5f * each + 0.5f * each + 0.5f * each + 0.5f * each;
        captures++;
    }

    void work()
    {
        while (!trained) {
            capture_once();
            pause();
        }
    }
};

int main(int argc, char **argv)
{
    (void)argc;
    for (char **at = argv + 1; *at; at++)
        if (!read_number(at))
            wonder(*at);
    struct net net(0);
    capturer other;
    std::thread thread([&other] { other.work(); });
    std::vector<uint32_t> losses;
    for (int step = 0; step < o.steps; step++) {
        net.submit();
        losses.push_back(net.finish());
    }
    trained = true;
    thread.join();
    for (size_t step = 0; step < losses.size(); step++)
        printf("step %zu loss 0x%08x\n", step + 1, losses[step]);
    printf("graphs made %s\n", other.wrong ? "something else" : "what they should");
    fprintf(stderr, "elsewhere: %llu captures\n", (unsigned long long)other.captures);
    net.close();
    CHECK(cudaFreeAsync(other.a, other.stream));
    CHECK(cudaFreeAsync(other.b, other.stream));
    CHECK(cudaStreamSynchronize(other.stream));
    CHECK(cudaFreeHost(other.result));
    CHECK(cudaStreamDestroy(other.stream));
    return 0;
}
