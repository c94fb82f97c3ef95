/* mangled.h - reads the mangled names of PyTorch's kernels piece by piece. Each function moves *at behind the piece and
 * returns true, or returns false. */
#ifndef SPILLWAY_SHIM_MANGLED_H
#define SPILLWAY_SHIM_MANGLED_H
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Skips `text`. */
static inline bool spw_mangled_skip(const char **at, const char *text)
{
    const size_t n = strlen(text);
    if (strncmp(*at, text, n) != 0)
        return false;
    *at += n;
    return true;
}

/* Skips an anonymous namespace: a length, and the name that the compiler gave it. */
static inline bool spw_mangled_skip_anonymous(const char **at)
{
    static const char begin[] = "_GLOBAL__N_";
    char *name;
    const unsigned long n = strtoul(*at, &name, 10);
    if (name == *at || n < sizeof(begin) - 1 || strnlen(name, n) < n || strncmp(name, begin, sizeof(begin) - 1) != 0)
        return false;
    *at = name + n;
    return true;
}

/* Skips a number of type `type` among template arguments, as in "Li128E", and stores it. */
static inline bool spw_mangled_skip_number(const char **at, char type, unsigned long *ret)
{
    char *end;
    if ((*at)[0] != 'L' || (*at)[1] != type || (*at)[2] < '0' || (*at)[2] > '9')
        return false;
    const unsigned long number = strtoul(*at + 2, &end, 10);
    if (*end != 'E')
        return false;
    *at = end + 1;
    *ret = number;
    return true;
}
#endif
