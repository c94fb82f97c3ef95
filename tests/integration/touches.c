/* touches.c TRACE - prints what a trace says of memory, a line each, in its order:
 *
 *     function ID NAME                  alloc ID KIND ADDRESS BYTES                  free ID
 *     op NUMBER KIND FUNCTION FLAGS ALLOCATION:ACCESS…          flags: c captured, e everything, - neither */
#include <stdio.h>

#include "../../trace/reader.h"

static void print_op(unsigned long long number, const struct spw_record_op *op)
{
    printf("op %llu %d %u %s%s%s", number, (int)op->kind, op->function, op->captured ? "c" : "", op->everything ? "e" : "",
           op->captured || op->everything ? "" : "-");
    for (uint32_t i = 0; i < op->touch_count; i++)
        printf(" %llu:%d", (unsigned long long)op->touches[i].alloc, (int)op->touches[i].access);
    putchar('\n');
}

static void print(const struct spw_trace_reader *reader, const struct spw_record *r)
{
    const struct spw_record_alloc *a = &r->alloc;
    if (r->kind == SPW_RECORD_FUNCTION)
        printf("function %u %s\n", r->function.id, r->function.name);
    else if (r->kind == SPW_RECORD_ALLOC)
        printf("alloc %llu %d %llu %llu\n", (unsigned long long)a->id, (int)a->kind, (unsigned long long)a->address,
               (unsigned long long)a->bytes);
    else if (r->kind == SPW_RECORD_FREE)
        printf("free %llu\n", (unsigned long long)r->free.id);
    else if (r->kind == SPW_RECORD_OP)
        print_op((unsigned long long)spw_trace_ops(reader) - 1, &r->op);
}

int main(int argc, char **argv)
{
    struct spw_trace_reader *reader;
    struct spw_trace_problem problem;
    const struct spw_record *r;
    if (argc != 2 || spw_trace_open(argv[1], &reader, &problem) < 0)
        return 1;
    int more;
    while ((more = spw_trace_next(reader, &r, &problem)) > 0)
        print(reader, r);
    spw_trace_close(reader);
    return more < 0;
}
