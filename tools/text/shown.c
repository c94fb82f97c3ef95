/* shown.c - formats units by powers of 1024 and 1000, and finds the error of a stream at its end. */
#include "shown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *shown_bytes(uint64_t bytes, char *buffer)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double x = (double)bytes;
    unsigned u = 0;
    for (; x >= 1024 && u < 4; u++)
        x /= 1024;
    snprintf(buffer, 32, u && x < 100 ? "%.1f %s" : "%.0f %s", x, units[u]);
    return buffer;
}

const char *shown_time(uint64_t ns, char *buffer)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double x = (double)ns;
    unsigned u = 0;
    for (; x >= 1000 && u < 3; u++)
        x /= 1000;
    snprintf(buffer, 32, u ? "%.2f %s" : "%.0f %s", x, units[u]);
    return buffer;
}

json_t *shown_string(const char *s)
{
    if (!s)
        s = "";
    json_t *o = json_string(s);
    if (o)
        return o;
    char *escaped = malloc(4 * strlen(s) + 1), *to = escaped;
    for (const char *at = s; escaped && *at; at++)
        to += sprintf(to, (unsigned char)*at < 0x80 ? "%c" : "\\x%02x", (unsigned char)*at);
    o = json_string(escaped ? escaped : "");
    free(escaped);
    return o;
}

int shown_end(FILE *to)
{
    if (fflush(to) != 0)
        return -errno;
    if (!ferror(to))
        return 0;
    errno = 0; /* errno is that of another call by now: ask the stream again */
    return fputc('\n', to) == EOF || fflush(to) != 0 ? errno ? -errno : -EIO : -EIO;
}
