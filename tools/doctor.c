/* doctor.c - `spillway doctor`: what a program would meet here. Prints the settings and the host's limits, then runs itself
 * under the library to see the driver through it. */
#include "commands.h"
#include "doctor.h"
#include "hostlimit.h"
#include "settings.h"
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns whether they can be used. */
static bool print_settings(void)
{
    struct spw_settings settings;
    char message[1024];
    printf("settings\n");
    for (size_t i = 0; i < spw_setting_count; i++) {
        const char *value = getenv(spw_setting_table[i].variable);
        printf("  %-22s %s%s\n", spw_setting_table[i].variable, value ? value : spw_setting_table[i].fallback,
               value ? "" : " (default)");
    }
    if (spw_settings_read(&settings, message, sizeof(message)) == 0)
        return true;
    printf("  PROBLEM: %s\n", message);
    return false;
}

static void print_bytes(const char *what, int64_t bytes)
{
    if (bytes == SPW_HOSTLIMIT_UNKNOWN)
        printf("  %-22s no limit known\n", what);
    else
        printf("  %-22s %.1f GiB\n", what, (double)bytes / (1 << 30));
}

static void print_host(void)
{
    struct spw_hostlimit limit;
    unsigned ranks = spw_hostlimit_local_ranks(getenv);
    spw_hostlimit_read("/", &limit);
    printf("host memory\n");
    print_bytes("machine leaves", limit.machine_bytes);
    print_bytes("control group leaves", limit.cgroup_bytes);
    print_bytes("default host budget", spw_hostlimit_default_budget(spw_hostlimit_available("/"), ranks));
}

/* Forgets whatever is called SPILLWAY_…, settings or not, except where the driver is. */
static void unset_settings(void)
{
    for (char **entry = environ; *entry;) {
        char name[256] = "";
        size_t length = strcspn(*entry, "=");
        if (length < sizeof(name))
            memcpy(name, *entry, length);
        if (!strncmp(name, "SPILLWAY_", strlen("SPILLWAY_")) && strcmp(name, "SPILLWAY_DRIVER") && unsetenv(name) == 0)
            entry = environ; /* the rest has moved */
        else
            entry++;
    }
}

/* In the child: the environment of a program that runs under the library, changing nothing. */
static void become_inside(const char *library)
{
    unset_settings();
    setenv("SPILLWAY_MODE", "off", 1);
    unsetenv("LD_PRELOAD");
    if (preload_library(library) == 0)
        execl("/proc/self/exe", "spillway", "doctor", DOCTOR_INSIDE, (char *)NULL);
    _exit(126);
}

/* Returns whether all is well with the library and the driver. */
static bool look_from_inside(const char *library)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become_inside(library);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (child > 0 && WIFEXITED(status))
        return WEXITSTATUS(status) == 0;
    printf("  PROBLEM: the check under the library ended by itself\n");
    return false;
}

const struct argp *arguments_doctor(void)
{
    static const struct argp argp = {.doc = "Says what a program would meet here: driver, settings, host memory.\v"
                                            "Exit status: 0; 1 when something is wrong, which a machine without a driver is "
                                            "not; 2 when the arguments are refused."};
    return &argp;
}

int command_doctor(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], DOCTOR_INSIDE))
        return doctor_inside();

    if (command_parse(arguments_doctor(), argc, argv, 0, NULL))
        return EXIT_USAGE;

    char library[PATH_MAX];
    bool found = find_library(library, sizeof(library));
    printf("spillway %s\n", SPILLWAY_VERSION);
    printf("library\n  %s\n", found ? library : "PROBLEM: libspillway.so is not beside this command and not installed");
    bool well = print_settings() && found;
    print_host();
    if (found && !look_from_inside(library))
        well = false;
    return well ? EXIT_SUCCESS : EXIT_FAILURE;
}
