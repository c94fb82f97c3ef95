/* report_perfetto.c - writes the iteration as trace events: calls of the host, operations by stream with arrows between
 * the two, and counters of memory and link use. */
#include <errno.h>
#include <inttypes.h>

#include "report.h"

enum { HOST = 1, DEVICE = 2 };

/* Prints a text with the escapes that JSON needs. */
static void put_text(const char *text, FILE *to)
{
    fputc('"', to);
    for (const char *at = text; *at; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(to, "\\%c", *at);
        else if ((unsigned char)*at < 0x20 || (unsigned char)*at >= 0x7f)
            fprintf(to, "\\u%04x", (unsigned char)*at);
        else
            fputc(*at, to);
    }
    fputc('"', to);
}

static void name_thing(const char *what, int pid, uint32_t tid, const char *name, FILE *to)
{
    fprintf(to, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%" PRIu32 ",\"args\":{\"name\":", what, pid, tid);
    put_text(name, to);
    fputs("}},\n", to);
}

static void put_names(const struct model *m, FILE *to)
{
    char name[64];
    name_thing("process_name", HOST, 0, m->command ? m->command : "program", to);
    name_thing("process_name", DEVICE, 0, "device", to);
    for (uint32_t i = 1; i < m->stream_count; i++) {
        const struct model_stream *s = &m->streams[i];
        snprintf(name, sizeof(name), "device %" PRIu32 ", stream %" PRIu32 "%s", s->device, i,
                 s->legacy       ? " (default)"
                 : s->per_thread ? " (a thread's default)"
                                 : "");
        name_thing("thread_name", DEVICE, i, name, to);
    }
}

static double us(uint64_t ns)
{
    return (double)ns / 1000.0;
}

/* Writes the call on the host, the operation on the device, and an arrow. Without durations there are only calls. */
static void put_op(const struct model *m, uint32_t i, FILE *to)
{
    const struct model_op *op = &m->iteration[i];
    double called = us(op->time_ns - m->iteration[0].time_ns);
    const char *name = model_op_name(m, op);
    fprintf(to, "{\"ph\":\"X\",\"pid\":%d,\"tid\":1,\"ts\":%.3f,\"dur\":1,\"name\":", HOST, called);
    put_text(name, to);
    fprintf(to, ",\"args\":{\"operation\":%" PRIu64 "}},\n", op->number);
    if (!op->timed)
        return;
    fprintf(to,
            "{\"ph\":\"s\",\"id\":%" PRIu32 ",\"pid\":%d,\"tid\":1,\"ts\":%.3f,\"name\":\"launch\",\"cat\":\"launch\"},\n",
            i, HOST, called);
    fprintf(to, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%" PRIu32 ",\"ts\":%.3f,\"dur\":%.3f,\"name\":", DEVICE, op->stream,
            us(op->start_ns), us(op->duration_ns));
    put_text(name, to);
    fprintf(to,
            ",\"args\":{\"operation\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"grid\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32
            "],\"block\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "],\"tensors\":%" PRIu32 "}},\n",
            op->number, op->bytes, op->grid[0], op->grid[1], op->grid[2], op->block[0], op->block[1], op->block[2],
            op->touch_count);
    fprintf(to,
            "{\"ph\":\"f\",\"bp\":\"e\",\"id\":%" PRIu32 ",\"pid\":%d,\"tid\":%" PRIu32
            ",\"ts\":%.3f,\"name\":\"launch\",\"cat\":\"launch\"},\n",
            i, DEVICE, op->stream, us(op->start_ns));
}

static void put_counter(const char *name, double at_us, double value, FILE *to)
{
    fprintf(to, "{\"ph\":\"C\",\"pid\":%d,\"ts\":%.3f,\"name\":\"%s\",\"args\":{\"value\":%.3f}},\n", DEVICE, at_us, name,
            value);
}

static void put_counters(const struct model *m, uint32_t i, FILE *to)
{
    const struct model_op *op = &m->iteration[i];
    double at = m->timed ? us(op->start_ns) : us(op->time_ns - m->iteration[0].time_ns);
    put_counter("device memory (MiB)", at, (double)op->live_bytes / 1048576.0, to);
    if (!op->timed || op->duration_ns == 0 || (op->kind != SPW_OP_COPY_H2D && op->kind != SPW_OP_COPY_D2H))
        return;
    const char *name = op->kind == SPW_OP_COPY_H2D ? "to the device (GB/s)" : "to the host (GB/s)";
    put_counter(name, at, (double)op->bytes / (double)op->duration_ns, to);
    put_counter(name, us(op->start_ns + op->duration_ns), 0, to);
}

int report_perfetto(const struct model *m, FILE *to)
{
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", to);
    put_names(m, to);
    for (uint32_t i = 0; i < m->iteration_count; i++) {
        put_op(m, i, to);
        put_counters(m, i, to);
    }
    /* The last event has no comma after it. */
    fprintf(to, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":1,\"args\":{\"name\":\"calls\"}}\n]}\n", HOST);
    return shown_end(to);
}
