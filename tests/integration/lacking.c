/* lacking.c - preloaded: the machine lacks what LACKS names: libunwind, shm (/dev/shm cannot be written), room (on any
 * disk), time (to read /proc/PID/stat takes a quarter of a second), permission (to open /dev/nvidia0, which is there), nodes
 * (it has NVIDIA's kernel driver), placing (of memory), path (to the driver of WSL, which is there). As a driver: with
 * LACKS=driver the program that loads it ends. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
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
    return name && !strcmp(name, "libunwind.so.8") && lacks("libunwind") ? NULL : real(name, flags);
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
    if (!strcmp(path, "/dev/nvidia0") && lacks("permission")) {
        errno = EPERM;
        return -1;
    }
    if (!strcmp(path, "/proc/driver/nvidia/version") && lacks("nodes"))
        path = "/dev/null";
    if (lacks("time") && sscanf(path, "/proc/%*u/stat%n", &end) == 0 && end)
        usleep(250000);
    return real(path, flags, mode);
}

int access(const char *path, int mode)
{
    int (*real)(const char *, int) = (int (*)(const char *, int))dlsym(RTLD_NEXT, "access");
    return !strcmp(path, "/usr/lib/wsl/lib/libcuda.so.1") && lacks("path") ? 0 : real(path, mode);
}

long syscall(long number, ...)
{
    long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long words[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_mbind && lacks("placing")) {
        errno = EPERM;
        return -1;
    }
    return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

int statvfs(const char *path, struct statvfs *ret)
{
    int (*real)(const char *, struct statvfs *) = (int (*)(const char *, struct statvfs *))dlsym(RTLD_NEXT, "statvfs64");
    int r = real(path, ret);
    if (r == 0 && lacks("room"))
        ret->f_bavail = 0;
    return r;
}
