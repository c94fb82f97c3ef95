/* past.c - finds another library in front of the driver, and tries in a separate process whether calls that it answers
 * still reach ours: some libraries pass calls on to whatever is next, others to the driver in its file. */
#include "past.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"

/* ---- which library ---- */

struct wanted {
    char *path;
    size_t size;
};

static int answers_driver_calls(struct dl_phdr_info *info, size_t size, void *data)
{
    const struct wanted *wanted = data;
    Dl_info found;
    if (!*info->dlpi_name || strstr(info->dlpi_name, "libspillway"))
        return 0;
    void *handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    const void *function = handle ? dlsym(handle, "cuMemAlloc_v2") : NULL;
    bool its_own = function && dladdr(function, &found) && !strcmp(found.dli_fname, info->dlpi_name);
    if (handle)
        dlclose(handle);
    return its_own && (size_t)snprintf(wanted->path, wanted->size, "%s", info->dlpi_name) < wanted->size;
}

bool past_other_library(char *ret_path, size_t size)
{
    struct wanted wanted = {ret_path, size};
    return dl_iterate_phdr(answers_driver_calls, &wanted) != 0;
}

/* ---- whether calls reach ours ---- */

enum { WENT_PAST = 7, CAME_TO_OURS = 8, REFUSED = 1 /* CUDA_ERROR_INVALID_VALUE */, SECONDS = 20 };

/* Runs the command in the child. Our library refuses to start with an invalid setting before it asks the driver, so a
 * start that succeeds went past it. Messages of the other library are for the program, and are discarded here. */
static void become_inside(const char *library)
{
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = STDIN_FILENO; i <= STDERR_FILENO && nowhere >= 0; i++)
        (void)dup2(nowhere, i);
    setenv("SPILLWAY_MODE", "none", 1);
    setenv("SPILLWAY_LOG", "quiet", 1);
    if (!library || preload_library(library) == 0)
        execl("/proc/self/exe", "spillway", "doctor", PAST_INSIDE, (char *)NULL);
    _exit(EXIT_FAILURE);
}

enum past_way past_which_way(const char *library)
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become_inside(library);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (child < 0 || !WIFEXITED(status))
        return PAST_UNKNOWN;
    return WEXITSTATUS(status) == WENT_PAST ? PAST_OURS : WEXITSTATUS(status) == CAME_TO_OURS ? PAST_NOT : PAST_UNKNOWN;
}

/* Returns the result of the library's start; -1 if it has none. */
static int started(void *library)
{
    int (*start)(unsigned int) = dlsym(library, "cuInit");
    return start ? start(0) : -1;
}

/* Tries it as a program that is linked with the driver, and as one that opens it. */
int past_inside(void)
{
    alarm(SECONDS);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    const int linked = started(RTLD_DEFAULT), opened = driver ? started(driver) : -1;
    if (linked == 0 || opened == 0)
        return WENT_PAST;
    return linked == REFUSED || opened == REFUSED ? CAME_TO_OURS : EXIT_SUCCESS;
}
