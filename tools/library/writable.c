/* writable.c - opens a file as the library would, and removes it again if it did not exist. */
#include "writable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

int can_write(const char *path)
{
    int there = access(path, F_OK) == 0;
    /* Does not wait for the reader of a pipe. */
    int file = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (file < 0)
        return -errno;
    close(file);
    if (!there)
        unlink(path);
    return 0;
}

int can_write_to(const char *path)
{
    struct stat found;
    int there = stat(path, &found) == 0;
    if (there && S_ISDIR(found.st_mode))
        return -EISDIR;
    if (there && !S_ISREG(found.st_mode))
        return 0; /* the reader of a pipe would take the check for its end */
    int file = open(path, O_WRONLY | O_CLOEXEC | (there ? 0 : O_CREAT | O_EXCL), 0600);
    if (file < 0)
        return errno == EEXIST ? 0 : -errno; /* a link to nothing yet */
    close(file);
    if (!there)
        unlink(path);
    return 0;
}

int room_left(const char *path, uint64_t *ret_bytes)
{
    char folder[PATH_MAX];
    struct statvfs s;
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) + 1 : 0;
    snprintf(folder, sizeof(folder), "%.*s.", length, path);
    if (statvfs(folder, &s) < 0)
        return -errno;
    *ret_bytes = (uint64_t)s.f_bavail * s.f_frsize;
    return 0;
}
