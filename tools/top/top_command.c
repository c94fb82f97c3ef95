/* top_command.c - `spillway top`: shows how running processes are doing, on a screen or once. */
#include "top.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

enum { KEY_ONCE = 0x1000, KEY_JSON, PROCESSES = 64 };

struct request {
    uint32_t pid; /* 0: all */
    bool once, json;
};

static const struct argp_option options[] = {
    {.name = "once", .key = KEY_ONCE, .doc = "Print the figures once and end, for scripts"},
    {.name = "json", .key = KEY_JSON, .doc = "With --once: one JSON object; without PID, an array of them"},
    {0}};

static error_t take_pid(const char *value, struct argp_state *state, struct request *request)
{
    uint64_t pid;
    if (value[0] == '0' || !parse_number(value, INT32_MAX, &pid)) {
        argp_error(state, "%s is refused; accepted: the number of a process", value);
        return EINVAL;
    }
    request->pid = (uint32_t)pid;
    return 0;
}

static error_t take_option(int key, char *value, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (request->pid)
            argp_error(state, "one process, or none for all");
        return take_pid(value, state, request);
    case ARGP_KEY_END:
        if (request->json && !request->once)
            argp_error(state, "--json needs --once");
        return 0;
    case KEY_ONCE:
        request->once = true;
        return 0;
    case KEY_JSON:
        request->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int print_json(json_t *object)
{
    int r = object ? json_dumpf(object, stdout, JSON_INDENT(1)) : -1;
    json_decref(object);
    putchar('\n');
    return r;
}

static int print_all(struct top_process *list, unsigned count, bool json)
{
    if (!json) {
        if (count == 0)
            puts("nothing of yours runs under spillway");
        for (unsigned i = 0; i < count; i++) {
            printf("%s", i ? "\n" : "");
            top_text(&list[i].page, stdout);
        }
        return 0;
    }
    json_t *array = json_array();
    for (unsigned i = 0; array && i < count; i++)
        (void)json_array_append_new(array, top_json(&list[i].page));
    return print_json(array);
}

static int print_once(const struct request *request)
{
    struct top_process *list = calloc(PROCESSES, sizeof(*list));
    int status = list ? EXIT_SUCCESS : EXIT_FAILURE, r = 0;
    if (list && request->pid) {
        status = top_open(request->pid, list);
        if (status == 0 && request->json)
            r = print_json(top_json(&list->page));
        else if (status == 0)
            top_text(&list->page, stdout);
    } else if (list) {
        r = print_all(list, top_list(list, 0, PROCESSES), request->json);
    }
    free(list);
    if (r < 0 || fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "spillway top: standard output: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    return status;
}

const struct argp *arguments_top(void)
{
    static const struct argp argp = {
        .options = options,
        .parser = take_option,
        .args_doc = "[PID]",
        .doc =
            "Shows how a running process is doing, or all of yours: memory against budgets, bytes moved, iterations, "
            "stalls; of what follows a plan also what was computed again in place of being copied, how many of these were "
            "compared with the true bytes, and which kernels are not run again and why.\v"
            "Exit status: 0; 1 when standard output takes no more; 2 when the arguments are refused or PID is no process "
            "that "
            "runs under spillway.",
    };
    return &argp;
}

int command_top(int argc, char **argv)
{
    struct request request = {0};
    if (command_parse(arguments_top(), argc, argv, 0, &request))
        return EXIT_USAGE;
    return request.once ? print_once(&request) : top_screen(request.pid);
}
