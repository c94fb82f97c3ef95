/* answers.c - asks the driver for names in every way that there is, and prints what it was answered.
 *
 *     answers look-ups VERSIONS FLAGS <names    each name by dlsym, and by both forms of cuGetProcAddress
 *     answers calls <names                      each function with arguments of zero, before cuInit and after it failed
 *
 * VERSIONS and FLAGS are numbers between commas, names stand one to a line. Lines of output:
 *
 *     dlsym cuMemAlloc_v2 WHERE
 *     v2 cuMemAlloc 12000 0 RESULT STATUS WHERE
 *     before cuMemAlloc_v2 RESULT
 *
 * WHERE is driver+OFFSET, NAME@OBJECT for an exported symbol of another object, - for NULL, or "untouched". */
#include <cuda.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, UNTOUCHED = 99 };

typedef CUresult (*ask_v1_fn)(const char *, void **, int, cuuint64_t);
typedef CUresult (*ask_v2_fn)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
typedef CUresult (*any_fn)(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                           intptr_t, intptr_t, intptr_t, intptr_t, intptr_t);

struct numbers {
    long long of[MOST];
    int count;
};

static char untouched; /* stands in out-parameters before the call */

static void print_where(const void *function)
{
    Dl_info info;
    if (!function || function == &untouched) {
        printf(" %s", function ? "untouched" : "-");
        return;
    }
    if (!dladdr(function, &info)) {
        printf(" nowhere");
        return;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    const char *object = slash ? slash + 1 : info.dli_fname;
    if (!strncmp(object, "libcuda.so", strlen("libcuda.so")))
        printf(" driver+%zx", (size_t)((const char *)function - (const char *)info.dli_fbase));
    else
        printf(" %s@%s", info.dli_saddr == function ? info.dli_sname : "?", object);
}

static void parse_numbers(const char *text, struct numbers *ret)
{
    for (char *end = NULL; *text && ret->count < MOST; text = *end ? end + 1 : end)
        ret->of[ret->count++] = strtoll(text, &end, 10);
}

static void ask(const char *way, void *form, const char *name, int version, cuuint64_t flags)
{
    void *function = &untouched;
    CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)UNTOUCHED;
    CUresult result = way[1] == '1' ? ((ask_v1_fn)form)(name, &function, version, flags)
                                    : ((ask_v2_fn)form)(name, &function, version, flags, &status);
    printf("%s %s %d %llu %d %d", way, *name ? name : "\"\"", version, (unsigned long long)flags, (int)result, (int)status);
    print_where(function);
    putchar('\n');
}

static void look_up(void *driver, const char *name, const struct numbers *versions, const struct numbers *flags)
{
    void *form_v1 = dlsym(driver, "cuGetProcAddress"), *form_v2 = dlsym(driver, "cuGetProcAddress_v2");
    printf("dlsym %s", *name ? name : "\"\"");
    print_where(dlsym(driver, name));
    putchar('\n');
    for (int v = 0; v < versions->count; v++) {
        for (int f = 0; f < flags->count; f++) {
            if (form_v1)
                ask("v1", form_v1, name, (int)versions->of[v], (cuuint64_t)flags->of[f]);
            if (form_v2)
                ask("v2", form_v2, name, (int)versions->of[v], (cuuint64_t)flags->of[f]);
        }
    }
}

static sigjmp_buf before_call;

static void leave_call(int signal)
{
    siglongjmp(before_call, signal);
}

static void call(const char *when, void *driver, const char *name)
{
    any_fn function = (any_fn)dlsym(driver, name);
    int signal = sigsetjmp(before_call, 1);
    if (signal) /* some functions write through a pointer without looking at it, ours as the driver's own */
        printf("%s %s signal %d\n", when, name, signal);
    else if (function)
        printf("%s %s %d\n", when, name, (int)function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static char names[4096][96];
    size_t count = 0;
    struct numbers versions = {.count = 0}, flags = {.count = 0};
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver || argc < 2) {
        printf("cannot start: %s\n", driver ? "which way?" : dlerror());
        return 2;
    }
    while (count < sizeof(names) / sizeof(names[0]) && fgets(names[count], sizeof(names[0]), stdin)) {
        names[count][strcspn(names[count], "\n")] = '\0';
        count++;
    }
    if (!strcmp(argv[1], "look-ups") && argc == 4) {
        parse_numbers(argv[2], &versions);
        parse_numbers(argv[3], &flags);
        for (size_t i = 0; i < count; i++)
            look_up(driver, names[i], &versions, &flags);
        return 0;
    }
    signal(SIGSEGV, leave_call);
    for (size_t i = 0; i < count; i++)
        call("before", driver, names[i]);
    CUresult (*init)(unsigned) = (CUresult(*)(unsigned))dlsym(driver, "cuInit");
    printf("cuInit %d\n", (int)init(0));
    for (size_t i = 0; i < count; i++)
        call("after", driver, names[i]);
    return 0;
}
