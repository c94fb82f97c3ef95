/* leaving.c - ways to leave and to go on: children that fork, exit or become another program, exits with work in flight,
 * from another thread, in the middle of everything; handlers at exit that still use the device.
 *
 *     leaving WAY          one of `ways` below */
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECES = 12, PIECE_BYTES = 256 << 10, BYTES = 1 << 20, CHILDREN = 40, PATIENCE = 5 };

static struct crowd crowd;
static CUdeviceptr tensor;
static CUstream stream;
static unsigned char *host;
static const char *self;

static void begin(void)
{
    start();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&tensor, BYTES));
    CHECK(cuMemHostAlloc((void **)&host, BYTES, 0));
    fill_device(tensor, BYTES, 1);
    crowd_make(&crowd, PIECES, PIECE_BYTES);
    crowd_press(&crowd);
    CHECK(cuCtxSynchronize());
}

static void print_tensor(const char *when)
{
    printf("%s: %016llx\n", when, (unsigned long long)device_sum(tensor, BYTES));
    fflush(stdout);
}

/* Something that has only been begun when this returns. */
static void leave_work_in_flight(void)
{
    CHECK(cuMemsetD8Async(tensor, 0x77, BYTES / 2, stream));
    for (unsigned i = 0; i < 10; i++)
        CHECK(cuMemcpyDtoHAsync(host, tensor, BYTES, stream));
    crowd_press(&crowd);
}

static void end(void)
{
    CHECK(cuStreamSynchronize(stream));
    crowd_free(&crowd);
    CHECK(cuMemFree(tensor));
    CHECK(cuMemFreeHost(host));
    CHECK(cuStreamDestroy(stream));
    fflush(stdout);
}

/* ---- children ---- */

static void wait_for(const char *what, pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        exit(EXIT_WRONG);
    if (WIFEXITED(status))
        printf("%s: status %d\n", what, WEXITSTATUS(status));
    else
        printf("%s: signal %d\n", what, WTERMSIG(status));
    fflush(stdout);
}

static pid_t fork_child(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        alarm(PATIENCE);
    return child;
}

static void become(const char *way)
{
    execl(self, self, way, (char *)NULL);
    _exit(127);
}

/* The device is not for children of whoever has started it; every call says so, and none of them harms the parent. */
static void call_all_the_same(void)
{
    CUdeviceptr a = 0;
    size_t left, total;
    int type;
    char byte;
    answer("    start", cuInit(0));
    answer("    allocate", cuMemAlloc(&a, PIECE_BYTES));
    answer("    copy", cuMemcpyDtoH(&byte, tensor, 1));
    answer("    set", cuMemsetD8Async(tensor, 0, BYTES, stream));
    answer("    ask how much is left", cuMemGetInfo(&left, &total));
    answer("    ask about an address", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, tensor));
    answer("    wait", cuCtxSynchronize());
    answer("    free", cuMemFree(tensor));
    fflush(stdout);
    _exit(13);
}

static int children(void)
{
    pid_t child;
    begin();
    leave_work_in_flight();
    if ((child = fork_child()) == 0)
        exit(11);
    wait_for("a child that exits", child);
    if ((child = fork_child()) == 0)
        _exit(12);
    wait_for("a child that leaves at once", child);
    if ((child = fork_child()) == 0)
        become("worker");
    wait_for("a child that becomes another program", child);
    if ((child = fork_child()) == 0)
        call_all_the_same();
    wait_for("a child that uses the device all the same", child);
    if ((child = fork_child()) == 0)
        abort();
    wait_for("a child that aborts", child);
    CHECK(cuStreamSynchronize(stream));
    print_sum("what was in flight", host, BYTES);
    crowd_press(&crowd);
    print_tensor("the parent's tensor");
    end();
    return 0;
}

static int worker(void)
{
    begin();
    leave_work_in_flight();
    CHECK(cuStreamSynchronize(stream));
    print_sum("worker", host, BYTES);
    end();
    return 21;
}

/* A thread uses the device all the time, so that it is inside some call whenever a child is made. */
static volatile bool stop;

static void *keep_busy(void *context)
{
    CHECK(cuCtxSetCurrent(context));
    for (unsigned i = 0; !stop; i++) {
        CUdeviceptr a;
        CHECK(cuMemAlloc(&a, PIECE_BYTES));
        if (i % 1000 == 0) {
            CHECK(cuMemsetD8(a, 1, PIECE_BYTES));
            crowd_press(&crowd);
        }
        CHECK(cuMemFree(a));
    }
    return NULL;
}

static pthread_t forked;

static void *outlive(void *unused)
{
    pthread_join(forked, NULL);
    exit(31);
}

/* The thread that was forked ends, another one ends the process: whatever runs then finds locks as they were in the parent.
 */
