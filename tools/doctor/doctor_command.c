/* doctor_command.c - `spillway doctor`: says what a program would find here, what is wrong with it, and what to set. */
#include "doctor.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "past.h"
#include "shown.h"

enum { KEY_JSON = 0x1000 };

static const struct argp_option options[] = {{.name = "json", .key = KEY_JSON, .doc = "Print the same facts as JSON"}, {0}};

static error_t take_option(int key, char *value, struct argp_state *state)
{
    bool *json = state->input;
    if (key == KEY_JSON) {
        *json = true;
        return 0;
    }
    if (key == ARGP_KEY_ARG)
        argp_error(state, "what is %s?", value);
    return ARGP_ERR_UNKNOWN;
}

const struct argp *arguments_doctor(void)
{
    static const struct argp argp = {
        .options = options,
        .parser = take_option,
        .doc =
            "Says what a program would meet here: the settings, the driver and how many of its calls are seen, what the "
            "host "
            "can give, whether traces can be written and read, what the frameworks are told; and what to set. "
            "Nothing is changed.\v"
            "Exit status: 0, with or without advice; 1 when something is wrong, which a machine without a driver is not; 2 "
            "when the arguments are refused."};
    return &argp;
}

static void look(struct facts *facts)
{
    char library[PATH_MAX];
    struct spw_settings settings;
    bool found = find_library(library, sizeof(library));
    const char *obstacle = found ? library_obstacle(library) : NULL;
    facts_add(facts, "spillway", "version", json_string(SPILLWAY_VERSION), "version", "%s", SPILLWAY_VERSION);
    if (found)
        facts_add(facts, "spillway", "library", shown_string(library), "library", "%s", library);
    else
        facts_problem(facts, "spillway", "libspillway.so is not beside this command and not installed");
    if (obstacle)
        facts_problem(facts, "spillway", "%s cannot be preloaded: %s", library, obstacle);
    if (!found || obstacle)
        facts_advise(facts,
                     "pip install --force-reinstall spillway_cuda-*.whl   # or: sudo apt-get install --reinstall spillway",
                     "programs run without spillway until its library can be loaded");
    found = found && !obstacle;
    doctor_installation(facts, found ? library : NULL);
    doctor_settings(facts, &settings);
    if (found)
        doctor_driver(facts, library);
    doctor_machine(facts, found ? library : NULL);
    doctor_host(facts, &settings);
    doctor_tracing(facts, &settings);
    doctor_frameworks(facts);
}

static int show(const struct facts *facts, bool as_json)
{
    int r = 0;
    if (as_json) {
        json_t *report = facts_json(facts);
        r = report ? json_dumpf(report, stdout, JSON_INDENT(1)) : -1;
        json_decref(report);
        putchar('\n');
    } else {
        facts_print(facts, stdout);
    }
    if (r == 0 && fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    fprintf(stderr, "spillway: standard output: %s\n", strerror(errno));
    return -1;
}

int command_doctor(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], PAST_INSIDE))
        return past_inside();
    bool inside = argc == 3 && !strcmp(argv[1], DOCTOR_INSIDE), as_json = false;
    if (!inside && command_parse(arguments_doctor(), argc, argv, 0, &as_json))
        return EXIT_USAGE;
    FILE *stream = inside ? fdopen(atoi(argv[2]), "w") : NULL;
    struct facts *facts = facts_create(stream);
    if (!facts || (inside && !stream))
        return EXIT_FAILURE;
    if (inside)
        return doctor_inside(facts);
    look(facts);
    int r = show(facts, as_json);
    if (facts_problem_count(facts) > 0)
        r = -1;
    facts_destroy(facts);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
