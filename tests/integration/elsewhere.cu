/* elsewhere.cu - a net trains in one thread while another captures in global mode, PyTorch's default, again and again and
 * whenever it comes to it; each graph is launched when it is there,
 * the first of them all the time until the second step, each time with a word written by the stream itself behind it.
 *
 *     elsewhere [--layers N] [--steps N] [--kibibytes N]
 *
 * The training itself calls nothing that such a capture forbids. Prints the losses, and whether what the graphs made was
 * right; to stderr how many were captured while it trained. Exit status 3: a CUDA call failed, as the end of a capture does
 * that was made invalid. */
#include <atomic>
#include <cuda.h>
#include <thread>
#include <unistd.h>

#include "nets.h"

enum { MIXED = 4, PAUSE_US = 700, WORD = 0x3f7 }; /* kernels in a graph; the longest pause between two */

static std::atomic<bool> captured, began, trained; /* the first graph is there; the first step is over; all of them are */

struct capturer {
    cudaStream_t stream;
    float *a, *b, *result; /* these live as long as the program; result[1] is the word that the stream writes */
    uint64_t captures = 0, wrong = 0, random = 1;

    capturer()
    {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaMallocHost((void **)&result, 2 * sizeof *result));
        a = make_weight(stream, 1);
        b = make_weight(stream, 2);
    }

    void pause()
    {
        random = random * 6364136223846793005u + 1442695040888963407u;
        usleep((useconds_t)((random >> 33) % PAUSE_US));
    }

    static void check_written(CUresult r)
    {
        if (r != CUDA_SUCCESS) {
            fprintf(stderr, "elsewhere: cuStreamWriteValue32: error %d\n", (int)r);
            exit(3);
        }
    }

    cudaGraphExec_t capture()
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
        captures++;
        return exec;
    }

    void launch(cudaGraphExec_t exec)
    {
        result[0] = result[1] = 0;
        CHECK(cudaGraphLaunch(exec, stream));
        check_written(cuStreamWriteValue32(stream, (CUdeviceptr)(uintptr_t)(a + 2), WORD, 0));
        CHECK(cudaMemcpyAsync(result + 1, a + 2, sizeof *result, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        const uint32_t word = WORD;
        const float each = (float)((1 * 31 + 2 * 17) % 101) / 101.0f; /* b[1], as make_weight() says */
        wrong +=
            *result != 0.5f * each + 0.5f * each + 0.5f * each + 0.5f * each || memcmp(result + 1, &word, sizeof word) != 0;
    }

    void work()
    {
        cudaGraphExec_t exec = capture();
        for (captured = true; !began;)
            launch(exec);
        while (!trained) {
            CHECK(cudaGraphExecDestroy(exec));
            exec = capture();
            pause();
            launch(exec);
            pause();
        }
        CHECK(cudaGraphExecDestroy(exec));
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
    while (!captured)
        usleep(PAUSE_US);
    for (int step = 0; step < o.steps; step++) {
        net.submit();
        losses.push_back(net.finish());
        began = true;
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
