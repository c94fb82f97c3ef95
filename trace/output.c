/* output.c - creates a trace's file and appends to it, inside a program that must not notice anything of it. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 8, FIRST_FD = 3 }; /* tries: another process may create a file between our unlink() and open() */

static bool is_null_or_full(const struct stat *found)
{
    return S_ISCHR(found->st_mode) && (found->st_rdev == makedev(1, 3) || found->st_rdev == makedev(1, 7));
}

/* Returns a descriptor or a negative errno; -EEXIST: the name is taken. */
static int create_new(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    (void)fchmod(fd, 0600); /* sets the bits that the umask has removed */
    return fd;
}

/* Handles what has the name already: a regular file is removed, and the result is -EEXIST, to try again; otherwise a
 * descriptor or a negative errno. */
static int take_existing(const char *path)
{
    struct stat found;
    if (lstat(path, &found) < 0)
        return errno == ENOENT ? -EEXIST : -errno;
    if (S_ISREG(found.st_mode))
        return unlink(path) < 0 && errno != ENOENT ? -errno : -EEXIST;
    if (S_ISLNK(found.st_mode))
        return -ELOOP;
    if (S_ISDIR(found.st_mode))
        return -EISDIR;
    if (!is_null_or_full(&found))
        return -ENOTSUP;
    const int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* A program that was started without standard output must not print into the trace. */
static int above_standard(int fd)
{
    if (fd >= FIRST_FD)
        return fd;
    const int higher = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
    const int error = errno;
    (void)close(fd);
    return higher < 0 ? -error : higher;
}

int spw_output_create(const char *path, struct spw_output *ret_output)
{
    int fd = -EEXIST;
    for (int i = 0; i < TRIES && fd == -EEXIST; i++) {
        fd = create_new(path);
        if (fd == -EEXIST)
            fd = take_existing(path);
    }
    if (fd >= 0)
        fd = above_standard(fd);
    struct stat made;
    if (fd < 0)
        return fd;
    if (fstat(fd, &made) < 0) {
        const int error = errno;
        (void)close(fd);
        return -error;
    }
    *ret_output = (struct spw_output){.fd = fd, .device = made.st_dev, .inode = made.st_ino};
    return 0;
}

static bool is_still_ours(const struct spw_output *output)
{
    struct stat now;
    return fstat(output->fd, &now) == 0 && now.st_dev == output->device && now.st_ino == output->inode;
}

static int write_all(int fd, uint64_t offset, const uint8_t *data, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t n = pwrite(fd, data, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENOSPC;
        data += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return 0;
}

/* A file that would grow past RLIMIT_FSIZE sends SIGXFSZ to the writing thread, which kills by default. So the signal is
 * blocked while we write, and removed afterwards unless the program itself had one pending. */
static int write_quietly(int fd, uint64_t offset, const uint8_t *data, size_t bytes)
{
    sigset_t too_large, before, waiting;
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    (void)pthread_sigmask(SIG_BLOCK, &too_large, &before);
    const bool was_waiting = sigpending(&waiting) == 0 && sigismember(&waiting, SIGXFSZ) == 1;

    const int r = write_all(fd, offset, data, bytes);
    if (r == -EFBIG && !was_waiting)
        while (sigtimedwait(&too_large, NULL, &(struct timespec){0}) < 0 && errno == EINTR)
            ;
    if (r < 0 && ftruncate(fd, (off_t)offset) < 0)
        (void)r; /* then it ends in the middle of a frame, which readers notice */

    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

int spw_output_append(const struct spw_output *output, uint64_t offset, const uint8_t *data, size_t bytes)
{
    int cancelable;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelable);
    const int r = is_still_ours(output) ? write_quietly(output->fd, offset, data, bytes) : -EBADF;
    (void)pthread_setcancelstate(cancelable, NULL);
    return r;
}

int spw_output_close(struct spw_output *output)
{
    const int fd = output->fd;
    output->fd = -1;
    if (fd < 0 || !is_still_ours(&(struct spw_output){fd, output->device, output->inode}))
        return 0;
    return close(fd) < 0 && errno != EINTR ? -errno : 0;
}
