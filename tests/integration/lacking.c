/* lacking.c - preloaded: the machine lacks what LACKS names: libunwind, shm (/dev/shm cannot be written), room (on any
 * disk), time (to read /proc/PID/stat takes a quarter of a second). As a driver: with LACKS=driver the program that loads it
 * ends. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int lacks(const char *what)
{
    const char *list = getenv("LACKS");
    return list && strstr(list, what) != NULL;
}

__attribute__((constructor)) static void start(void)
{
    if (lacks("driver"))
        _Exit(3);
}

/* Large files being what everything here is built for, open() and statvfs() are the symbols open64 and statvfs64. */
void *dlopen(const char *name, int flags)
{
    void *(*real)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return name && strstr(name, "libunwind") && lacks("libunwind") ? NULL : real(name, flags);
}

int open(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    va_list arguments;
    va_start(arguments, flags);
    int end = 0;
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (!strncmp(path, "/dev/shm/", strlen("/dev/shm/")) && lacks("shm")) {
        errno = EACCES;
        return -1;
    }
    if (lacks("time") && sscanf(path, "/proc/%*u/stat%n", &end) == 0 && end)
        usleep(250000);
    return real(path, flags, mode);
}

int statvfs(const char *path, struct statvfs *ret)
{
    int (*real)(const char *, struct statvfs *) = (int (*)(const char *, struct statvfs *))dlsym(RTLD_NEXT, "statvfs64");
    int r = real(path, ret);
    if (r == 0 && lacks("room"))
        ret->f_bavail = 0;
    return r;
}
