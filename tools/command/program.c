/* program.c - checks the program to be run: where it is, what prevents it from starting, and what keeps the library away
 * from the processes that it starts. */
#include "program.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "see.h"

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_program(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, X_OK) == 0;
}

bool program_find(const char *name, char *ret_path, size_t size)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/'))
        return is_program(name) && (size_t)snprintf(ret_path, size, "%s", name) < size;
    for (const char *at = path; *name && at; at = *at ? at + 1 : NULL) {
        const size_t length = strcspn(at, ":");
        if ((size_t)snprintf(ret_path, size, "%.*s/%s", length ? (int)length : 1, length ? at : ".", name) < size &&
            is_program(ret_path))
            return true;
        at += length;
    }
    return false;
}

/* ---- programs that do not pass LD_PRELOAD on ---- */

/* Returns true for programs that hand the command to another process, or to a fresh environment. */
static bool starts_elsewhere(const char *name)
{
    static const char *const names[] = {"sudo", "doas", "pkexec", "docker", "podman", "kubectl", "ssh"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

/* The loader ignores LD_PRELOAD if a program gets another user's rights. */
static bool changes_user(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 &&
           (((file.st_mode & S_ISUID) && file.st_uid != getuid()) ||
            ((file.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && file.st_gid != getgid()));
}

void program_warn(const char *name)
{
    char path[PATH_MAX];
    if (!program_find(name, path, sizeof(path)) || (!starts_elsewhere(last_part(path)) && !changes_user(path)))
        return;
    fprintf(stderr,
            "spillway: what %s starts runs without spillway, since LD_PRELOAD does not get there; put spillway behind it, "
            "as in: "
            "%s ... spillway run -- COMMAND" SPW_SEE("not-passed-on") "\n",
            name, name);
}

/* ---- programs that do not start ---- */

static bool is_python(const char *name)
{
    const size_t length = strlen(name);
    return length > 3 && !strcmp(name + length - 3, ".py");
}

/* Returns true for NAME=value, which a shell takes for a variable only at the beginning of a command. */
static bool is_variable(const char *name)
{
    const char *at = name;
    while (isalnum((unsigned char)*at) || *at == '_')
        at++;
    return at > name && *at == '=' && !isdigit((unsigned char)*name);
}

static void explain_name(const char *name)
{
    char path[PATH_MAX], first[NAME_MAX];
    snprintf(first, sizeof(first), "%.*s", (int)strcspn(name, " "), name);
    fprintf(stderr, "spillway: %s: command not found", name);
    if (is_variable(name))
        fprintf(stderr, "; a variable is set before spillway: %s spillway run ..." SPW_SEE("not-started") "\n", name);
    else if (access(name, F_OK) == 0 && is_python(name))
        fprintf(stderr, "; a file of Python is started by it: spillway run -- python %s" SPW_SEE("not-started") "\n", name);
    else if (access(name, F_OK) == 0)
        fprintf(stderr, "; the one in this folder is ./%s" SPW_SEE("not-started") "\n", name);
    else if (strchr(name, ' ') && program_find(first, path, sizeof(path)))
        fprintf(stderr, "; it is one word because of the quotes: leave them out" SPW_SEE("not-started") "\n");
    else
        fprintf(stderr, "; it is in no folder of PATH, and aliases and functions of a shell are not known here" SPW_SEE(
                            "not-started") "\n");
}

int program_explain(const char *name, int error)
{
    struct stat file;
    const bool there = stat(name, &file) == 0;
    if (!*name)
        fprintf(stderr, "spillway: the name of the command is empty" SPW_SEE("not-started") "\n");
    else if (error == ENOENT && there && strchr(name, '/'))
        fprintf(
            stderr,
            "spillway: %s: the interpreter that its first line or its header names is not there" SPW_SEE("not-started") "\n",
            name);
    else if (error == ENOENT && !strchr(name, '/'))
        explain_name(name);
    else if (error == EACCES && there && S_ISDIR(file.st_mode))
        fprintf(stderr, "spillway: %s: Is a directory" SPW_SEE("not-started") "\n", name);
    else if (error == EACCES && there && S_ISREG(file.st_mode) && !(file.st_mode & 0111))
        fprintf(stderr, "spillway: %s: Permission denied: the file is not executable%s%s" SPW_SEE("not-started") "\n", name,
                is_python(name) ? "; Python starts it: spillway run -- python " : "", is_python(name) ? name : "");
    else
        fprintf(stderr, "spillway: %s: %s" SPW_SEE("not-started") "\n", name, strerror(error));
    return error == ENOENT ? 127 : 126;
}
