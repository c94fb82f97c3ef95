/* incidents.cu - nets that train on one device, a thread each, and what happens to the first of them in the middle of a
 * step: children, contexts that go, memory that is known by its address from then on.
 *
 *     incidents [--nets N] [--turns] [--own-context] [--layers N] [--steps N] [--kibibytes N]
 *               [--leftovers N [--nothing | --optional]] [--at STEP,STEP...] [--between] [INCIDENT]
 *
 * Several nets share some of their weights, which change between steps. --turns: their threads submit a layer each in turn;
 * otherwise as they come. INCIDENT is one of `incidents` below and happens in the middle of the steps of --at, which count
 * from 1, or with --between before them. Prints the losses and what came of the
 * children. Exit status 3: a CUDA call failed. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "nets.h"

static struct {
    bool own_context = false, between = false;
    std::vector<int> at;
    std::string incident;
} told;

/* ---- what happens ---- */

struct child {
    pid_t id;
    FILE *said; /* its standard output */
};
static std::vector<child> children;
static CUcontext own;

static void make_context()
{
    CHECK(cuInit(0));
    if (told.own_context)
        CHECK(cuCtxCreate(&own, nullptr, 0, 0));
}

/* Everything that was made so far is gone. */
static void renew_context(struct net &in)
{
    if (told.own_context)
        CHECK(cuCtxDestroy(own));
    else
        CHECK(cudaDeviceReset());
    in.stream = nullptr;
    make_context();
}

/* All weights are freed, and others take their place. */
static void begin_anew(struct net &in)
{
    for (float *w : in.weights)
        CHECK(cudaFreeAsync(w, in.stream));
    for (size_t l = 0; l < in.weights.size(); l++)
        in.weights[l] = make_weight(in.stream, 500 + (int)l);
}

/* Another context of the same device comes and goes, with memory that is never freed. */
static void another_context(struct net &)
{
    CUcontext another;
    CUdeviceptr p;
    CHECK(cuCtxCreate(&another, nullptr, 0, 0));
    for (int i = 0; i < 4; i++) {
        CHECK(cuMemAlloc(&p, tensor_bytes()));
        CHECK(cuMemsetD8Async(p, 7, tensor_bytes(), CU_STREAM_PER_THREAD));
    }
    CHECK(cuCtxDestroy(another));
}

static pid_t fork_child()
{
    FILE *said = tmpfile();
    fflush(stdout);
    const pid_t id = said ? fork() : -1;
    if (id < 0)
        _exit(1);
    if (id == 0) {
        alarm(60);
        dup2(fileno(said), STDOUT_FILENO);
    } else {
        children.push_back({id, said});
    }
    return id;
}

static void child_exits(struct net &)
{
    if (fork_child() == 0)
        exit(11);
}

static void child_becomes(struct net &)
{
    if (fork_child() == 0) {
        execl("/proc/self/exe", "incidents", "--steps", "8", "--layers", "12", (char *)nullptr);
        _exit(127);
    }
}

