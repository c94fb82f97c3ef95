/* show-all.c - every form of a trace, read again as far as there is a reader for it. */
#include "show-all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "diff_print.h"
#include "iteration_file.h"
#include "model_export.h"
#include "report.h"

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "not as promised: %s\n", what);
    abort();
}

struct text {
    char *bytes;
    size_t size;
    FILE *file;
};

static void begin(struct text *text)
{
    *text = (struct text){0};
    text->file = open_memstream(&text->bytes, &text->size);
    require(text->file != NULL, "there is memory for a form");
}

static void end(struct text *text)
{
    require(fclose(text->file) == 0, "there is memory for a form");
}

/* ---- what each form promises ---- */

static void check_json(json_t *made, const char *what)
{
    json_error_t error;
    require(made != NULL, what);
    char *dumped = json_dumps(made, JSON_SORT_KEYS | JSON_REAL_PRECISION(9));
    json_t *again = dumped ? json_loads(dumped, 0, &error) : NULL;
    require(again != NULL, what);
    json_decref(again);
    free(dumped);
    json_decref(made);
}

static void check_names(const json_t *names)
{
    json_t *known = json_object();
    for (size_t i = 0; i < json_array_size(names); i++)
        json_object_set_new(known, json_string_value(json_array_get(names, i)), json_null());
    require(json_object_size(known) == json_array_size(names), "each name is told once");
    json_decref(known);
}

static void check_page(const json_t *report, const char *path)
{
    struct text text;
    begin(&text);
    require(report_html(report, path, text.file) == 0, "the page can be written");
    end(&text);
    require(text.size > 1000 && strstr(text.bytes, "</html>"), "the page is whole");
    free(text.bytes);
}

/* True when the report has plans. */
static bool check_report(struct model *m, double planning_s, const char *path)
{
    json_t *report = report_json(m, planning_s), *iteration = json_object_get(report, "iteration");
    require(report && (m->iteration_count > 0) == json_is_object(iteration), "the report has the iteration that was found");
    if (json_is_object(iteration)) {
        const size_t names = json_array_size(json_object_get(iteration, "names"));
        json_t *column = json_object_get(json_object_get(iteration, "ops"), "name");
        require(json_array_size(column) == m->iteration_count, "each operation has a name");
        for (size_t i = 0; i < json_array_size(column); i++)
            require((size_t)json_integer_value(json_array_get(column, i)) < names, "an operation's name is there");
        check_names(json_object_get(iteration, "names"));
        require(json_array_size(json_object_get(iteration, "short_names")) == names, "each name has its short one");
    }
    check_page(report, path);
    const bool is_planned = json_is_object(json_object_get(report, "plan"));
    check_json(report, "the report is JSON");
    return is_planned;
}

/* The graph as the planner takes it; a damaged iteration may be none. True when it was taken. */
static bool check_taking(json_t *graph)
{
    struct json_text text;
    struct json_problem problem = {""};
    struct iteration iteration;
    require(json_text_made("trace", json_incref(graph), &text, &problem) == 0, "the graph can be taken");
    const int r = iteration_take(&text, &iteration, &problem);
    require(r == 0 || (r == -EINVAL && strncmp(problem.message, "trace: ", 7) == 0), "the graph is taken or refused");
    if (r == 0)
        iteration_finish(&iteration);
    return r == 0;
}

/* True when the planner takes it. */
static bool check_graph(struct model *m)
{
    struct spw_graph_problem senseless;
    json_t *graph = model_export(m, 0, "n\xe4me", &senseless);
    require((graph || senseless.path[0]) == (m->iteration_count > 0), "an iteration can be exported, or makes no sense");
    if (!graph)
        return false;
    require(json_array_size(json_object_get(graph, "ops")) == m->iteration_count, "the graph has all operations");
    const bool taken = check_taking(graph);
    check_json(graph, "the graph is JSON");
    return taken;
}

