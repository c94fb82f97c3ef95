/* reach.c - a program that reaches the driver in the way that its first argument names, allocates once and launches once.
 *
 * REACH_NAME is what it opens if not libcuda.so.1. Prints, for each function that it got, "NAME SYMBOL OBJECT": the exported
 * symbol that the function is, and where it is. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef CUresult (*init_fn)(unsigned int);
typedef CUresult (*alloc_fn)(CUdeviceptr *, size_t);
typedef CUresult (*launch_fn)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                              void **, void **);
typedef CUresult (*ask_v1_fn)(const char *, void **, int, cuuint64_t);
typedef CUresult (*ask_v2_fn)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

struct functions {
    init_fn init;
    alloc_fn alloc;
    launch_fn launch;
};

static void *checked(const char *name, void *function)
{
    Dl_info info = {0};
    const char *object = function && dladdr(function, &info) ? info.dli_fname : "nowhere";
    const char *slash = strrchr(object, '/');
    printf("%s %s %s\n", name, info.dli_sname ? info.dli_sname : "?", slash ? slash + 1 : object);
    if (!function)
        exit(2);
    return function;
}

static void by_dlsym(void *handle, struct functions *f)
{
    f->init = checked("cuInit", dlsym(handle, "cuInit"));
    f->alloc = checked("cuMemAlloc_v2", dlsym(handle, "cuMemAlloc_v2"));
    f->launch = checked("cuLaunchKernel", dlsym(handle, "cuLaunchKernel"));
}

static void *ask_v1(void *handle, const char *name, int version, cuuint64_t flags)
{
    void *function = NULL;
    CUresult r = ((ask_v1_fn)dlsym(handle, "cuGetProcAddress"))(name, &function, version, flags);
    return checked(name, r == CUDA_SUCCESS ? function : NULL);
}

static void *ask_v2(void *handle, const char *name, int version, cuuint64_t flags)
{
    void *function = NULL;
    CUdriverProcAddressQueryResult status = 99;
    CUresult r = ((ask_v2_fn)dlsym(handle, "cuGetProcAddress_v2"))(name, &function, version, flags, &status);
    if (r == CUDA_SUCCESS && status != CU_GET_PROC_ADDRESS_SUCCESS)
        printf("status of %s is %d\n", name, (int)status);
    return checked(name, r == CUDA_SUCCESS ? function : NULL);
}

static void by_asking(void *handle, void *(*ask)(void *, const char *, int, cuuint64_t), int version, cuuint64_t flags,
                      struct functions *f)
{
    f->init = ask(handle, "cuInit", version, flags);
    f->alloc = ask(handle, "cuMemAlloc", version, flags);
    f->launch = ask(handle, "cuLaunchKernel", version, flags);
}

/* A library, opened the way a plugin is, that reaches the driver by itself. */
static int by_library(const char *path, int flags)
{
    void *library = dlopen(path, RTLD_NOW | flags);
    int (*reach)(void) = library ? (int (*)(void))dlsym(library, "reach_driver") : NULL;
    if (!reach)
        printf("%s\n", dlerror());
    return reach ? reach() : 2;
}

static int work(const struct functions *f)
{
    CUdeviceptr p = 0;
    CUresult r = f->init(0);
    if (r == CUDA_SUCCESS)
        r = f->alloc(&p, 64 << 20);
    if (r == CUDA_SUCCESS)
        r = f->launch(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    printf("result %d\n", (int)r);
    return r == CUDA_SUCCESS ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct functions f = {0};
    const char *way = argc > 1 ? argv[1] : "";
    if (!strcmp(way, "library"))
        return by_library(argv[2], 0);
    if (!strcmp(way, "deepbind"))
        return by_library(argv[2], RTLD_DEEPBIND);

    const char *name = getenv("REACH_NAME");
    void *handle = dlopen(name ? name : "libcuda.so.1", RTLD_NOW);
    if (!handle) {
        printf("%s\n", dlerror());
        return 3;
    }
    int version = argc > 2 ? atoi(argv[2]) : CUDA_VERSION;
    if (!strcmp(way, "ask")) { /* VERSION FLAGS NAME...: only looks up */
        for (int i = 4; i < argc; i++)
            ask_v2(handle, argv[i], version, (cuuint64_t)atoi(argv[3]));
        return 0;
    }
    if (!strcmp(way, "dlsym"))
        by_dlsym(handle, &f);
    else if (!strcmp(way, "ask-v1"))
        by_asking(handle, ask_v1, version, CU_GET_PROC_ADDRESS_DEFAULT, &f);
    else if (!strcmp(way, "ask-v2"))
        by_asking(handle, ask_v2, version, CU_GET_PROC_ADDRESS_DEFAULT, &f);
    else if (!strcmp(way, "ask-v2-per-thread"))
        by_asking(handle, ask_v2, version, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &f);
    else
        return 2;
    return work(&f);
}
