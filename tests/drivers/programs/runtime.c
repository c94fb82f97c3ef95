/* runtime.c - opens the CUDA runtime that its argument names, asks it for a device and for memory, and prints each answer.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *runtime;

static void *find(const char *name)
{
    void *function = dlsym(runtime, name);
    if (!function)
        printf("%s is not there\n", name);
    return function;
}

static void print(const char *what, int error, long long value)
{
    const char *(*text_of)(int) = (const char *(*)(int))find("cudaGetErrorString");
    printf("%s: %d %s, %lld\n", what, error, text_of ? text_of(error) : "?", value);
}

/* A function that writes one number. */
static void ask_number(const char *name)
{
    int (*function)(int *) = (int (*)(int *))find(name);
    int number = -7;
    if (function) {
        int error = function(&number);
        print(name, error, number);
    }
}

static void ask_nothing(const char *name)
{
    int (*function)(void) = (int (*)(void))find(name);
    if (function)
        print(name, function(), 0);
}

static void allocate(const char *name)
{
    int (*function)(void **, size_t) = (int (*)(void **, size_t))find(name);
    void *memory = &memory;
    if (function) {
        int error = function(&memory, 4096);
        print(name, error, memory == &memory ? -1 : memory != NULL);
    }
}

static void look_up(const char *symbol)
{
    int (*plain)(const char *, void **, unsigned long long, int *) =
        (int (*)(const char *, void **, unsigned long long, int *))dlsym(runtime, "cudaGetDriverEntryPoint");
    int (*by_version)(const char *, void **, unsigned, unsigned long long, int *) =
        (int (*)(const char *, void **, unsigned, unsigned long long, int *))dlsym(runtime,
                                                                                   "cudaGetDriverEntryPointByVersion");
    void *function = NULL;
    int status = -7, error;
    if (plain) { /* not in the oldest and the newest */
        error = plain(symbol, &function, 0, &status);
        print(symbol, error, status * 10 + (function != NULL));
    }
    if (by_version) {
        error = by_version(symbol, &function, 12000, 0, &status);
        print(symbol, error, status * 10 + (function != NULL));
    }
}

int main(int argc, char **argv)
{
    runtime = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!runtime) {
        printf("cannot be opened: %s\n", argc > 1 ? dlerror() : "which runtime?");
        return 2;
    }
    ask_number("cudaRuntimeGetVersion");
    ask_number("cudaDriverGetVersion");
    ask_number("cudaGetDeviceCount");
    ask_number("cudaGetDevice");
    allocate("cudaMalloc");
    allocate("cudaMallocHost");
    look_up("cuMemAlloc");
    look_up("cuMemCreate");
    look_up("cuNoSuchThing");
    ask_nothing("cudaDeviceSynchronize");
    ask_nothing("cudaGetLastError");
    ask_nothing("cudaDeviceReset");
    return 0;
}
