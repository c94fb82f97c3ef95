/* status.c - keeps the status page as a mapped file that others may read while it is written. */
#include "status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lock.h"
#include "log.h"
#include "status_find.h"

enum { OLD_NS = 10000000, PATH = 512 };

static struct spw_status_page *page; /* NULL: there is none */
static char path[PATH];
static void (*fill)(struct spw_status_page *page);

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the page ---- */

static void read_command(char *command)
{
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? 0 : read(file, command, SPW_STATUS_COMMAND - 1);
    if (file >= 0)
        close(file);
    while (n > 0 && !command[n - 1])
        n--;
    for (ssize_t i = 0; i < n; i++)
        if ((unsigned char)command[i] < ' ')
            command[i] = ' ';
}

/* Writes whose page it is. Without the magic bytes it is not a page yet: with only half of this, a reader would take it for
 * the page of an ended process. */
static void describe(struct spw_status_page *p, enum spw_mode mode)
{
    p->version = SPW_STATUS_VERSION;
    p->bytes = sizeof(*p);
    p->pid = (uint32_t)getpid();
    p->pid_namespace = spw_status_namespace();
    p->process_start = spw_status_process_start(p->pid);
    p->started_unix_ns = now_ns(CLOCK_REALTIME);
    p->mode = mode;
    read_command(p->command);
    atomic_thread_fence(memory_order_release);
    memcpy(p->magic, SPW_STATUS_MAGIC, sizeof(p->magic));
}

/* Makes a file with room for the whole page: writing to mapped memory without backing would end the program. Returns a
 * negative errno on failure. */
static int make_file(const char *folder)
{
    snprintf(path, sizeof(path), "%s/" SPW_STATUS_NAME, folder, (unsigned)geteuid(), (unsigned)getpid());
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int file = open(path, flags, 0600);
    if (file < 0 && errno == EEXIST) { /* of an ended process with the same pid, or our own before an exec */
        if (spw_status_is_left(path, (uint32_t)getpid(), true) && unlink(path) == 0)
            file = open(path, flags, 0600);
        else
            errno = EEXIST;
    }
    if (file < 0)
        return -errno;
    int r = fchmod(file, 0600) < 0 ? errno : posix_fallocate(file, 0, sizeof(struct spw_status_page));
    if (r) {
        close(file);
        unlink(path);
        return -r;
    }
    return file;
}

void spw_status_start(enum spw_mode mode, void (*with)(struct spw_status_page *page))
{
    const char *folder;
    int file = -ENOENT;
    for (unsigned i = 0; file < 0 && (folder = spw_status_folder(i)); i++) {
        spw_status_clean(folder);
        file = make_file(folder);
        if (file < 0)
            spw_debug("no status page in %s: %s", folder, strerror(-file));
    }
    if (file < 0)
        return;
    void *mapped = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED) {
        spw_debug("no status page: %s", strerror(errno));
        unlink(path);
        return;
    }
    struct spw_status_page *p = mapped;
    describe(p, mode);
    fill = with;
    __atomic_store_n(&page, p, __ATOMIC_RELEASE);
}

void spw_status_in_child(void)
{
    struct spw_status_page *p = page;
    __atomic_store_n(&page, NULL, __ATOMIC_RELEASE);
    if (p)
        munmap(p, sizeof(*p));
}

/* Other threads may still write to the page, so only its name is removed. */
__attribute__((destructor)) static void at_end(void)
{
    struct spw_status_page *p = __atomic_load_n(&page, __ATOMIC_ACQUIRE);
    if (p && p->pid == (uint32_t)getpid())
        unlink(path);
}

/* ---- its figures ---- */

void spw_status_publish_locked(bool now)
{
    struct spw_status_page *p = __atomic_load_n(&page, __ATOMIC_ACQUIRE);
    if (!p)
        return;
    uint64_t t = now_ns(now ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_COARSE);
    if (!now && t - p->updated_ns < OLD_NS)
        return;
    uint32_t sequence = p->sequence;
    __atomic_store_n(&p->sequence, sequence + 1, __ATOMIC_RELAXED);
    atomic_thread_fence(memory_order_release);
    fill(p);
    p->updated_ns = t;
    __atomic_store_n(&p->sequence, sequence + 2, __ATOMIC_RELEASE);
}

void spw_status_after_wait(void)
{
    if (!__atomic_load_n(&page, __ATOMIC_RELAXED))
        return;
    spw_lock();
    spw_status_publish_locked(true);
    spw_unlock();
}
