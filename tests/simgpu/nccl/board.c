/* board.c - the shared file: a head with a line for each rank, rings of posts, and a region of bytes for each rank. */
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REGION \
    ((uint64_t)1 << 48) /* of a rank: places in a sparse file, which are used once; the first one is the head's \
                         */

struct line { /* of a rank */
    int pid;
    atomic_bool has_left;
    _Atomic double clock_ns, moved_ns;
    _Atomic uint64_t told; /* how often it told, and twice that it has read what the others told */
    unsigned char words[BOARD_WORDS];
};

struct head {
    unsigned ranks;
    struct line lines[BOARD_RANKS];
};

struct place {              /* of a post in its ring */
    _Atomic uint64_t count; /* its number + 1; 0: there never was one */
    atomic_uint readers;    /* that still need it */
    struct post post;
};

struct board {
    struct board *next; /* open in this process */
    int file;
    unsigned ranks, rank;
    size_t bytes;
    struct head *head;
    struct place *places;
    uint64_t next_byte; /* free in the rank's region */
    uint64_t tellings;
    int processes[BOARD_RANKS]; /* pidfds; -1: the rank was gone before that was asked */
};

static struct {
    pthread_mutex_t mutex;
    struct board *all;
    struct shown shown;
} open_here = {.mutex = PTHREAD_MUTEX_INITIALIZER, .shown.clock_ns = INFINITY};

static void show(struct line *line)
{
    atomic_store_explicit(&line->moved_ns, open_here.shown.moved_ns, memory_order_relaxed);
    atomic_store_explicit(&line->clock_ns, open_here.shown.clock_ns, memory_order_release);
}

static size_t places_at(void)
{
    return (sizeof(struct head) + 4095) & ~(size_t)4095;
}

static size_t mapped_bytes(unsigned ranks)
{
    return places_at() + ((size_t)ranks + 2 * (size_t)ranks * ranks) * BOARD_POSTS * sizeof(struct place);
}

int board_make(unsigned ranks, const int *pids)
{
    struct head *head;
    int file = memfd_create("simgpu-nccl", MFD_CLOEXEC);
    if (file < 0)
        return -errno;
    if (ftruncate(file, (off_t)((ranks + 1) * REGION)) != 0 ||
        (head = mmap(NULL, sizeof *head, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)) == MAP_FAILED) {
        const int error = errno;
        close(file);
        return -error;
    }
    head->ranks = ranks;
    for (unsigned i = 0; i < ranks; i++)
        head->lines[i].pid = pids[i];
    munmap(head, sizeof *head);
    return file;
}

/* The process of a rank may have ended before it is asked for here, and its number may be another's: who tells after that
 * was there. */
static void watch(struct board *b)
{
    for (unsigned i = 0; i < b->ranks; i++)
        b->processes[i] = (int)syscall(SYS_pidfd_open, b->head->lines[i].pid, 0);
}

struct board *board_open(int file, unsigned ranks, unsigned rank)
{
    struct board *b = calloc(1, sizeof *b);
    void *mapped = b ? mmap(NULL, mapped_bytes(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    if (mapped == MAP_FAILED) {
        const int error = b ? errno : ENOMEM;
        close(file);
        free(b);
        errno = error;
        return NULL;
    }
    *b = (struct board){.file = file, .ranks = ranks, .rank = rank, .bytes = mapped_bytes(ranks), .head = mapped};
    (void)madvise(mapped, b->bytes, MADV_DONTFORK);
    b->places = (struct place *)((char *)mapped + places_at());
    b->next_byte = (rank + 1) * REGION;
    watch(b);
    pthread_mutex_lock(&open_here.mutex);
    b->next = open_here.all;
    open_here.all = b;
    show(&b->head->lines[rank]);
    pthread_mutex_unlock(&open_here.mutex);
    return b;
}

void board_close(struct board *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&open_here.mutex);
    struct board **at = &open_here.all;
    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
    pthread_mutex_unlock(&open_here.mutex);
    atomic_store(&b->head->lines[b->rank].has_left, true);
    for (unsigned i = 0; i < b->ranks; i++)
        if (b->processes[i] >= 0)
            close(b->processes[i]);
    munmap(b->head, b->bytes);
    close(b->file);
    free(b);
}

unsigned board_to_all(const struct board *b, unsigned rank)
{
    (void)b;
    return rank;
}

unsigned board_sent(const struct board *b, unsigned from, unsigned to)
{
    return b->ranks + from * b->ranks + to;
}

unsigned board_wanted(const struct board *b, unsigned from, unsigned to)
{
    return b->ranks + b->ranks * b->ranks + from * b->ranks + to;
}

/* ---- posts ---- */

static struct place *place_of(const struct board *b, unsigned channel, uint64_t number)
{
    return &b->places[(size_t)channel * BOARD_POSTS + number % BOARD_POSTS];
}

/* Memory of what nobody reads any more goes back. */
static void reclaim(struct board *b, unsigned channel, uint64_t number)
{
    for (uint64_t back = 1; back <= BOARD_POSTS && back <= number; back++) {
        struct place *p = place_of(b, channel, number - back);
        if (p->post.bytes == 0 || atomic_load(&p->readers) > 0)
            continue;
        (void)fallocate(b->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)p->post.start, (off_t)p->post.bytes);
        p->post.bytes = 0;
    }
}

