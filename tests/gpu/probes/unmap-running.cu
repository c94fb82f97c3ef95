/* unmap-running.cu - question 5: while a long kernel uses A, may B be unmapped, mapped, or given other memory?
 * Each case is a process of its own, since a wrong guess costs the context. */
#include "busy.cuh"

static struct probe_block block_a, block_b;
static cudaStream_t stream;

static void unmap_other(void)
{
    CHECK(cuMemUnmap(block_b.address, block_b.bytes));
}

static void remap_other(void)
{
    CUmemAccessDesc access = probe_device_access();
    for (int i = 0; i < 50; i++) {
        CHECK(cuMemUnmap(block_b.address, block_b.bytes));
        CHECK(cuMemMap(block_b.address, block_b.bytes, 0, block_b.handle, 0));
        CHECK(cuMemSetAccess(block_b.address, block_b.bytes, &access, 1));
    }
}

static void create_and_release_other(void)
{
    for (int i = 0; i < 10; i++) {
        struct probe_block block = probe_block_create(64 * MIB);
        CHECK(cuMemUnmap(block.address, block.bytes));
        CHECK(cuMemRelease(block.handle));
        CHECK(cuMemAddressFree(block.address, block.bytes));
    }
}

static void unmap_used(void)
{
    CHECK(cuMemUnmap(block_a.address, block_a.bytes));
}

static const struct unmap_case {
    const char *name;
    void (*act)(void);
} cases[] = {
    {"unmap_other", unmap_other},
    {"remap_other_50_times", remap_other},
    {"create_and_release_other", create_and_release_other},
    {"unmap_used", unmap_used},
};
#define CASES (sizeof(cases) / sizeof(*cases))

/* In the child: B lies right behind A in one reservation, so that they share page-table pages. Prints one word. */
static void run_case(const struct unmap_case *c)
{
    alarm(20); /* a call that never returns ends this case, not the others */
    probe_start("unmap-running", 5);
    CUmemAllocationProp prop = probe_device_memory();
    CUmemAccessDesc access = probe_device_access();
    block_a.bytes = block_b.bytes = probe_round_up(16 * MIB);
    CHECK(cuMemAddressReserve(&block_a.address, 2 * block_a.bytes, 0, 0, 0));
    block_b.address = block_a.address + block_a.bytes;
    CHECK(cuMemCreate(&block_a.handle, block_a.bytes, &prop, 0));
    CHECK(cuMemCreate(&block_b.handle, block_b.bytes, &prop, 0));
    CHECK(cuMemMap(block_a.address, block_a.bytes, 0, block_a.handle, 0));
    CHECK(cuMemMap(block_b.address, block_b.bytes, 0, block_b.handle, 0));
    CHECK(cuMemSetAccess(block_a.address, 2 * block_a.bytes, &access, 1));
    busy_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    busy_start(stream, block_a, 10);
    CHECK(cuCtxSynchronize());

    busy_start(stream, block_a, 500 * 1000);
    usleep(50 * 1000);
    double before_us = probe_now_us();
    c->act();
    double act_us = probe_now_us() - before_us;
    int running = cudaStreamQuery(stream) == cudaErrorNotReady;
    CUresult after = cuCtxSynchronize();
    printf("%s %.0f %s\n", after == CUDA_SUCCESS ? "survives" : "faults", act_us,
           after != CUDA_SUCCESS ? probe_error_name(after)
           : running             ? "kernel-still-ran"
                                 : "call-waited-for-kernel");
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < CASES; i++)
        if (argc == 2 && strcmp(argv[1], cases[i].name) == 0)
            run_case(&cases[i]);

    probe.name = "unmap-running";
    probe.question = 5;
    char line[4096], word[CASES][64], detail[64];
    int faults = 0;
    for (size_t i = 0; i < CASES; i++) {
        double act_us = 0;
        int status = probe_again(cases[i].name, line, sizeof(line));
        if (status != 0 || sscanf(line, "%63s %lf %63s", word[i], &act_us, detail) != 3) {
            snprintf(word[i], sizeof(word[i]), "unknown");
            probe_figure_text(cases[i].name, line[0] ? line : "the child ended without an answer");
            continue;
        }
        probe_figure_text(cases[i].name, word[i]);
        probe_append(", \"%s/then\": \"%s\"", cases[i].name, detail);
        probe_figure_at(act_us, "%s/call_us", cases[i].name);
        faults += i < 3 && strcmp(word[i], "faults") == 0;
    }
    if (strcmp(word[0], "unknown") == 0 || strcmp(word[1], "unknown") == 0)
        probe_give_up("a case gave no result: %s", line);
    probe_answer("%s; unmapping memory that the running kernel uses: %s",
                 faults ? "changing other mappings harms a running kernel"
                        : "a running kernel survives unmapping and remapping of other memory, its neighbour included",
                 word[3]);
}
