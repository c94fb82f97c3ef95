/* doctor_installation.c - checks what is installed: a preload that names a missing file or another installation's
 * library, and a second command. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"
#include "shown.h"

#define SECTION "spillway"
#define NAME    "/libspillway.so"

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), of_end = strlen(end);
    return length >= of_end && !strcmp(text + length - of_end, end);
}

static void advise_preload(struct facts *facts, const char *library, const char *entry, const char *why)
{
    char line[PATH_MAX + 100] = "unset LD_PRELOAD";
    if (library && ends_with(entry, NAME) && !strchr(library, ' '))
        snprintf(line, sizeof(line), "export LD_PRELOAD=%s   # or unset it, and use spillway run", library);
    facts_advise(facts, line, "%s", why);
}

/* Checks one entry of LD_PRELOAD. The loader searches for a name without a slash itself. */
static void look_at_preload(struct facts *facts, const char *library, const char *entry)
{
    char why[2 * PATH_MAX + 200], real_path[PATH_MAX];
    if (!strchr(entry, '/'))
        return;
    if (!realpath(entry, real_path) || access(real_path, R_OK) != 0) {
        facts_problem(facts, SECTION, "LD_PRELOAD names %s, which is not there: programs run without it", entry);
        snprintf(why, sizeof(why), "%s was removed, or moved, after LD_PRELOAD was set", entry);
        advise_preload(facts, library, entry, why);
    } else if (ends_with(real_path, NAME) && library && strcmp(real_path, library) != 0) {
        facts_add(facts, SECTION, "preloaded_library", shown_string(real_path), "preloaded library",
                  "%s, of another installation", real_path);
        snprintf(why, sizeof(why), "a plain preload gets %s, and spillway run %s", real_path, library);
        advise_preload(facts, library, entry, why);
    }
}

static void look_at_preloads(struct facts *facts, const char *library)
{
    const char *value = getenv("LD_PRELOAD");
    char *entries = value ? strdup(value) : NULL, *rest = entries;
    for (const char *entry; rest && (entry = strsep(&rest, ": "));)
        look_at_preload(facts, library, entry);
    free(entries);
}

/* Returns true if the folder of PATH contains another command with our name; links to ours are ours. */
static bool is_another(const char *folder, const char *own, char *ret_path)
{
    char path[PATH_MAX];
    struct stat file;
    return (size_t)snprintf(path, sizeof(path), "%s/spillway", folder) < sizeof(path) && realpath(path, ret_path) &&
           stat(ret_path, &file) == 0 && S_ISREG(file.st_mode) && access(ret_path, X_OK) == 0 && strcmp(ret_path, own) != 0;
}

/* Reports the first of them only. */
static void look_at_commands(struct facts *facts)
{
    const char *value = getenv("PATH");
    char own[PATH_MAX], other[PATH_MAX], *folders = value ? strdup(value) : NULL, *rest = folders;
    bool found = false;
    if (!realpath("/proc/self/exe", own))
        own[0] = 0;
    for (const char *folder; own[0] && !found && rest && (folder = strsep(&rest, ":"));)
        found = *folder && is_another(folder, own, other);
    free(folders);
    if (!found)
        return;
    facts_add(facts, SECTION, "other_command", shown_string(other), "another installation", "%s", other);
    facts_advise(facts, "pip uninstall spillway-cuda   # or: sudo apt-get remove spillway",
                 "two installations: this command is %s, and PATH has %s as well; keep one", own, other);
}

void doctor_installation(struct facts *facts, const char *library)
{
    look_at_preloads(facts, library);
    look_at_commands(facts);
}
