/* two-addresses.cu - question 14: may memory be mapped at a second address while operations at the first one are not
 * complete, does whoever comes after them in order see what they wrote, and may the first address be unmapped while the
 * second is used? Each case is a process of its own, since a wrong guess costs the context. */
#include "busy.cuh"

enum { ROUNDS = 200, BUSY_US = 300 * 1000 };

static struct probe_block first, second; /* two addresses of one handle */
static cudaStream_t one, two;
static cudaEvent_t event;
static unsigned *wrong;
static size_t words;
static double call_us;
static bool still_ran; /* what was under way when the call was made, when it was over */

static __global__ void fill_kernel(unsigned *data, size_t words, unsigned value)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += (size_t)gridDim.x * blockDim.x)
        data[i] = value + (unsigned)i;
}

static __global__ void check_kernel(const unsigned *data, size_t words, unsigned value, unsigned *wrong)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += (size_t)gridDim.x * blockDim.x)
        if (data[i] != value + (unsigned)i)
            atomicAdd(wrong, 1);
}

static void fill(cudaStream_t stream, struct probe_block block, unsigned value)
{
    fill_kernel<<<64, 256, 0, stream>>>((unsigned *)(uintptr_t)block.address, words, value);
    busy_check(cudaGetLastError(), "launching a kernel");
}

static void check(cudaStream_t stream, struct probe_block block, unsigned value)
{
    check_kernel<<<64, 256, 0, stream>>>((const unsigned *)(uintptr_t)block.address, words, value, wrong);
    busy_check(cudaGetLastError(), "launching a kernel");
}

static void follow(cudaStream_t after, cudaStream_t before)
{
    busy_check(cudaEventRecord(event, before), "recording an event");
    busy_check(cudaStreamWaitEvent(after, event, 0), "waiting for an event");
}

static void map_second(void)
{
    CUmemAccessDesc access = probe_device_access();
    CHECK(cuMemMap(second.address, second.bytes, 0, first.handle, 0));
    CHECK(cuMemSetAccess(second.address, second.bytes, &access, 1));
}

/* What happens to the kernel that runs when the host acts. */
static void act_beside(void (*act)(void))
{
    usleep(50 * 1000);
    const double before_us = probe_now_us();
    act();
    call_us = probe_now_us() - before_us;
    still_ran = cudaStreamQuery(one) == cudaErrorNotReady;
}

static void unmap_first(void)
{
    CHECK(cuMemUnmap(first.address, first.bytes));
}

static void in_one_stream(void)
{
    map_second();
    for (unsigned i = 0; i < ROUNDS; i++) {
        fill(one, first, 2 * i);
        check(one, second, 2 * i);
        fill(one, second, 2 * i + 1);
        check(one, first, 2 * i + 1);
    }
}

static void across_streams(void)
{
    map_second();
    for (unsigned i = 0; i < ROUNDS; i++) {
        fill(one, first, 2 * i);
        follow(two, one);
        check(two, second, 2 * i);
        fill(two, second, 2 * i + 1);
        follow(one, two);
        check(one, first, 2 * i + 1);
    }
}

/* What spillway does: the first owner's kernel runs, its memory is mapped anew, and the next owner's follows in order. */
static void mapped_while_used(void)
{
    busy_start(one, first, BUSY_US);
    act_beside(map_second);
    follow(two, one);
    fill(two, second, 7);
    check(two, second, 7);
}

static void unmapped_while_other_used(void)
{
    map_second();
    busy_start(one, second, BUSY_US);
    act_beside(unmap_first);
    fill(one, second, 7);
    check(one, second, 7);
}

static const struct address_case {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"in_one_stream", in_one_stream},
    {"across_streams", across_streams},
    {"mapped_while_used", mapped_while_used},
    {"unmapped_while_other_used", unmapped_while_other_used},
};
#define CASES (sizeof(cases) / sizeof(*cases))

/* In the child. Prints words that are wrong (or the error), the microseconds of the call, whether the kernel still ran. */
static void run_case(const struct address_case *c)
{
    unsigned count = 0;
    alarm(20); /* a call that never returns ends this case, not the others */
    probe_start("two-addresses", 14);
    first = probe_block_create(16 * MIB);
    second.bytes = first.bytes;
    words = first.bytes / sizeof(unsigned);
    CHECK(cuMemAddressReserve(&second.address, second.bytes, 0, 0, 0));
    busy_check(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking), "making a stream");
    busy_check(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking), "making a stream");
    busy_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
    busy_check(cudaMalloc((void **)&wrong, sizeof(*wrong)), "allocating");
    busy_check(cudaMemset(wrong, 0, sizeof(*wrong)), "setting");
    busy_start(one, first, 10);
    fill(one, first, 0);
    check(one, first, 0);
    CHECK(cuCtxSynchronize());
    c->run();
    CUresult after = cuCtxSynchronize();
    if (after == CUDA_SUCCESS)
        busy_check(cudaMemcpy(&count, wrong, sizeof(count), cudaMemcpyDeviceToHost), "reading the count");
    printf("%s %u %.0f %s\n", after == CUDA_SUCCESS ? "survives" : probe_error_name(after), count, call_us,
           still_ran ? "kernel-still-ran" : "kernel-was-over");
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < CASES; i++)
        if (argc == 2 && strcmp(argv[1], cases[i].name) == 0)
            run_case(&cases[i]);

    probe.name = "two-addresses";
    probe.question = 14;
    char line[4096], word[64], detail[64];
    unsigned bad = 0;
    for (size_t i = 0; i < CASES; i++) {
        unsigned count = 0;
        double us = 0;
        int status = probe_again(cases[i].name, line, sizeof(line));
        if (status != 0 || sscanf(line, "%63s %u %lf %63s", word, &count, &us, detail) != 4)
            probe_give_up("the case %s gave no result: %s", cases[i].name, line);
        probe_figure_text(cases[i].name, word);
        probe_append(", \"%s/wrong_words\": %u, \"%s/then\": \"%s\"", cases[i].name, count, cases[i].name, detail);
        probe_figure_at(us, "%s/call_us", cases[i].name);
        bad += count || strcmp(word, "survives") != 0;
    }
    probe_answer(
        bad ? "memory cannot be used at two addresses one after the other: %u of the cases went wrong"
            : "what is ordered after the operations at one address may use the memory at another, mapped meanwhile (%u "
              "cases went wrong)",
        bad);
}
