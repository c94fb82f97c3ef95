/* library.c - finds libspillway.so for a command that was built or installed together with it. */
#include "commands.h"
#include "see.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Gets the folder that contains this command, without a slash at the end; "" if it is unknown. */
static void own_folder(char *ret_folder, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", ret_folder, size - 1);
    ret_folder[length > 0 ? length : 0] = 0;
    char *slash = strrchr(ret_folder, '/');
    if (slash)
        *slash = 0;
}

static bool is_library(const char *path, char *ret_path, size_t size)
{
    char real_path[PATH_MAX];
    return realpath(path, real_path) && access(real_path, R_OK) == 0 &&
           (size_t)snprintf(ret_path, size, "%s", real_path) < size;
}

bool find_library(char *ret_path, size_t size)
{
    char folder[PATH_MAX], path[PATH_MAX * 2];
    own_folder(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s/../shim/libspillway.so", folder);
    if (is_library(path, ret_path, size))
        return true;
    /* The installed one: its path is mostly relative to the prefix, which may have moved. */
    if (SPILLWAY_LIBDIR[0] == '/')
        snprintf(path, sizeof(path), "%s/spillway/libspillway.so", SPILLWAY_LIBDIR);
    else
        snprintf(path, sizeof(path), "%s/../%s/spillway/libspillway.so", folder, SPILLWAY_LIBDIR);
    return is_library(path, ret_path, size);
}

static bool read_header(const char *path, ElfW(Ehdr) * ret_header, size_t *ret_bytes)
{
    struct stat file;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    const bool ok = descriptor >= 0 && fstat(descriptor, &file) == 0 &&
                    read(descriptor, ret_header, sizeof(*ret_header)) == (ssize_t)sizeof(*ret_header) &&
                    !memcmp(ret_header->e_ident, ELFMAG, SELFMAG);
    if (descriptor >= 0)
        close(descriptor);
    *ret_bytes = ok ? (size_t)file.st_size : 0;
    return ok;
}

/* Tries to map the file as the loader would. Returns 0 or an error number. */
static int try_to_map(const char *path)
{
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    void *page = descriptor >= 0 ? mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
    const int r = page == MAP_FAILED ? errno : 0;
    if (r == 0)
        munmap(page, bytes);
    if (descriptor >= 0)
        close(descriptor);
    return r;
}

const char *library_obstacle(const char *path)
{
    ElfW(Ehdr) own, header;
    size_t bytes, own_bytes;
    if (!read_header(path, &header, &bytes))
        return "it is no library; install spillway again";
    if (!read_header("/proc/self/exe", &own, &own_bytes))
        return NULL;
    if (memcmp(own.e_ident, header.e_ident, EI_VERSION + 1) != 0 || own.e_machine != header.e_machine)
        return "it is not for this processor; install the package that is";
    if (header.e_shoff + (size_t)header.e_shnum * header.e_shentsize > bytes)
        return "a part of the file is missing; install spillway again";
    switch (try_to_map(path)) {
    case 0:
        return NULL;
    case EPERM:
        return "nothing may be executed from its file system, which is mounted noexec; install spillway elsewhere";
    default:
        return "its code cannot be mapped";
    }
}

bool find_names_folder(const char *library, char *ret_path, size_t size)
{
    const char *slash = strrchr(library, '/');
    char file[PATH_MAX * 2];
    const int length = slash ? (int)(slash - library) : 0;
    snprintf(file, sizeof(file), "%.*s/unversioned/libcuda.so", length, library);
    return slash && access(file, R_OK) == 0 && (size_t)snprintf(ret_path, size, "%.*s/unversioned", length, library) < size;
}

/* Puts `first` before the variable's value. Returns 0, or -1 without memory. */
static int put_first(const char *variable, const char *first)
{
    const char *others = getenv(variable);
    char *value = NULL;
    if (asprintf(&value, "%s%s%s", first, others && *others ? ":" : "", others ? others : "") < 0)
        return -1;
    int r = setenv(variable, value, 1);
    free(value);
    return r;
}

/* Returns true for the library of this or of another installation. */
static bool is_spillway(const char *path, size_t length)
{
    static const char name[] = "libspillway.so";
    const char *slash = memrchr(path, '/', length);
    const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    return length - folder == sizeof(name) - 1 && !memcmp(path + folder, name, sizeof(name) - 1);
}

/* Puts the library before others that are preloaded, and removes the one that an outer `spillway run` has put there: of
 * two libraries before the driver only one is called, and the other would report that its budget was not kept. Returns 0,
 * or -1 without memory. */
static int preload_first(const char *library)
{
    const char *others = getenv("LD_PRELOAD");
    size_t length = strlen(library);
    char *value = malloc(length + (others ? strlen(others) : 0) + 2);
    if (!value)
        return -1;
    memcpy(value, library, length);
    for (const char *at = others; at && *(at += strspn(at, ": "));) {
        const size_t bytes = strcspn(at, ": ");
        if (!is_spillway(at, bytes)) {
            value[length++] = ':';
            memcpy(value + length, at, bytes);
            length += bytes;
        }
        at += bytes;
    }
    value[length] = 0;
    int r = setenv("LD_PRELOAD", value, 1);
    free(value);
    return r;
}

int preload_library(const char *library)
{
    char names[PATH_MAX], folder[PATH_MAX];
    if (strpbrk(library, ":;")) {
        fprintf(stderr,
                "spillway: %s cannot be preloaded: a folder's name may hold no colon and no semicolon" SPW_SEE(
                    "library-not-found") "\n",
                library);
        return -1;
    }
    if (find_names_folder(library, names, sizeof(names)) && put_first("LD_LIBRARY_PATH", names) < 0)
        return -1;
    if (!strchr(library, ' '))
        return preload_first(library);

    /* LD_PRELOAD cannot contain a space, LD_LIBRARY_PATH can: there the loader finds the bare name. */
    const char *name = strrchr(library, '/') + 1;
    snprintf(folder, sizeof(folder), "%.*s", (int)(name - library) - 1, library);
    return put_first("LD_LIBRARY_PATH", folder) < 0 ? -1 : preload_first(name);
}
