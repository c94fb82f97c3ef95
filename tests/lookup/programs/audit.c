/* audit.c - loaded by LD_AUDIT: writes down what every library finds when it looks for a driver call.
 *
 *     bind NAME FROM TO       the loader, or dlsym() for FROM, found NAME in the object TO
 *     answer NAME VERSION FLAGS TO      cuGetProcAddress gave a function in TO
 *
 * Lives in a name space of its own and is told every binding by the loader, so it sees what no wrapper could hide. It
 * hands out its own cuGetProcAddress in place of the one that was found, to see the answers. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned la_version(unsigned version);
unsigned la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie);
uintptr_t la_symbind64(Elf64_Sym *sym, unsigned ndx, uintptr_t *refcook, uintptr_t *defcook, unsigned *flags,
                       const char *symname);

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path && *path ? path : "program";
}

static void note(const char *line, int length)
{
    const char *path = getenv("AUDIT_LOG");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (fd < 0)
        return;
    ssize_t written = write(fd, line, (size_t)length);
    (void)written;
    close(fd);
}

static const char *object_of(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) ? base_name(info.dli_fname) : "nowhere";
}

/* ---- cuGetProcAddress, both forms ---- */

static int (*found_v1)(const char *, void **, int, uint64_t);
static int (*found_v2)(const char *, void **, int, uint64_t, void *);

static int ask_v1(const char *name, void **function, int version, uint64_t flags);
static int ask_v2(const char *name, void **function, int version, uint64_t flags, void *status);

/* The runtime asks for the asking itself, and goes on with what it got. */
static void stay_in_between(void **function, int version)
{
    if (version < 12000) {
        found_v1 = (int (*)(const char *, void **, int, uint64_t)) * function;
        *function = (void *)ask_v1;
    } else {
        found_v2 = (int (*)(const char *, void **, int, uint64_t, void *)) * function;
        *function = (void *)ask_v2;
    }
}

static int answered(int result, const char *name, void **function, int version, uint64_t flags)
{
    char line[512];
    if (result != 0 || !name || !*name || !function || !*function)
        return result;
    note(line, snprintf(line, sizeof(line), "answer %s %d %d %s\n", name, version, (int)flags, object_of(*function)));
    if (!strcmp(name, "cuGetProcAddress"))
        stay_in_between(function, version);
    return result;
}

static int ask_v1(const char *name, void **function, int version, uint64_t flags)
{
    return answered(found_v1(name, function, version, flags), name, function, version, flags);
}

static int ask_v2(const char *name, void **function, int version, uint64_t flags, void *status)
{
    return answered(found_v2(name, function, version, flags, status), name, function, version, flags);
}

/* ---- what the loader calls ---- */

unsigned la_version(unsigned version)
{
    return LAV_CURRENT;
}

unsigned la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
    *cookie = (uintptr_t)map;
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *sym, unsigned ndx, uintptr_t *refcook, uintptr_t *defcook, unsigned *flags,
                       const char *symname)
{
    if (strncmp(symname, "cu", 2) || symname[2] < 'A' || symname[2] > 'Z')
        return sym->st_value;

    const struct link_map *from = (const struct link_map *)*refcook, *to = (const struct link_map *)*defcook;
    char line[1024];
    note(line, snprintf(line, sizeof(line), "bind %s %s %s\n", symname, base_name(from->l_name), base_name(to->l_name)));
    if (strncmp(base_name(to->l_name), "libspillway", strlen("libspillway")))
        return sym->st_value; /* the driver looking at itself, or an escape that is written down already */
    if (!strcmp(symname, "cuGetProcAddress")) {
        found_v1 = (int (*)(const char *, void **, int, uint64_t))sym->st_value;
        return (uintptr_t)ask_v1;
    }
    if (!strcmp(symname, "cuGetProcAddress_v2")) {
        found_v2 = (int (*)(const char *, void **, int, uint64_t, void *))sym->st_value;
        return (uintptr_t)ask_v2;
    }
    return sym->st_value;
}