static int write_all(int file, const char *from, uint64_t bytes, uint64_t at)
{
    while (bytes > 0) {
        const ssize_t n = pwrite(file, from, bytes, (off_t)at);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            from += n;
            at += (uint64_t)n;
            bytes -= (uint64_t)n;
        }
    }
    return 0;
}

int board_post(struct board *b, unsigned channel, uint64_t number, struct post post, const void *bytes)
{
    struct place *p = place_of(b, channel, number);
    reclaim(b, channel, number);
    if (atomic_load(&p->readers) > 0)
        return -EBUSY;
    post.start = b->next_byte;
    int r = write_all(b->file, bytes, post.bytes, post.start);
    if (r < 0)
        return r;
    b->next_byte += (post.bytes + 4095) & ~(uint64_t)4095;
    p->post = post;
    atomic_store(&p->readers, post.readers);
    atomic_store_explicit(&p->count, number + 1, memory_order_release);
    return 0;
}

const struct post *board_look(const struct board *b, unsigned channel, uint64_t number)
{
    struct place *p = place_of(b, channel, number);
    return atomic_load_explicit(&p->count, memory_order_acquire) == number + 1 ? &p->post : NULL;
}

int board_read(const struct board *b, const struct post *post, uint64_t at, void *to, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = pread(b->file, (char *)to + done, bytes - done, (off_t)(post->start + at + done));
        if (n <= 0 && !(n < 0 && errno == EINTR))
            return n < 0 ? -errno : -EIO;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

void board_done(struct board *b, unsigned channel, uint64_t number)
{
    atomic_fetch_sub(&place_of(b, channel, number)->readers, 1);
}

/* ---- who is there ---- */

bool board_has(const struct board *b, unsigned rank)
{
    struct pollfd process = {.fd = b->processes[rank], .events = POLLIN};
    if (atomic_load(&b->head->lines[rank].has_left) || process.fd < 0)
        return false;
    return poll(&process, 1, 0) == 0;
}

void boards_show_clock(double clock_ns, double moved_ns)
{
    pthread_mutex_lock(&open_here.mutex);
    open_here.shown = (struct shown){clock_ns, moved_ns};
    for (struct board *b = open_here.all; b; b = b->next)
        show(&b->head->lines[b->rank]);
    pthread_mutex_unlock(&open_here.mutex);
}

struct shown board_clock(const struct board *b, unsigned rank)
{
    struct line *line = &b->head->lines[rank];
    return (struct shown){atomic_load_explicit(&line->clock_ns, memory_order_acquire),
                          atomic_load_explicit(&line->moved_ns, memory_order_relaxed)};
}

bool board_is_here(const struct board *b, unsigned rank)
{
    return b->head->lines[rank].pid == b->head->lines[b->rank].pid;
}

static bool wait_for(struct board *b, unsigned rank, uint64_t told, const bool *stop)
{
    while (atomic_load_explicit(&b->head->lines[rank].told, memory_order_acquire) < told) {
        if (!board_has(b, rank) && atomic_load(&b->head->lines[rank].told) < told)
            return false;
        if (stop && __atomic_load_n(stop, __ATOMIC_RELAXED))
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    return true;
}

bool board_tell(struct board *b, const void *mine, void *ret_all, const bool *stop)
{
    struct line *line = &b->head->lines[b->rank];
    const uint64_t told = ++b->tellings * 2;
    memcpy(line->words, mine, BOARD_WORDS);
    atomic_store_explicit(&line->told, told - 1, memory_order_release);
    for (unsigned i = 0; i < b->ranks; i++) {
        if (!wait_for(b, i, told - 1, stop))
            return false;
        memcpy((char *)ret_all + i * BOARD_WORDS, b->head->lines[i].words, BOARD_WORDS);
    }
    atomic_store_explicit(&line->told, told, memory_order_release);
    for (unsigned i = 0; i < b->ranks; i++) /* nobody tells anew before all have read this */
        if (!wait_for(b, i, told, stop))
            return false;
    return true;
}
