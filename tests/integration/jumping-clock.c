/* jumping-clock.c - preloaded: every clock jumps by up to JUMP seconds, to and fro, at every fourth question. Says at exit
 * how often it was asked. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned long asked;

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    static int (*real)(clockid_t, struct timespec *);
    static uint64_t state = 1;
    static long off_s;
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const char *most = getenv("JUMP");
    int r = real(clock, ret_time);
    if (r != 0 || !most)
        return r;
    if (asked++ % 4 == 0) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        off_s = (long)(state >> 33) % (2 * atol(most) + 1) - atol(most);
    }
    ret_time->tv_sec += off_s;
    return 0;
}

__attribute__((destructor)) static void tell(void)
{
    if (getenv("JUMP"))
        fprintf(stderr, "jumping-clock: asked %lu times\n", asked);
}
