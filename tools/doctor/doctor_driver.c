/* doctor_driver.c - runs this command under the library, takes over its findings, and gives advice. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "doctor.h"

#define OF_WSL "/usr/lib/wsl/lib"

enum { VERSION_WITH_LAYOUTS = 12040 };

/* Unsets all variables named SPILLWAY_…, settings or not, except for the path of the driver. */
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

/* Runs in the child: sets the environment of a program that runs under the library, without changing anything else. */
static void become_inside(const char *library, int to)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", to);
    unset_settings();
    setenv("SPILLWAY_MODE", "off", 1);
    unsetenv("LD_PRELOAD");
    if (preload_library(library) == 0)
        execl("/proc/self/exe", "spillway", "doctor", DOCTOR_INSIDE, number, (char *)NULL);
    _exit(126);
}

/* Returns true if the other process ran to its end. */
static bool look_from_inside(struct facts *facts, const char *library)
{
    int ends[2], status = -1;
    if (pipe(ends) < 0)
        return false;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        become_inside(library, ends[1]);
    }
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    if (from) {
        facts_receive(facts, from);
        fclose(from);
    } else {
        close(ends[0]);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A machine without a driver is fine, unless somebody wants to train on it. */
static void advise_on_absence(struct facts *facts)
{
    if (access(OF_WSL "/libcuda.so.1", R_OK) == 0)
        facts_advise(facts, "export LD_LIBRARY_PATH=" OF_WSL "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
                     "WSL has its driver in " OF_WSL ", where the loader does not look here");
    else
        facts_advise(facts, "nvidia-smi   # a container: docker run --gpus all ..., or apptainer exec --nv ...",
                     "no driver was found, so that no program here can use a GPU; if this machine has one, install NVIDIA's "
                     "driver, or start the container with it");
}

void doctor_driver(struct facts *facts, const char *library)
{
    const size_t problems = facts_problem_count(facts);
    if (!look_from_inside(facts, library))
        facts_problem(facts, "driver", "the check under the library ended by itself");
    if (facts_problem_count(facts) == problems && !json_string_value(facts_value(facts, "driver", "path")))
        advise_on_absence(facts);

    const json_t *version = facts_value(facts, "driver", "version");
    if (version && json_integer_value(version) < VERSION_WITH_LAYOUTS)
        facts_advise(facts, "sudo apt-get install nvidia-driver-550   # Ubuntu's name of it; for a container on its host",
                     "this driver does not say what parameters kernels take, so nothing can be moved; 12.4, which came with "
                     "driver 550, and later ones do");
    if (!facts_value(facts, "driver", "error"))
        return;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible && !strncmp(visible, "MIG-", strlen("MIG-")))
        facts_advise(facts, "nvidia-smi -L   # then export CUDA_VISIBLE_DEVICES=MIG-..., as listed",
                     "the driver starts with no device: CUDA_VISIBLE_DEVICES=%s names a slice of a GPU in MIG mode that is "
                     "not there, or not for this container",
                     visible);
    else if (visible)
        facts_advise(facts, "unset CUDA_VISIBLE_DEVICES",
                     "the driver starts with no device, and CUDA_VISIBLE_DEVICES=%s hides some", visible);
    else
        facts_advise(facts, "nvidia-smi", "the driver does not start; NVIDIA's own tool may know why");
}
