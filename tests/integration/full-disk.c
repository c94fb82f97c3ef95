/* full-disk.c - preloaded: the disk is full once FULL_AFTER bytes were written to files whose name ends in .trace. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t written;

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    static ssize_t (*real)(int, const void *, size_t, off_t);
    char link[64], path[4096];
    if (!real)
        real = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    const char *room = getenv("FULL_AFTER");
    if (!room || n < 6 || memcmp(path + n - 6, ".trace", 6) != 0)
        return real(fd, bytes, count, offset);
    size_t left = strtoul(room, NULL, 10) > written ? strtoul(room, NULL, 10) - written : 0;
    if (left == 0) {
        errno = ENOSPC;
        return -1;
    }
    ssize_t done = real(fd, bytes, count < left ? count : left, offset); /* the last one is short */
    written += done > 0 ? (size_t)done : 0;
    return done;
}
