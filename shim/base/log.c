/* log.c - formats a line on the stack and writes it with one write(), to stderr or to a file. */
#include "log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "spillway: "

static enum spw_log_level log_level = SPW_LOG_WARN;
static int log_fd = STDERR_FILENO;

void spw_log_setup(enum spw_log_level level, const char *file)
{
    log_level = level;
    log_fd = STDERR_FILENO;
    if (!file || !*file)
        return;

    int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        spw_warn("cannot open the log file %s: %s; logging to stderr" SPW_SEE("log-file"), file, strerror(errno));
    else
        log_fd = fd;
}

int spw_log_enabled(enum spw_log_level level)
{
    return level <= log_level && log_level != SPW_LOG_QUIET;
}

void spw_log(enum spw_log_level level, const char *format, ...)
{
    if (!spw_log_enabled(level))
        return;

    int saved_errno = errno;
    char line[2048] = PREFIX;
    size_t length = sizeof(PREFIX) - 1;
    size_t room = sizeof(line) - length - 1; /* for the text and its end, which becomes the newline */
    va_list args;
    va_start(args, format);
    /* clang-tidy 14 does not see va_start() when it is given several files at once. */
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    int wanted = vsnprintf(line + length, room, format, args);
    va_end(args);
    if (wanted > 0)
        length += (size_t)wanted < room ? (size_t)wanted : room - 1;
    line[length++] = '\n';
    ssize_t written = write(log_fd, line, length);
    (void)written; /* a failure cannot be reported */
    errno = saved_errno;
}
