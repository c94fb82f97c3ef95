/* marks.c TRACE - prints the marks of a trace in their order: what, the operation, and the length of an iteration. */
#include <stdio.h>

#include "../../trace/reader.h"

int main(int argc, char **argv)
{
    static const char *const names[SPW_MARK_KINDS] = {"iteration", "timing-begins", "timing-ends", "hint"};
    struct spw_trace_reader *reader;
    struct spw_trace_problem problem;
    const struct spw_record *r;
    if (argc != 2 || spw_trace_open(argv[1], &reader, &problem) < 0)
        return 1;
    int more;
    while ((more = spw_trace_next(reader, &r, &problem)) > 0)
        if (r->kind == SPW_RECORD_MARK)
            printf("%s %llu %llu\n", names[r->mark.kind], (unsigned long long)r->mark.op,
                   (unsigned long long)r->mark.length);
    spw_trace_close(reader);
    return more < 0;
}
