/* sampler.c - preloaded into a program, it notes every few milliseconds by the wall clock which functions its threads are
 * in, and writes that to the file that SAMPLES names when the program ends.
 *
 * A thread asks for each thread that has run since it was asked last, and for the first one, by a signal; the handler walks
 * the stack. The signal is one that is ignored by default: a signal that is pending while the program executes another one
 * is delivered to that one, which has no handler. The file has lines of words, addresses in hexadecimal:
 *
 *     m BEGIN END OFFSET PATH      code that is mapped
 *     n ADDRESS SYMBOL             an exported name, where the linker knows one
 *     s THREAD MS ADDRESS…         a sample, the innermost function first; MS since the beginning */
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    FRAMES = 24,
    OURS = 2 /* the handler, and the return from it */,
    MOST = 1 << 18,
    THREADS = 1 << 12,
    PERIOD_US = 4000
};

struct sample {
    uint32_t thread, ms;
    int count;
    void *frames[FRAMES];
};

static struct sample *samples; /* MOST */
static unsigned used;
static struct timespec begin;
static pid_t owner; /* a child made by fork() has no thread that samples */

static uint32_t ms_since_begin(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000);
}

static void note(int number)
{
    (void)number;
    const unsigned at = __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
    if (at >= MOST)
        return;
    struct sample *s = &samples[at];
    s->thread = (uint32_t)syscall(SYS_gettid);
    s->ms = ms_since_begin();
    s->count = backtrace(s->frames, FRAMES);
}

/* How long the thread has run, as the kernel counts it. */
static uint64_t ran(int thread)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", thread);
    const int file = open(path, O_RDONLY);
    if (file < 0 || read(file, text, sizeof(text) - 1) < 0)
        text[0] = 0;
    if (file >= 0)
        close(file);
    return strtoull(text, NULL, 10);
}

static void ask_all(int self, uint64_t *ran_before)
{
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        const int thread = atoi(e->d_name);
        const uint64_t now = thread > 0 ? ran(thread) : 0;
        if (thread <= 0 || thread == self || (now == ran_before[thread % THREADS] && thread != owner))
            continue;
        ran_before[thread % THREADS] = now;
        syscall(SYS_tgkill, owner, thread, SIGURG);
    }
    if (tasks)
        closedir(tasks);
}

static void *sample_on(void *unused)
{
    static uint64_t ran_before[THREADS];
    (void)unused;
    while (__atomic_load_n(&used, __ATOMIC_RELAXED) < MOST) {
        usleep(PERIOD_US);
        ask_all((int)syscall(SYS_gettid), ran_before);
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    const uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

static void write_maps(FILE *out)
{
    char line[4096], rights[8], path[4096];
    unsigned long from, to, offset;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps))
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095[^\n]", &from, &to, rights, &offset, path) == 5 &&
            strchr(rights, 'x'))
            fprintf(out, "m %lx %lx %lx %s\n", from, to, offset, path);
    if (maps)
        fclose(maps);
}

static void write_names(FILE *out, unsigned count)
{
    uintptr_t *all = malloc(((size_t)count * FRAMES + 1) * sizeof(*all));
    size_t n = 0;
    for (unsigned i = 0; all && i < count; i++)
        for (int k = OURS; k < samples[i].count; k++)
            all[n++] = (uintptr_t)samples[i].frames[k];
    qsort(all, n, sizeof(*all), compare);
    for (size_t i = 0; i < n; i++) {
        Dl_info info;
        if ((i == 0 || all[i] != all[i - 1]) && dladdr((void *)all[i], &info) && info.dli_sname)
            fprintf(out, "n %lx %s\n", (unsigned long)all[i], info.dli_sname);
    }
    free(all);
}

static void write_all(void)
{
    FILE *out = getpid() == owner ? fopen(getenv("SAMPLES"), "w") : NULL;
    const unsigned count = used < MOST ? used : MOST;
    if (!out)
        return;
    signal(SIGURG, SIG_IGN);
    write_maps(out);
    write_names(out, count);
    for (unsigned i = 0; i < count; i++) {
        fprintf(out, "s %u %u", samples[i].thread, samples[i].ms);
        for (int k = OURS; k < samples[i].count; k++)
            fprintf(out, " %lx", (unsigned long)samples[i].frames[k]);
        fputc('\n', out);
    }
    fclose(out);
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    void *frames[2];
    if (!getenv("SAMPLES"))
        return;
    samples = calloc(MOST, sizeof(*samples)); /* touched as it is used */
    owner = getpid();
    clock_gettime(CLOCK_MONOTONIC, &begin);
    (void)backtrace(frames, 2); /* loads what it needs, which a handler must not */
    const struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    if (!samples || sigaction(SIGURG, &action, NULL) != 0 || atexit(write_all) != 0 ||
        pthread_create(&thread, NULL, sample_on, NULL) != 0)
        return;
    pthread_detach(thread);
}
