/* check.c - ends a debug build that has found something wrong. */
#include "check.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void spw_check_failed(const char *file, int line, const char *function, const char *condition, const char *expected)
{
    enum { DEPTH = 32 };
    void *calls[DEPTH];
    dprintf(STDERR_FILENO, "spillway: %s:%d: %s(): \"%s\" does not hold: %s\n", file, line, function, condition, expected);
    backtrace_symbols_fd(calls, backtrace(calls, DEPTH), STDERR_FILENO);
    abort();
}
