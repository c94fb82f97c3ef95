/* find.c - looks for the real driver without the loader's help, because the loader would find us under that name. */
#include "find.h"
#include "folder.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DRIVER     "libcuda.so.1"
#define CACHE_FILE "/etc/ld.so.cache"

struct search {
    bool (*try_file)(const char *path, void *data);
    void *data;
    struct stat self; /* the file that contains this code; st_ino 0: unknown */
};

/* ---- one candidate ---- */

static void stat_self(struct stat *ret_self)
{
    Dl_info info;
    char path[PATH_MAX]; /* LD_PRELOAD may have a relative path to us */
    if (!dladdr((void *)&stat_self, &info) || !info.dli_fname || !spw_folder_at_start(info.dli_fname, path, sizeof(path)) ||
        stat(path, ret_self) < 0)
        memset(ret_self, 0, sizeof(*ret_self));
}

/* Recognises spillway by its file, or by its name if it is a copy or reached through a link. */
static bool is_spillway(const char *real_path, const struct stat *file, const struct stat *self)
{
    const char *name = strrchr(real_path, '/');
    return (self->st_ino && file->st_ino == self->st_ino && file->st_dev == self->st_dev) ||
           (name && !strncmp(name, "/libspillway", strlen("/libspillway")));
}

/* Recognises the toolkit's stub library, which is for linking only: it exports everything and does nothing. */
static bool is_stub(const char *path)
{
    return strstr(path, "/stubs/") != NULL;
}

static bool try_candidate(const struct search *search, const char *path)
{
    struct stat file;
    char real_path[PATH_MAX];
    if (path[0] != '/' || stat(path, &file) < 0 || !S_ISREG(file.st_mode) || !realpath(path, real_path))
        return false;
    if (is_spillway(real_path, &file, &search->self) || is_stub(path) || is_stub(real_path))
        return false;
    return search->try_file(path, search->data);
}

static bool try_folder(const struct search *search, const char *folder, size_t length)
{
    char path[PATH_MAX];
    int written = snprintf(path, sizeof(path), "%.*s/%s", (int)length, folder, DRIVER);
    return written > 0 && (size_t)written < sizeof(path) && try_candidate(search, path);
}

/* ---- the places ---- */

/* Tries an entry of LD_LIBRARY_PATH. A relative one refers first to the folder in which the process was started, where the
 * loader found what the program was linked with, then to the current folder, where the loader would look for what the
 * program opens. */
static bool try_entry(const struct search *search, const char *entry, size_t length)
{
    char name[PATH_MAX], path[PATH_MAX];
    int written =
        /* to the loader an empty entry is the current folder */
        length ? snprintf(name, sizeof(name), "%.*s", (int)length, entry) : snprintf(name, sizeof(name), ".");
    if (written < 0 || (size_t)written >= sizeof(name))
        return false;
    if (spw_folder_at_start(name, path, sizeof(path)) && try_folder(search, path, strlen(path)))
        return true;
    return name[0] != '/' && realpath(name, path) && try_folder(search, path, strlen(path));
}

static bool try_library_path(const struct search *search)
{
    const char *at = getenv("LD_LIBRARY_PATH");
    if (!at || !*at)
        return false;
    for (;; at++) {
        size_t length = strcspn(at, ":;");
        if (length < PATH_MAX && try_entry(search, at, length))
            return true;
        at += length;
        if (!*at)
            return false;
    }
}

struct cache_header {
    char magic[20]; /* "glibc-ld.so.cache1.1" */
    uint32_t entry_count;
    uint32_t string_bytes;
    uint32_t unused[5];
};

struct cache_entry {
    int32_t flags;
    uint32_t name, path; /* offsets from the header */
    uint32_t os_version;
    uint64_t hwcap;
};

#if defined(__x86_64__)
#define CACHE_FLAGS 0x0303
#elif defined(__aarch64__)
#define CACHE_FLAGS 0x0a03
#else
#define CACHE_FLAGS 0x0003
#endif

/* Returns the string at `offset` if it ends within the image. */
static const char *cache_string(const char *base, size_t size, uint32_t offset)
{
    return offset < size && memchr(base + offset, 0, size - offset) ? base + offset : NULL;
}

const char *spw_find_in_cache(const void *image, size_t size, const char *name, unsigned nth)
{
    static const char magic[] = "glibc-ld.so.cache1.1";
    const char *base = memmem(image, size, magic, sizeof(magic) - 1); /* an older form of the cache may come before it */
    if (!base)
        return NULL;
    size -= (size_t)(base - (const char *)image);

    struct cache_header header;
    if (size < sizeof(header))
        return NULL;
    memcpy(&header, base, sizeof(header));
    if (header.entry_count > (size - sizeof(header)) / sizeof(struct cache_entry))
        return NULL;

    for (uint32_t i = 0; i < header.entry_count; i++) {
        struct cache_entry entry;
        memcpy(&entry, base + sizeof(header) + i * sizeof(entry), sizeof(entry));
        const char *entry_name = cache_string(base, size, entry.name);
        if (entry.flags == CACHE_FLAGS && entry_name && !strcmp(entry_name, name) && nth-- == 0)
            return cache_string(base, size, entry.path);
    }
    return NULL;
}

/* Reads the whole file into memory, which the caller frees. NULL if it cannot be read or is unreasonably large. */
static void *read_file(const char *path, size_t *ret_size)
{
    char *bytes = NULL;
    size_t got = 0;
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &file) == 0 && file.st_size > 0 && file.st_size < (64 << 20))
        bytes = malloc((size_t)file.st_size);
    while (bytes && got < (size_t)file.st_size) {
        ssize_t n = read(fd, bytes + got, (size_t)file.st_size - got);
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    close(fd);
    *ret_size = got;
    return bytes;
}

static bool try_cache(const struct search *search)
{
    size_t size = 0;
    void *image = read_file(CACHE_FILE, &size);
    bool taken = false;
    const char *path;
    for (unsigned nth = 0; image && !taken && (path = spw_find_in_cache(image, size, DRIVER, nth)); nth++)
        taken = try_candidate(search, path);
    free(image);
    return taken;
}

static bool try_usual_folders(const struct search *search)
{
    static const char *const folders[] = {
#if defined(__x86_64__)
        "/usr/lib/x86_64-linux-gnu",
        "/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
        "/usr/lib/aarch64-linux-gnu",
        "/lib/aarch64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu/tegra",
#endif
        "/usr/lib64",
        "/lib64",
        "/usr/lib",
        "/lib",
        "/usr/local/nvidia/lib64",
        "/usr/local/nvidia/lib",
        "/usr/lib/wsl/lib",
        "/run/opengl-driver/lib",
    };
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (try_folder(search, folders[i], strlen(folders[i])))
            return true;
    return false;
}

bool spw_find_driver(bool (*try_file)(const char *path, void *data), void *data)
{
    struct search search = {.try_file = try_file, .data = data};
    stat_self(&search.self);

    const char *named = getenv("SPILLWAY_DRIVER");
    if (named)
        return try_candidate(&search, named);
    return try_library_path(&search) || try_cache(&search) || try_usual_folders(&search);
}
