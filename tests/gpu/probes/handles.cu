/* handles.cu - question 3: which kind of handle, CUfunction or CUkernel, do the CUDA runtime and cuBLAS pass to a launch,
 * and does either of cuFuncGetParamInfo() and cuKernelGetParamInfo() tell the parameters of either kind, cuBLAS' kernels
 * included? Runs under spy-launch. Each query is tried in a process of its own: a handle of the wrong kind may crash. */
#include "blas.h"
#include "spy-launch.h"

static __global__ void add_kernel(float *out, const float *in, int count)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count)
        out[i] += in[i];
}

static struct spy_seen *seen;

/* A line of numbers for the parent: who launched, and what the spy noted. */
static void tell(const char *who)
{
    CUresult r = cuCtxSynchronize();
    printf("%s %u %u %u %u %u %u %d%s", who, seen->launches, seen->extended, seen->functions, seen->kernels, seen->unknown,
           seen->understood, seen->last_error, r == CUDA_SUCCESS ? ";" : " lost;");
    memset(seen, 0, sizeof(*seen));
}

static void launch_all(void)
{
    probe_start("handles", 3);
    seen = (struct spy_seen *)dlsym(RTLD_DEFAULT, "spy_seen");
    CUdeviceptr a, b, c;
    const int m = 1024;
    CHECK(cuMemAlloc(&a, sizeof(float) * m * m));
    CHECK(cuMemAlloc(&b, sizeof(float) * m * m));
    CHECK(cuMemAlloc(&c, sizeof(float) * m * m));
    CHECK(cuMemsetD8(a, 0, sizeof(float) * m * m));
    CHECK(cuMemsetD8(b, 0, sizeof(float) * m * m));
    add_kernel<<<m, m>>>((float *)(uintptr_t)a, (const float *)(uintptr_t)b, m * m);
    tell("cudart");
    blas_handle handle;
    if (blas_open() && blas.create(&handle) == 0) {
        memset(seen, 0, sizeof(*seen));
        if (blas_float_product(handle, m, a, b, c) == 0)
            tell("sgemm");
        if (blas_bf16_product(handle, m, m, a, b, c) == 0)
            tell("bf16_gemm");
    }
    printf("\n");
    fflush(stdout);
    _exit(0);
}

static const char *const who[] = {"cudart", "sgemm", "bf16_gemm"};
static const char *const asks[] = {"nothing", "function", "kernel"};

struct seen_by {
    int present;
    struct spy_seen seen;
};

static void read_line(const char *line, const char *name, struct seen_by *ret)
{
    char key[32];
    snprintf(key, sizeof(key), "%s ", name);
    const char *at = strstr(line, key);
    memset(ret, 0, sizeof(*ret));
    /* "sgemm" also ends no other name here, and "bf16_gemm" begins none. */
    if (at &&
        sscanf(at + strlen(key), "%u %u %u %u %u %u %d", &ret->seen.launches, &ret->seen.extended, &ret->seen.functions,
               &ret->seen.kernels, &ret->seen.unknown, &ret->seen.understood, &ret->seen.last_error) == 7)
        ret->present = 1;
}

int main(int argc, char **)
{
    if (argc == 2)
        launch_all();
    probe.name = "handles";
    probe.question = 3;
    if (!dlsym(RTLD_DEFAULT, "spy_seen"))
        probe_give_up("the spy is not preloaded");

    struct seen_by by[3][3];
    char line[512], kinds[256] = "", queries[512] = "";
    for (int ask = 0; ask < 3; ask++) {
        setenv("SPY_ASK", asks[ask], 1);
        int status = probe_again("launch", line, sizeof(line));
        if (ask == 0 && status != 0)
            probe_give_up("the launching child ended with status %d: %s", status, line);
        if (status != 0)
            probe_append("%s\"ask_%s\": \"the process ended with status %d\"", probe.used ? ", " : "", asks[ask], status);
        for (int w = 0; w < 3; w++)
            read_line(line, who[w], &by[ask][w]);
    }
    if (!by[0][0].present || !by[0][0].seen.launches)
        probe_give_up("no launch was seen: %s", line);
    for (int w = 0; w < 3; w++) {
        const struct spy_seen *s = &by[0][w].seen;
        if (!by[0][w].present)
            continue;
        probe_figure_at(s->launches, "%s/launches", who[w]);
        probe_figure_at(s->extended, "%s/through_cuLaunchKernelEx", who[w]);
        probe_figure_at(s->functions, "%s/given_CUfunction", who[w]);
        probe_figure_at(s->kernels, "%s/given_CUkernel", who[w]);
        probe_figure_at(s->unknown, "%s/given_unknown_handle", who[w]);
        snprintf(kinds + strlen(kinds), sizeof(kinds) - strlen(kinds), "%s%s passes %s", w ? ", " : "", who[w],
                 s->kernels == s->launches     ? "CUkernel"
                 : s->functions == s->launches ? "CUfunction"
                                               : "both or unknown handles");
        for (int ask = 1; ask < 3; ask++) {
            const struct spy_seen *a = &by[ask][w].seen;
            probe_figure_at(by[ask][w].present ? (double)a->understood : -1.0, "%s/told_by_%s_query", who[w], asks[ask]);
            probe_figure_at(a->last_error, "%s/error_of_%s_query", who[w], asks[ask]);
            snprintf(queries + strlen(queries), sizeof(queries) - strlen(queries), "%s%s by the %s query %u of %u",
                     queries[0] ? ", " : "", who[w], asks[ask], a->understood, s->launches);
        }
    }
    probe_answer("%s; parameters told: %s", kinds, queries);
}
