/* doctor_tracing.c - tries what tracing needs: walking stacks, reading symbols, a place for the trace, a page for
 * spillway top. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "doctor.h"
#include "shown.h"
#include "status_find.h"
#include "symbols.h"
#include "walker.h"
#include "writable.h"

#define SECTION "tracing"

/* ---- stacks ---- */

/* Opens the stack walker as the library does. Returns its file or NULL. */
static const char *walker_file(void)
{
    static char path[PATH_MAX];
    char library[PATH_MAX];
    void *frames[16];
    Dl_info info;
    spw_walker *walk = spw_walker_open(find_library(library, sizeof(library)) ? library : NULL);
    if (!walk || walk(frames, 16) < 2 || !dladdr((void *)(uintptr_t)walk, &info))
        return NULL;
    snprintf(path, sizeof(path), "%s", info.dli_fname);
    return path;
}

static void look_at_stacks(struct facts *facts)
{
    const char *file = walker_file();
    facts_add(facts, SECTION, "libunwind", file ? shown_string(file) : NULL, "call stacks", "%s",
              file ? file : "none: libunwind.so.8 was not found");
    if (!file)
        facts_advise(facts, "sudo apt-get install libunwind8",
                     "without libunwind a trace does not tell where allocations come from");
}

/* ---- symbols ---- */

struct wanted {
    uintptr_t address;
    struct model_module module;
    char path[PATH_MAX];
};

/* Finds the mapped part of a file that contains the address. */
static int find_module(struct dl_phdr_info *info, size_t size, void *data)
{
    struct wanted *wanted = data;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD || wanted->address - start >= p->p_memsz || !realpath(info->dlpi_name, wanted->path))
            continue;
        wanted->module = (struct model_module){
            .path = wanted->path, .start = start, .end = start + p->p_memsz, .file_offset = p->p_offset};
        return 1;
    }
    return 0;
}

/* Returns true if the address of a function of a loaded library, libdw's own, leads back to its name. */
static bool can_name(void)
{
    struct wanted wanted = {.address = (uintptr_t)dlsym(RTLD_DEFAULT, "dwfl_begin")};
    if (!wanted.address || !dl_iterate_phdr(find_module, &wanted))
        return false;
    struct symbols *symbols = symbols_create(&wanted.module, 1);
    bool named = strstr(symbols_text(symbols, wanted.address + 1), "dwfl_begin") != NULL;
    symbols_destroy(symbols);
    return named;
}

static void look_at_symbols(struct facts *facts)
{
    bool named = can_name();
    facts_add(facts, SECTION, "symbols", json_boolean(named), "names of functions", "%s",
              named ? "read with libdw" : "cannot be read: a report shows files and offsets");
}

/* ---- the place for the trace ---- */

#define PLAIN "/._-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
enum { LITTLE_ROOM = 1 << 30 };

/* Returns a folder that is writable, has room, and needs no quotes in a command line; NULL if there is none. */
static const char *better_folder(void)
{
    const char *const folders[] = {getenv("HOME"), "/var/tmp", "/tmp"};
    char path[PATH_MAX];
    uint64_t room;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (!folders[i] || folders[i][0] != '/' || folders[i][strspn(folders[i], PLAIN)])
            continue;
        snprintf(path, sizeof(path), "%s/spillway.doctor.%d", folders[i], (int)getpid());
        if (can_write(path) == 0 && room_left(path, &room) == 0 && room >= LITTLE_ROOM)
            return folders[i];
    }
    return NULL;
}

static void advise_place(struct facts *facts, const char *why)
{
    char line[PATH_MAX + 100];
    const char *folder = better_folder();
    snprintf(line, sizeof(line), "export SPILLWAY_TRACE_FILE=%s/%s", folder ? folder : "FOLDER", SPW_TRACE_FILE);
    facts_advise(facts, line, "%s%s", why,
                 folder ? "" : ", and neither the home folder, /var/tmp nor /tmp is better: find a FOLDER");
}

static void look_at_place(struct facts *facts, const char *file)
{
    char path[PATH_MAX], why[PATH_MAX + 200], *slash = strrchr(file, '/');
    uint64_t room = 0;
    int r = can_write(file), s = room_left(file, &room);
    if (slash || !getcwd(path, sizeof(path)))
        snprintf(path, sizeof(path), "%.*s", slash ? (int)(slash - file) : 0, file);
    facts_add(facts, SECTION, "folder", shown_string(path), "traces go to", "%s", path);
    facts_add(facts, SECTION, "folder_writable", json_boolean(r == 0), "it can be written", "%s",
              r == 0 ? "yes" : strerror(-r));
    if (r < 0) {
        snprintf(why, sizeof(why), "a trace cannot be written to %s: %s", path, strerror(-r));
        advise_place(facts, why);
    } else if (s == 0) {
        facts_add(facts, SECTION, "folder_room_bytes", json_integer((json_int_t)room), "room left there", "%s",
                  facts_bytes(room));
        snprintf(why, sizeof(why), "%s has %s left, and a trace of a long run is large", path, facts_bytes(room));
        if (room < LITTLE_ROOM)
            advise_place(facts, why);
    }
}

/* ---- the page for spillway top ---- */

/* Creates a file as the library would create a page, under another name, and removes it. */
static int try_page(const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/.spillway.doctor.%d", folder, (int)getpid());
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return -errno;
    int r = posix_fallocate(file, 0, sizeof(struct spw_status_page));
    close(file);
    unlink(path);
    return -r;
}

static void look_at_pages(struct facts *facts)
{
    const char *folder;
    int r = -ENOENT;
    for (unsigned i = 0; (folder = spw_status_folder(i)) && (r = try_page(folder)) < 0; i++)
        continue;
    facts_add(facts, SECTION, "status_folder", folder ? shown_string(folder) : NULL, "pages for spillway top", "%s",
              folder ? folder : strerror(-r));
    if (!folder)
        facts_advise(
            facts,
            "mkdir -p -m 700 /tmp/spillway-$UID && export XDG_RUNTIME_DIR=/tmp/spillway-$UID   # here and for spillway top",
            "spillway top sees no process: neither /dev/shm nor XDG_RUNTIME_DIR takes a file of %s",
            facts_bytes(sizeof(struct spw_status_page)));
}

void doctor_tracing(struct facts *facts, const struct spw_settings *settings)
{
    look_at_stacks(facts);
    look_at_symbols(facts);
    look_at_place(facts, settings->trace_file);
    look_at_pages(facts);
}