/* As a loader's worker does: threads, memory, a child of its own, but nothing of the device. */
static void child_works(struct net &)
{
    if (fork_child() != 0)
        return;
    uint64_t sum = 0;
    std::vector<std::thread> threads;
    std::mutex mutex;
    for (int t = 0; t < 2; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < 2000; i++) {
                std::vector<char> some((size_t)(i * 37 % 5000 + 1), (char)i);
                std::lock_guard<std::mutex> lock(mutex);
                sum += (unsigned char)some.back();
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    const pid_t grandchild = fork();
    int status = 0;
    if (grandchild == 0)
        _exit(5);
    waitpid(grandchild, &status, 0);
    exit(WIFEXITED(status) && WEXITSTATUS(status) == 5 && sum ? 12 : 1);
}

/* The device is not for children: every call has to say so, and the child to go on. */
static void child_uses_the_device(struct net &in)
{
    if (fork_child() != 0)
        return;
    void *p;
    const cudaError_t answers[] = {cudaMalloc(&p, tensor_bytes()),
                                   cudaMemsetAsync(in.weights[0], 0, tensor_bytes(), in.stream),
                                   cudaStreamSynchronize(in.stream), cudaFree(in.weights[0]), cudaDeviceSynchronize()};
    for (cudaError_t error : answers)
        printf("told %s\n", cudaGetErrorName(error));
    exit(13);
}

/* From now on a graph writes one weight and reads another in every step. */
static void capture_graph(struct net &in)
{
    cudaGraph_t captured;
    cudaStream_t beside;
    CHECK(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(beside, cudaStreamCaptureModeThreadLocal));
    update<<<1, 1, 0, beside>>>(in.weights[3], in.weights[5], 0.25f, in.n);
    CHECK(cudaStreamEndCapture(beside, &captured));
    CHECK(cudaGraphInstantiate(&in.graph, captured, 0));
    CHECK(cudaGraphDestroy(captured));
    CHECK(cudaStreamDestroy(beside));
}

/* A weight is offered to other processes, whether or not the device agrees. */
static void offer(struct net &in)
{
    cudaIpcMemHandle_t handle;
    (void)cudaIpcGetMemHandle(&handle, in.weights[2]);
    (void)cudaGetLastError();
}

static void evaluate(struct net &in)
{
    in.evaluate();
}

static const struct {
    const char *name;
    void (*happen)(struct net &in);
} incidents[] = {{"child-exits", child_exits},
                 {"child-becomes", child_becomes},
                 {"child-works", child_works},
                 {"child-uses", child_uses_the_device},
                 {"renew", renew_context},
                 {"anew", begin_anew},
                 {"another", another_context},
                 {"graph", capture_graph},
                 {"offer", offer},
                 {"evaluates", evaluate}};

static void happen(struct net &in)
{
    for (const auto &incident : incidents)
        if (told.incident == incident.name)
            incident.happen(in);
}

static void await_children()
{
    for (const child &one : children) {
        char line[128];
        int status = -1;
        waitpid(one.id, &status, 0);
        rewind(one.said);
        while (fgets(line, sizeof line, one.said))
            printf("    %s", line);
        printf("child: %s %d\n", WIFEXITED(status) ? "status" : "signal",
               WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        fclose(one.said);
    }
}

/* ---- training ---- */

struct training {
    std::vector<float *> shared;
    std::vector<net> nets;

    training()
    {
        cudaStream_t stream;
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        for (int s = 0; s < o.layers / 4 && o.nets > 1; s++)
            shared.push_back(make_weight(stream, 1000 + s));
        CHECK(cudaStreamDestroy(stream));
        nets.reserve((size_t)o.nets);
        for (int i = 0; i < o.nets; i++)
            nets.emplace_back(i, shared);
    }

    /* False: the context has gone. */
    bool step(bool something_happens)
    {
        std::vector<std::thread> threads;
        for (size_t i = 1; i < nets.size(); i++)
            threads.emplace_back([this, i] { nets[i].submit(); });
        nets[0].submit(something_happens ? happen : nullptr);
        for (std::thread &thread : threads)
            thread.join();
        if (!nets[0].stream)
            return false;
        for (net &one : nets)
            printf("loss %d 0x%08x\n", one.number, one.finish());
        for (size_t s = 0; s < shared.size(); s++)
            update<<<1, 1, 0, nets[0].stream>>>(shared[s], nets[s % nets.size()].weights[0], 0.01f, nets[0].n);
        CHECK(cudaStreamSynchronize(nets[0].stream));
        return true;
    }

    void close()
    {
        for (float *w : shared)
            CHECK(cudaFreeAsync(w, nets[0].stream));
        for (net &one : nets)
            one.close();
    }
};

static void read_options(char **argv)
{
    for (char **at = argv + 1; *at; at++) {
        bool known = true;
        if (strcmp(*at, "--turns") == 0)
            o.turns = true;
        else if (strcmp(*at, "--nothing") == 0)
            o.nothing = true;
        else if (strcmp(*at, "--optional") == 0)
            o.optional = true;
        else if (strcmp(*at, "--own-context") == 0)
            told.own_context = true;
        else if (strcmp(*at, "--between") == 0)
            told.between = true;
        else if (strcmp(*at, "--at") == 0 && at[1])
            for (char *step = strtok(*++at, ","); step; step = strtok(nullptr, ","))
                told.at.push_back(atoi(step));
        else
            known = false;
        for (const auto &incident : incidents)
            if (strcmp(*at, incident.name) == 0 && (known = true))
                told.incident = *at;
        if (!known && !read_number(at))
            wonder(*at);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    read_options(argv);
    make_context();
    training *all = new training;
    for (int step = 1; step <= o.steps; step++) {
        bool something_happens = false;
        for (int at : told.at)
            something_happens = something_happens || at == step;
        if (something_happens && told.between)
            happen(all->nets[0]);
        if (all->nets[0].stream && all->step(something_happens && !told.between))
            continue;
        printf("the context is a new one\n");
        delete all;
        all = new training;
    }
    all->close();
    await_children();
    fflush(stdout);
    delete all;
    return 0;
}
