/* run.c - `spillway run`: checks the settings, puts them into the environment, and becomes the program. */
#include "commands.h"
#include "past.h"
#include "program.h"
#include "see.h"
#include "settings.h"
#include "switches.h"
#include "writable.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SETTINGS 32
#define FIRST_KEY    0x1000 /* option keys beyond all characters: one per setting, in the table's order */

struct request {
    const char *values[MAX_SETTINGS]; /* by index of the table; NULL: not given */
    char **command;                   /* the program and its arguments, NULL-terminated */
};

static error_t take_option(int key, char *value, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        return ARGP_ERR_UNKNOWN; /* the command and everything after it, as ARGP_KEY_ARGS */
    case ARGP_KEY_ARGS:
        request->command = state->argv + state->next;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which command is to be run?");
        return EINVAL;
    }
    if (key < FIRST_KEY || (size_t)(key - FIRST_KEY) >= spw_setting_count)
        return ARGP_ERR_UNKNOWN;
    request->values[key - FIRST_KEY] = value ? value : "on";
    return 0;
}

/* Returns true for a switch that is off by default; it may be given without a value. */
static bool is_plain_switch(const struct spw_setting *s)
{
    return !strcmp(s->value, "on|off") && !strcmp(s->fallback, "off");
}

/* Returns the options of the table of settings as argp needs them, made once. The texts are valid for the life of the
 * process. */
static const struct argp_option *make_options(void)
{
    static struct argp_option options[MAX_SETTINGS + 1];
    if (options[0].name)
        return options;
    for (size_t i = 0; i < spw_setting_count && i < MAX_SETTINGS; i++) {
        const struct spw_setting *s = &spw_setting_table[i];
        char *doc = NULL;
        if (asprintf(&doc, "%s. Accepted: %s. Default: %s [%s]", s->help, s->accepted, s->fallback, s->variable) < 0)
            doc = NULL;
        options[i] = (struct argp_option){.name = s->option,
                                          .key = FIRST_KEY + (int)i,
                                          .arg = s->value,
                                          .flags = is_plain_switch(s) ? OPTION_ARG_OPTIONAL : 0,
                                          .doc = doc};
    }
    return options;
}

/* Applies options to their variables, so that the values checked here are those that the library will read. Returns 0 or
 * -EINVAL. */
static int apply_settings(const struct request *request, struct spw_settings *settings)
{
    char message[1024];
    for (size_t i = 0; i < spw_setting_count; i++) {
        const struct spw_setting *setting = &spw_setting_table[i];
        if (!request->values[i])
            continue;
        if (spw_setting_take(setting, request->values[i], settings, message, sizeof(message)) < 0) {
            fprintf(stderr, "spillway: --%s: %s" SPW_SEE("setting-refused") "\n", setting->option, message);
            return -EINVAL;
        }
        setenv(setting->variable, request->values[i], 1);
    }
    int r = spw_settings_read(settings, message, sizeof(message));
    if (r < 0)
        fprintf(stderr, "spillway: %s" SPW_SEE("setting-refused") "\n", message);
    return r;
}

/* Makes the file name in a variable's value absolute, since a program that a shell starts in another folder should write
 * to the same file. `before`: the name begins after the first such character; 0: at the beginning. Returns 0, or -1
 * without memory. */
static int name_file_from_here(const char *variable, char before, bool percent)
{
    const char *value = getenv(variable);
    const char *file = value && before ? strchr(value, before) : value;
    char here[PATH_MAX], *absolute = NULL;
    if (!file || file[before != 0] == '/' || !getcwd(here, sizeof(here)))
        return 0;
    file += before != 0;

    char escaped[2 * PATH_MAX], *to = escaped; /* a % in the folder's name is not a placeholder */
    for (const char *at = here; *at; at++) {
        *to++ = *at;
        if (percent && *at == '%')
            *to++ = '%';
    }
    *to = 0;
    if (asprintf(&absolute, "%.*s%s/%s", (int)(file - value), value, escaped, file) < 0)
        return -1;
    int r = setenv(variable, absolute, 1);
    free(absolute);
    return r;
}

/* Makes the loader give the program our library. Returns 0, or -1 with a message on stderr. */
static int preload(void)
{
    char library[PATH_MAX];
    if (!find_library(library, sizeof(library))) {
        fprintf(stderr, "spillway: libspillway.so is neither beside this command's build nor installed with it" SPW_SEE(
                            "library-not-found") "\n");
        return -1;
    }
    const char *obstacle = library_obstacle(library);
    if (obstacle) {
        fprintf(stderr, "spillway: %s cannot be preloaded: %s" SPW_SEE("library-not-found") "\n", library, obstacle);
        return -1;
    }
    return preload_library(library);
}

/* Checks before the program starts whether the trace can be written, so that a run of hours does not end without one. */
static int check_trace_file(const struct spw_settings *settings)
{
    int r = can_write(settings->trace_file);
    if (r < 0)
        fprintf(stderr, "spillway: cannot write the trace %s: %s" SPW_SEE("trace-not-written") "\n", settings->trace_file,
                strerror(-r));
    return r;
}

