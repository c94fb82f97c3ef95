/* plan_input.c - distinguishes JSON from a trace by its beginning, and reads either. */
#include "plan_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "model_export.h"
#include "open_model.h"
#include "see.h"

static int complain(const char *path, int error)
{
    fprintf(stderr, "spillway: %s: %s\n", path, strerror(error));
    return error == ENOMEM ? EXIT_FAILURE : EXIT_USAGE;
}

static int complain_of(const struct json_problem *problem, int r)
{
    fprintf(stderr, "spillway: %s" SPW_SEE("file-refused") "\n", problem->message);
    return r == -ENOMEM ? EXIT_FAILURE : EXIT_USAGE;
}

static FILE *open_path(const char *path)
{
    return strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
}

static void close_path(FILE *from)
{
    if (from != stdin)
        (void)fclose(from);
}

/* Returns true if the file begins like JSON, which a trace never does. */
static bool is_json(FILE *from)
{
    const int c = getc(from);
    return c == EOF || (ungetc(c, from) != EOF && strchr("{[ \t\r\n", c));
}

static int of_trace(const struct plan_input *input, struct iteration *ret_iteration)
{
    struct model *m;
    struct json_text text;
    struct json_problem problem;
    struct spw_graph_problem senseless;
    const int status = open_model(input->path, input->partial, MODEL_NO_OP, &m);
    if (!m)
        return status;
    if (m->iteration_count == 0) {
        fprintf(stderr,
                "spillway: %s: no iteration was found in it: nothing repeats three times" SPW_SEE("no-iteration") "\n",
                input->path);
        model_free(m);
        return EXIT_USAGE;
    }
    if (!m->timed)
        fprintf(stderr,
                "spillway: %s: the operations of this iteration were not timed: durations are 0" SPW_SEE("not-timed") "\n",
                input->path);
    const char *slash = strrchr(input->path, '/');
    json_t *graph = model_export(m, input->device, slash ? slash + 1 : input->path, &senseless);
    model_free(m);
    if (!graph && senseless.path[0]) {
        fprintf(stderr, "spillway: %s: %s: expected %s" SPW_SEE("file-refused") "\n", input->path, senseless.path,
                senseless.expected);
        return EXIT_USAGE;
    }
    int r = json_text_made(input->path, graph, &text, &problem);
    if (r == 0)
        r = iteration_take(&text, ret_iteration, &problem);
    return r < 0 ? complain_of(&problem, r) : 0;
}

int plan_input(const struct plan_input *input, struct iteration *ret_iteration)
{
    struct json_text text;
    struct json_problem problem;
    FILE *from = open_path(input->path);
    const char *name = from == stdin ? "standard input" : input->path;
    if (!from)
        return complain(input->path, errno);
    errno = 0;
    const bool json = is_json(from);
    if (ferror(from)) {
        const int error = errno;
        close_path(from);
        return complain(name, error);
    }
    if (!json && from != stdin) {
        close_path(from);
        return of_trace(input, ret_iteration);
    }
    int r = json_text_read(name, from, &text, &problem);
    close_path(from);
    if (r == 0)
        r = iteration_take(&text, ret_iteration, &problem);
    return r < 0 ? complain_of(&problem, r) : 0;
}

int plan_input_text(const char *path, struct json_text *ret_text)
{
    struct json_problem problem;
    FILE *from = open_path(path);
    if (!from)
        return complain(path, errno);
    const int r = json_text_read(path, from, ret_text, &problem);
    close_path(from);
    return r < 0 ? complain_of(&problem, r) : 0;
}
