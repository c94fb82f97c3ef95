/* top_read.c - finds the status pages of running processes and reads them. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "see.h"
#include "settings.h"
#include "status_find.h"
#include "top.h"

enum { READ = 0, LEFT, UNREADABLE };

/* Also reads pages of processes in other pid namespaces, with the pid that they have there. */
static int read_page(struct top_process *p, uint32_t pid)
{
    if (spw_status_is_left(p->path, pid, false)) {
        unlink(p->path);
        return LEFT;
    }
    return spw_status_read(p->path, &p->page) == 0 ? READ : UNREADABLE;
}

/* Finds a page of that process that belongs to another user. Returns 1 and the user, or 0. */
static int find_of_others(uint32_t pid, unsigned *ret_user)
{
    const char *folder;
    int found = 0;
    for (unsigned i = 0; !found && (folder = spw_status_folder(i)); i++) {
        DIR *d = opendir(folder);
        for (const struct dirent *e; d && !found && (e = readdir(d));) {
            unsigned user, its_pid;
            int end = 0;
            if (sscanf(e->d_name, SPW_STATUS_NAME "%n", &user, &its_pid, &end) == 2 && !e->d_name[end] && its_pid == pid &&
                user != geteuid()) {
                *ret_user = user;
                found = 1;
            }
        }
        if (d)
            closedir(d);
    }
    return found;
}

static int explain(uint32_t pid, int how)
{
    unsigned user;
    bool runs = kill((pid_t)pid, 0) == 0 || errno == EPERM;
    if (how == UNREADABLE)
        fprintf(
            stderr,
            "spillway top: the status page of process %u is of another version of spillway, or damaged" SPW_SEE("top") "\n",
            pid);
    else if (runs && find_of_others(pid, &user))
        fprintf(stderr, "spillway top: process %u is user %u's; only that user can look at it" SPW_SEE("top") "\n", pid,
                user);
    else if (runs)
        fprintf(stderr,
                "spillway top: process %u does not run under spillway, or has not started CUDA yet; without a number, "
                "spillway top lists those that do" SPW_SEE("top") "\n",
                pid);
    else
        fprintf(stderr, "spillway top: there is no process %u" SPW_SEE("top") "\n", pid);
    return EXIT_USAGE;
}

int top_open(uint32_t pid, struct top_process *p)
{
    const char *folder;
    int how = LEFT;
    for (unsigned i = 0; how != READ && (folder = spw_status_folder(i)); i++) {
        snprintf(p->path, sizeof(p->path), "%s/" SPW_STATUS_NAME, folder, (unsigned)geteuid(), pid);
        if (access(p->path, F_OK) == 0)
            how = read_page(p, pid);
    }
    p->out_per_s = p->in_per_s = p->operations_per_s = 0;
    return how == READ ? 0 : explain(pid, how);
}

bool top_again(struct top_process *p)
{
    struct spw_status_page old = p->page;
    if (read_page(p, old.pid) == LEFT || access(p->path, F_OK) != 0)
        return false;
    if (p->page.pid != old.pid || p->page.process_start != old.process_start)
        return false;
    double seconds = (double)(p->page.updated_ns - old.updated_ns) / 1e9;
    if (p->page.updated_ns > old.updated_ns && seconds > 0) {
        p->out_per_s = (double)(p->page.out_bytes - old.out_bytes) / seconds;
        p->in_per_s = (double)(p->page.in_bytes - old.in_bytes) / seconds;
        p->operations_per_s = (double)(p->page.operations - old.operations) / seconds;
    } else {
        p->out_per_s = p->in_per_s = p->operations_per_s = 0;
    }
    return true;
}

static bool is_among(const struct top_process *list, unsigned count, const char *path)
{
    for (unsigned i = 0; i < count; i++)
        if (!strcmp(list[i].path, path))
            return true;
    return false;
}

static int by_pid(const void *a, const void *b)
{
    const struct top_process *x = a, *y = b;
    return x->page.pid < y->page.pid ? -1 : x->page.pid > y->page.pid;
}

static void add_from(const char *folder, struct top_process *list, unsigned *count, unsigned room)
{
    DIR *d = opendir(folder);
    unsigned user, pid;
    for (const struct dirent *e; d && *count < room && (e = readdir(d));) {
        int end = 0;
        if (sscanf(e->d_name, SPW_STATUS_NAME "%n", &user, &pid, &end) != 2 || e->d_name[end] || user != geteuid())
            continue;
        struct top_process *p = &list[*count];
        memset(p, 0, sizeof(*p));
        snprintf(p->path, sizeof(p->path), "%s/%.64s", folder, e->d_name);
        if (!is_among(list, *count, p->path) && read_page(p, pid) == READ)
            ++*count;
    }
    if (d)
        closedir(d);
}

unsigned top_list(struct top_process *list, unsigned before, unsigned room)
{
    const char *folder;
    unsigned count = 0;
    for (unsigned i = 0; i < before; i++)
        if (top_again(&list[i]))
            list[count++] = list[i];
    for (unsigned i = 0; (folder = spw_status_folder(i)); i++)
        add_from(folder, list, &count, room);
    qsort(list, count, sizeof(*list), by_pid);
    return count;
}

const char *top_mode_name(uint32_t mode)
{
    return mode == SPW_MODE_SWAP ? "swap" : mode == SPW_MODE_TRACE ? "trace" : "unknown";
}

double top_seconds_running(const struct spw_status_page *page)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double s = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)page->started_unix_ns / 1e9;
    return s > 0 ? s : 0;
}