static void check_perfetto(const struct model *m)
{
    struct text text;
    json_error_t error;
    begin(&text);
    require(report_perfetto(m, text.file) == 0, "events can be written");
    end(&text);
    json_t *events = json_loadb(text.bytes, text.size, 0, &error);
    require(events && json_is_array(json_object_get(events, "traceEvents")), "events are JSON");
    json_decref(events);
    free(text.bytes);
}

/* Lines of "frame;frame;frame number". */
static void check_folded(struct model *m, enum report_weight weight)
{
    struct text text;
    begin(&text);
    require(report_folded(m, weight, text.file) == 0, "stacks can be written");
    end(&text);
    for (char *line = text.bytes, *next; *line; line = next) {
        next = strchr(line, '\n');
        require(next != NULL, "a stack is a line");
        *next++ = '\0';
        const char *number = strrchr(line, ' ');
        require(number && number > line && number[1] && strspn(number + 1, "0123456789") == strlen(number + 1),
                "a stack has a number");
    }
    free(text.bytes);
}

static void check_texts(struct model *m, double planning_s, const char *path)
{
    struct text text;
    begin(&text);
    report_text(m, planning_s, path, text.file);
    end(&text);
    require(!strncmp(text.bytes, path, strlen(path)) && memchr(text.bytes, '\0', text.size) == NULL, "the summary is text");
    free(text.bytes);
}

/* Against itself, where nothing can differ. */
static void check_diff(struct model *m, const char *path)
{
    const char *const paths[DIFF_SIDES] = {path, path};
    struct diff *diff = diff_create(m, m);
    struct text text;
    require(diff != NULL && diff->verdict == DIFF_NOTHING, "a run does not differ from itself");
    begin(&text);
    diff_text(diff, paths, 10, text.file);
    end(&text);
    free(text.bytes);
    check_json(diff_json(diff, paths), "the comparison is JSON");
    diff_free(diff);
}

static void check_problem(int result, const struct spw_trace_problem *problem, size_t bytes)
{
    if (result == 0)
        return;
    require(result == -EBADMSG, "bytes are read or refused");
    require(problem->offset <= bytes, "a problem lies within the file");
    require(memchr(problem->reason, '\0', sizeof problem->reason) && problem->reason[0] && !strchr(problem->reason, '\n'),
            "a problem is told in a line");
}

/* ---- all of them ---- */

static const char *file_with(const uint8_t *data, size_t bytes)
{
    static int fd = -1;
    static char path[32];
    if (fd < 0) {
        fd = memfd_create("trace", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, bytes, 0) != (ssize_t)bytes)
        abort();
    return path;
}

struct show_all show_all(const uint8_t *data, size_t bytes, uint64_t at_op, double planning_s)
{
    const char *path = file_with(data, bytes);
    struct model_options options = {.at_op = at_op};
    struct spw_trace_problem problem = {.reason = ""};
    struct model *m = NULL;
    struct show_all all = {0};
    const int r = model_read(path, &options, &m, &problem);
    check_problem(r, &problem, bytes);
    require((r == 0) == (m != NULL), "what is refused is not shown");
    if (r < 0) {
        options.partial = true;
        const int again = model_read(path, &options, &m, &problem);
        check_problem(again, &problem, bytes);
        require(again == r, "what could not be read is damaged in part as well");
    }
    all.whole = r == 0;
    all.shown = m != NULL;
    if (!m)
        return all;
    all.iteration = m->iteration_count > 0;
    check_texts(m, planning_s, path);
    all.planned = check_report(m, planning_s, path);
    all.taken = check_graph(m);
    check_perfetto(m);
    for (int weight = REPORT_PEAK_BYTES; weight <= REPORT_IDLE_BYTE_SECONDS; weight++)
        check_folded(m, (enum report_weight)weight);
    check_diff(m, path);
    model_free(m);
    return all;
}
