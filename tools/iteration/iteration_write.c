/* iteration_write.c - writes a graph as JSON, one tensor or operation a line, with numbers that are read back unchanged. */
#include <errno.h>
#include <stdlib.h>

#include "iteration_file.h"

static int write_text(const char *text, FILE *to)
{
    json_t *value = json_string(text);
    const int r = value ? json_dumpf(value, to, JSON_ENCODE_ANY) : -1;
    json_decref(value);
    return r;
}

static int write_tensor(const struct spw_graph *graph, const struct spw_graph_tensor *t, FILE *to)
{
    fprintf(to, "{\"id\":%llu", (unsigned long long)t->id);
    if (t->name) {
        fputs(",\"name\":", to);
        if (write_text(t->name, to) < 0)
            return -1;
    }
    fprintf(to, ",\"bytes\":%llu", (unsigned long long)t->bytes);
    if (t->persistent)
        fputs(",\"persistent\":true", to);
    else
        fprintf(to, ",\"alloc_before\":%u,\"free_after\":%u", t->alloc_before, t->free_after);
    if (t->initial)
        fputs(",\"initial\":true", to);
    if (!t->evictable)
        fputs(",\"evictable\":false", to);
    if (t->copied_alone)
        fputs(",\"copied_alone\":true", to);
    if (t->d2h_us != (double)t->bytes / graph->d2h_bytes_per_us)
        fprintf(to, ",\"d2h_us\":%.17g", t->d2h_us);
    if (t->h2d_us != (double)t->bytes / graph->h2d_bytes_per_us)
        fprintf(to, ",\"h2d_us\":%.17g", t->h2d_us);
    fputs("}", to);
    return 0;
}

static void write_ids(const struct spw_graph *graph, const char *field, uint32_t first, uint32_t count, FILE *to)
{
    fprintf(to, ",\"%s\":[", field);
    for (uint32_t i = 0; i < count; i++)
        fprintf(to, "%s%llu", i ? "," : "", (unsigned long long)graph->tensors[graph->touched[first + i].tensor].id);
    fputs("]", to);
}

static int write_op(const struct spw_graph *graph, const struct spw_graph_op *op, FILE *to)
{
    fputs("{", to);
    if (op->name) {
        fputs("\"name\":", to);
        if (write_text(op->name, to) < 0)
            return -1;
        fputs(",", to);
    }
    fprintf(to, "\"us\":%.17g", op->us);
    write_ids(graph, "reads", op->first_read, op->read_count - op->held_count, to);
    if (op->held_count)
        write_ids(graph, "holds", op->first_write - op->held_count, op->held_count, to);
    write_ids(graph, "writes", op->first_write, op->write_count, to);
    fprintf(to, ",\"replayable\":%s}", op->replayable ? "true" : "false");
    return 0;
}

int iteration_write(const struct spw_graph *graph, const char *name, const char *profile, FILE *to)
{
    int r = 0;
    fputs("{\"format\": \"" ITERATION_FORMAT "\", \"name\": ", to);
    r |= write_text(name, to);
    fputs(", \"profile\": ", to);
    r |= write_text(profile, to);
    fprintf(to, ", \"copy_bytes_per_us\": {\"d2h\": %.17g, \"h2d\": %.17g}", graph->d2h_bytes_per_us,
            graph->h2d_bytes_per_us);
    fprintf(to, ", \"persistent_bytes\": %llu, \"peak_bytes\": %llu, \"compute_us\": %.17g, \"tensors\": [",
            (unsigned long long)graph->persistent_bytes, (unsigned long long)graph->peak_bytes, graph->compute_us);
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        fputs(i ? ",\n" : "\n", to);
        r |= write_tensor(graph, &graph->tensors[i], to);
    }
    fputs("\n], \"ops\": [", to);
    for (uint32_t i = 0; i < graph->op_count; i++) {
        fputs(i ? ",\n" : "\n", to);
        r |= write_op(graph, &graph->ops[i], to);
    }
    fputs("\n]}\n", to);
    if (fflush(to) != 0 || ferror(to))
        return errno ? -errno : -EIO;
    return r < 0 ? -ENOMEM : 0;
}
