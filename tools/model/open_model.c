/* open_model.c - turns a file name into a model, or into a line that says why not. */
#include "open_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "progress.h"
#include "see.h"

int open_model(const char *path, bool partial, uint64_t at_op, struct model **ret_model)
{
    const struct model_options options = {
        .partial = partial, .at_op = at_op, .progress = progress_show, .context = (void *)(uintptr_t) "reading the trace"};
    struct spw_trace_problem problem = {.reason = ""};
    *ret_model = NULL;
    int r = model_read(path, &options, ret_model, &problem);
    progress_end();
    if (r == 0)
        return 0;
    if (r == -EBADMSG) {
        fprintf(stderr, "spillway: %s: offset %llu: %s%s" SPW_SEE("trace-damaged") "\n", path,
                (unsigned long long)problem.offset, problem.reason,
                partial || problem.offset == 0 ? "" : "; --partial reports what can be read");
        return EXIT_USAGE;
    }
    fprintf(stderr, "spillway: %s: %s\n", path, strerror(-r));
    return r == -ENOMEM ? EXIT_FAILURE : EXIT_USAGE;
}
