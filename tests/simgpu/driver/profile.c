/* profile.c - finds and reads a device profile. */
#include "profile.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "default-profile.h" /* made by the build: static const char default_profile[] */

static const struct {
    const char *key;
    size_t offset;
    bool number;
} fields[] = {
#define SIMGPU_INT              false
#define SIMGPU_NUMBER           true
#define X(type, field, meaning) {#field, offsetof(struct profile, field), SIMGPU_##type},
    SIMGPU_PROFILE_FIELDS(X)
#undef X
};

enum { FIELDS = sizeof fields / sizeof fields[0] };

static char *trim(char *s)
{
    s += strspn(s, " \t\r");
    for (size_t n = strlen(s); n > 0 && strchr(" \t\r", s[n - 1]); n--)
        s[n - 1] = 0;
    return s;
}

static int set(struct profile *p, bool seen[FIELDS], const char *key, const char *value)
{
    if (strcmp(key, "name") == 0)
        return snprintf(p->name, sizeof p->name, "%s", value) > 0 ? 0 : -EINVAL;
    for (int i = 0; i < FIELDS; i++) {
        if (strcmp(key, fields[i].key) != 0)
            continue;
        char *end;
        double number = strtod(value, &end);
        if (end == value || *end || number < 0)
            return -EINVAL;
        if (fields[i].number)
            memcpy((char *)p + fields[i].offset, &number, sizeof number);
        else
            memcpy((char *)p + fields[i].offset, &(int){(int)number}, sizeof(int));
        seen[i] = true;
        return 0;
    }
    return -EINVAL;
}

static int parse(char *text, const char *source, struct profile *ret_profile, char *ret_message, size_t size)
{
    struct profile p = {0};
    bool seen[FIELDS] = {false};
    char *rest = text;
    for (int number = 1; rest; number++) {
        char *line = strsep(&rest, "\n");
        line[strcspn(line, "#")] = 0;
        line = trim(line);
        if (!*line)
            continue;
        char *value = strchr(line, '=');
        if (value)
            *value++ = 0;
        if (!value || set(&p, seen, trim(line), trim(value)) < 0) {
            snprintf(ret_message, size, "%s:%d: '%s' is not a field of a device profile with its value", source, number,
                     line);
            return -EINVAL;
        }
    }
    for (int i = 0; i < FIELDS; i++) {
        if (!seen[i]) {
            snprintf(ret_message, size, "%s: '%s' is missing", source, fields[i].key);
            return -EINVAL;
        }
    }
    *ret_profile = p;
    return 0;
}

/* The whole file, 0-terminated; NULL when it can't be read. The caller frees it. */
static char *read_all(const char *path)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return NULL;
    enum { MOST = 65536 };
    char *text = malloc(MOST);
    size_t n = text ? fread(text, 1, MOST - 1, f) : 0;
    if (text)
        text[n] = 0;
    fclose(f);
    return text;
}

/* NAME.profile in the folder of this library, or in profiles/ below it. */
static char *read_beside_library(const char *name)
{
    Dl_info info;
    if (!dladdr((const void *)fields, &info) || !info.dli_fname)
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    int folder = slash ? (int)(slash - info.dli_fname) : 1;
    char path[4096];
    snprintf(path, sizeof path, "%.*s/profiles/%s.profile", folder, slash ? info.dli_fname : ".", name);
    char *text = read_all(path);
    if (text)
        return text;
    snprintf(path, sizeof path, "%.*s/%s.profile", folder, slash ? info.dli_fname : ".", name);
    return read_all(path);
}

int profile_read(const char *wanted, struct profile *ret_profile, char *ret_message, size_t size)
{
    const char *name = wanted && *wanted ? wanted : "h200";
    char *text = strchr(name, '/') || strchr(name, '.') ? read_all(name) : read_beside_library(name);
    if (!text && strcmp(name, "h200") == 0)
        text = strdup(default_profile);
    if (!text) {
        snprintf(ret_message, size,
                 "SIMGPU_PROFILE=%s: no such device profile; accepted: v100-16g, a100-40g, rtx4090, h200, or a path", name);
        return -ENOENT;
    }
    int r = parse(text, name, ret_profile, ret_message, size);
    free(text);
    return r;
}