static void work_without_the_device(void)
{
    pthread_t thread;
    forked = pthread_self();
    if (pthread_create(&thread, NULL, outlive, NULL))
        _exit(EXIT_WRONG);
    pthread_exit(NULL);
}

static int children_of_the_busy(void)
{
    pthread_t thread;
    CUcontext context;
    unsigned well = 0;
    begin();
    CHECK(cuCtxGetCurrent(&context));
    CHECK(cuMemsetD8Async(tensor, 5, 1000, CU_STREAM_PER_THREAD)); /* a stream that ends with this thread */
    CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    if (pthread_create(&thread, NULL, keep_busy, context))
        return EXIT_WRONG;
    for (unsigned i = 0; i < CHILDREN; i++) {
        int status;
        pid_t child = fork_child();
        if (child == 0)
            work_without_the_device();
        well += waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 31;
    }
    stop = true;
    pthread_join(thread, NULL);
    printf("children that left as they should: %u of %u\n", well, CHILDREN);
    print_tensor("the parent's tensor");
    crowd.round = 0; /* how often the thread came to it depends on the machine */
    crowd.sum = 0;
    crowd_press(&crowd);
    end();
    return 0;
}

/* ---- leaving ---- */

static int without_waiting(void)
{
    begin();
    leave_work_in_flight();
    return 41;
}

static int at_once(void)
{
    begin();
    leave_work_in_flight();
    fflush(stdout);
    _exit(42);
}

static int quickly(void)
{
    begin();
    leave_work_in_flight();
    quick_exit(43);
}

static int by_another_program(void)
{
    begin();
    leave_work_in_flight();
    fflush(stdout);
    become("worker");
    return EXIT_WRONG;
}

static void no_core(void)
{
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

static int by_abort(void)
{
    begin();
    leave_work_in_flight();
    no_core();
    abort();
}

static int by_signal(void)
{
    begin();
    leave_work_in_flight();
    kill(getpid(), SIGKILL);
    return EXIT_WRONG;
}

static void *leave(void *unused)
{
    exit(44);
}

/* The first thread is inside the device's calls when another one ends the process. */
static int by_another_thread(void)
{
    pthread_t thread;
    begin();
    leave_work_in_flight();
    if (pthread_create(&thread, NULL, leave, NULL))
        return EXIT_WRONG;
    for (;;)
        (void)cuMemcpyDtoHAsync(host, tensor, 100, stream);
}

/* ---- handlers ---- */

static void handler(void)
{
    print_tensor("in a handler at exit");
    CHECK(cuMemsetD8(tensor, 3, 1000));
    print_tensor("after a set in it");
}

static void last_handler(void)
{
    end();
    printf("everything is given back\n");
    fflush(stdout);
}

static int with_handlers(void)
{
    begin();
    if (atexit(last_handler) || atexit(handler))
        return EXIT_WRONG;
    crowd_press(&crowd);
    return 45;
}

/* Registered before the device is started, so it runs after whatever the driver itself registered. */
static int with_an_early_handler(void)
{
    if (atexit(last_handler))
        return EXIT_WRONG;
    begin();
    crowd_press(&crowd);
    print_tensor("before the end");
    return 46;
}

static bool at_the_very_end;

__attribute__((destructor)) static void very_end(void)
{
    if (at_the_very_end)
        last_handler();
}

static int with_a_destructor(void)
{
    begin();
    at_the_very_end = true;
    return 47;
}

/* The driver closed and opened again, as plugins do. */
static int opened_again(void)
{
    begin();
    for (unsigned i = 0; i < 3; i++) {
        void *driver = dlopen("libcuda.so.1", RTLD_NOW);
        CUresult (*get)(CUcontext *) = driver ? (CUresult(*)(CUcontext *))dlsym(driver, "cuCtxGetCurrent") : NULL;
        CUcontext context = NULL;
        if (!get || get(&context) != CUDA_SUCCESS)
            return EXIT_WRONG;
        truth("the context is known through it", context != NULL);
        truth("it closes", dlclose(driver) == 0);
        crowd_press(&crowd);
        print_tensor("afterwards");
    }
    end();
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} ways[] = {{"children", children},
            {"worker", worker},
            {"children-of-the-busy", children_of_the_busy},
            {"without-waiting", without_waiting},
            {"at-once", at_once},
            {"quickly", quickly},
            {"by-another-program", by_another_program},
            {"by-abort", by_abort},
            {"by-signal", by_signal},
            {"by-another-thread", by_another_thread},
            {"with-handlers", with_handlers},
            {"with-an-early-handler", with_an_early_handler},
            {"with-a-destructor", with_a_destructor},
            {"opened-again", opened_again}};

int main(int argc, char **argv)
{
    self = "/proc/self/exe";
    for (unsigned i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(argv[1], ways[i].name))
            return ways[i].run();
    fprintf(stderr, "usage: leaving WAY\n");
    return 2;
}