/* Does the same for the summary: at the end nobody could be told that it cannot be written. */
static int check_summary_file(const struct spw_settings *settings)
{
    int r = settings->summary[0] ? can_write_to(settings->summary) : 0;
    if (r < 0)
        fprintf(stderr, "spillway: cannot write the summary %s: %s" SPW_SEE("summary-not-written") "\n", settings->summary,
                strerror(-r));
    return r;
}

/* Refuses a budget that would not be kept, before the program starts; a program without a budget runs as if we were not
 * there. To be called after preload(), since it tries what the program would get. */
static int check_other_library(const struct spw_settings *settings)
{
    char other[PATH_MAX];
    if (settings->mode != SPW_MODE_SWAP || !getenv("SPILLWAY_BUDGET") || !past_other_library(other, sizeof(other)) ||
        past_which_way(NULL) != PAST_OURS)
        return 0;
    fprintf(
        stderr,
        "spillway: SPILLWAY_BUDGET=%s cannot be kept: %s is preloaded as well and takes the driver's calls past spillway; "
        "take it out of LD_PRELOAD, or run without a budget" SPW_SEE("another-library") "\n",
        getenv("SPILLWAY_BUDGET"), other);
    return -EINVAL;
}

/* Becomes the program, with the settings in its environment. */
static int start(const struct argp *arguments, int argc, char **argv)
{
    struct request request = {0};
    struct spw_settings settings = {0};
    if (command_parse(arguments, argc, argv, ARGP_IN_ORDER, &request))
        return EXIT_USAGE;
    if (apply_settings(&request, &settings) < 0)
        return EXIT_USAGE;
    if (name_file_from_here("SPILLWAY_LOG", ':', false) < 0 || name_file_from_here("SPILLWAY_SUMMARY", 0, true) < 0 ||
        name_file_from_here("SPILLWAY_TRACE_FILE", 0, true) < 0)
        return EXIT_FAILURE;
    if (settings.trace && check_trace_file(&settings) < 0)
        return EXIT_USAGE;
    if (settings.mode != SPW_MODE_OFF && check_summary_file(&settings) < 0)
        return EXIT_USAGE;
    if (preload() < 0)
        return EXIT_FAILURE;
    if (check_other_library(&settings) < 0)
        return EXIT_USAGE;
    if (settings.mode != SPW_MODE_OFF)
        program_warn(request.command[0]);
    if (settings.mode != SPW_MODE_OFF)
        spw_switches_set();

    execvp(request.command[0], request.command);
    return program_explain(request.command[0], errno);
}

#define OPERANDS  "-- COMMAND [ARGUMENT...]"
#define VARIABLES "Each option can be given as the variable in brackets instead; the option counts if both are given. "
#define SWITCHES \
    "Where they are not set, PYTORCH_CUDA_ALLOC_CONF, PYTORCH_ALLOC_CONF, XLA_PYTHON_CLIENT_ALLOCATOR, " \
    "XLA_PYTHON_CLIENT_PREALLOCATE and TF_GPU_ALLOCATOR are set so that each tensor is an allocation of its own, and " \
    "NCCL_LOCAL_REGISTER and NCCL_GRAPH_REGISTER so that NCCL looks for no memory behind addresses ahead. " \
    "TORCH_DIST_USE_NCCL2 is set so that PyTorch takes the way to NCCL that goes with its allocator. With a budget, " \
    "--xla_gpu_enable_command_buffer= is added to XLA_FLAGS, unless that has the option, is empty or names a file: JAX " \
    "then makes no CUDA graphs, whose memory would have to stay on the device.\n\n"
#define STATUS \
    "Exit status: that of COMMAND; before it has started: 2 when a setting is refused, 127 when COMMAND is not found, 126 " \
    "when it cannot be executed."

const struct argp *arguments_run(void)
{
    static struct argp argp = {.parser = take_option,
                               .args_doc = OPERANDS,
                               .doc =
                                   "Runs COMMAND inside less GPU memory than it wants. COMMAND needs no change. Its device "
                                   "memory is kept within a budget by moving tensors to pinned host memory and back; its "
                                   "results stay the same to the last bit.\v" VARIABLES SWITCHES STATUS};
    argp.options = make_options();
    return &argp;
}

int command_run(int argc, char **argv)
{
    return start(arguments_run(), argc, argv);
}

const struct argp *arguments_trace(void)
{
    static struct argp argp = {
        .parser = take_option,
        .args_doc = OPERANDS,
        .doc = "Runs COMMAND and writes down what it does with device memory. Nothing is moved and no "
               "result changes. What was written shows: spillway report TRACE.\v" VARIABLES SWITCHES STATUS};
    argp.options = make_options();
    return &argp;
}

int command_trace(int argc, char **argv)
{
    setenv("SPILLWAY_MODE", "trace", 1);
    if (!getenv("SPILLWAY_TRACE_FILE"))
        setenv("SPILLWAY_TRACE_FILE", SPW_TRACE_FILE, 1);
    return start(arguments_trace(), argc, argv);
}
