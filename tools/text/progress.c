/* progress.c - prints a line that overwrites itself. */
#include "progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double began, shown;
static bool visible;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void progress_show(void *context, uint64_t done, uint64_t all)
{
    double t = now();
    if (began == 0)
        began = t;
    if (t - began < 1 || t - shown < 0.1 || all == 0 || !isatty(STDERR_FILENO))
        return;
    shown = t;
    visible = true;
    fprintf(stderr, "\r%s: %.0f%% ", (const char *)context, 100.0 * (double)done / (double)all);
}

void progress_end(void)
{
    if (visible)
        fprintf(stderr, "\r\033[K");
    visible = false;
    began = 0;
}
