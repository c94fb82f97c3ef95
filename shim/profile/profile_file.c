/* profile_file.c - reads a profile's file as a whole, and replaces it by a new one while the folder is locked. */
#include "profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 64 << 20, LOCK_TRIES = 100, LOCK_WAIT_MS = 10, PATH = 4096 };

/* ---- where ---- */

static int path_of(char *ret_path, size_t size, const char *folder, const char *below, const char *identity)
{
    struct spw_hash hash;
    spw_hash_host(identity, strlen(identity), &hash);
    const int length =
        snprintf(ret_path, size, "%s%s/spillway/%016llx.profile", folder, below, (unsigned long long)hash.word[0]);
    return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

int spw_profile_path(const char *setting, const char *identity, char *ret_path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (setting[0]) {
        if (strlen(setting) >= size)
            return -ENAMETOOLONG;
        memcpy(ret_path, setting, strlen(setting) + 1);
        return 0;
    }
    if (cache && cache[0] == '/')
        return path_of(ret_path, size, cache, "", identity);
    return home && home[0] == '/' ? path_of(ret_path, size, home, "/.cache", identity) : -ENOENT;
}

/* ---- reading ---- */

static int read_all(int fd, char *into, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t got = read(fd, into + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EBADMSG;
        done += (size_t)got;
    }
    return 0;
}

static int load(struct spw_profile *profile, int fd, const char *identity, char *ret_identity)
{
    struct stat s;
    if (fstat(fd, &s) < 0)
        return -errno;
    if (!S_ISREG(s.st_mode) || s.st_size > MOST_BYTES)
        return -EBADMSG;
    char *bytes = malloc((size_t)s.st_size + 1);
    int r = bytes ? read_all(fd, bytes, (size_t)s.st_size) : -ENOMEM;
    if (r == 0)
        r = spw_profile_decode(profile, identity, bytes, (size_t)s.st_size, ret_identity);
    free(bytes);
    return r;
}

int spw_profile_load(struct spw_profile *profile, const char *path, const char *identity, char *ret_identity)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    const int r = load(profile, fd, identity, ret_identity);
    (void)close(fd);
    return r;
}

/* ---- writing ---- */

/* Makes the folders above `path` that do not exist. */
static void make_folders(const char *path)
{
    char folder[PATH];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        const size_t length = (size_t)(slash - path);
        if (length >= sizeof(folder))
            return;
        memcpy(folder, path, length);
        folder[length] = 0;
        (void)mkdir(folder, 0700);
    }
}

/* Locks the folder: two processes that write at once would lose what one of them knows. Some file systems have no locks,
 * and a process may be stopped while it holds one, so in the end the file is written without the lock. */
static int lock_folder(const char *path)
{
    char folder[PATH] = ".";
    const char *slash = strrchr(path, '/');
    if (slash && (size_t)(slash - path) + 1 < sizeof(folder)) {
        memcpy(folder, path, (size_t)(slash - path) + 1);
        folder[slash - path + 1] = 0;
    }
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < LOCK_TRIES && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK; i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = LOCK_WAIT_MS * 1000000L}, NULL);
    return fd;
}

static int write_all(int fd, const char *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t put = write(fd, bytes + done, size - done);
        if (put < 0 && errno != EINTR)
            return -errno;
        done += put > 0 ? (size_t)put : 0;
    }
    return 0;
}

static int replace(const char *path, const char *bytes, size_t size)
{
    char fresh[PATH];
    const int length = snprintf(fresh, sizeof(fresh), "%s.XXXXXX", path);
    if (length < 0 || (size_t)length >= sizeof(fresh))
        return -ENAMETOOLONG;
    const int fd = mkostemp(fresh, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = write_all(fd, bytes, size);
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && rename(fresh, path) < 0)
        r = -errno;
    if (r < 0)
        (void)unlink(fresh);
    return r;
}

/* If the existing file is damaged, of another identity, or gone, it is replaced by ours alone. */
static int save_with(struct spw_profile *all, const struct spw_profile *ours, const char *path, const char *identity)
{
    char other[SPW_PROFILE_IDENTITY], *bytes;
    size_t size;
    (void)spw_profile_load(all, path, identity, other);
    spw_profile_put_all(all, ours);
    int r = spw_profile_encode(all, identity, &bytes, &size);
    if (r < 0)
        return r;
    r = replace(path, bytes, size);
    free(bytes);
    return r;
}

int spw_profile_save(const struct spw_profile *profile, const char *path, const char *identity)
{
    struct spw_profile *all = spw_profile_create();
    if (!all)
        return -ENOMEM;
    make_folders(path);
    const int folder = lock_folder(path);
    const int r = save_with(all, profile, path, identity);
    if (folder >= 0)
        (void)close(folder);
    spw_profile_destroy(all);
    return r;
}
