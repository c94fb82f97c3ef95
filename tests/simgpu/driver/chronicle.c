/* chronicle.c - writes down operations as they complete, and calls as they return, each with its times on the virtual clock.
 */
#include "chronicle.h"

#include <stdio.h>

#include "driver.h"
#include "objects.h"
#include "sim.h"

static FILE *file;
static _Thread_local struct {
    const char *name;
    double from_ns;
} call;

/* Line by line: a forked child inherits no half of one. */
CUresult chronicle_init(void)
{
    if (!settings.chronicle_path)
        return CUDA_SUCCESS;
    file = fopen(settings.chronicle_path, "we");
    if (file && setvbuf(file, NULL, _IOLBF, BUFSIZ) == 0)
        return CUDA_SUCCESS;
    fprintf(stderr, "simgpu: SIMGPU_CHRONICLE=%s can't be written\n", settings.chronicle_path);
    return CUDA_ERROR_INVALID_VALUE;
}

/* Empty: it takes no time on the device. */
static const char *lane_name(const struct op *op)
{
    static const char *const names[LANE_COUNT] = {
        [LANE_COMPUTE] = "compute", [LANE_H2D] = "h2d", [LANE_D2H] = "d2h", [LANE_LINK] = "link"};
    const struct lane *lanes = op->context->device->lanes;
    return op->lane >= lanes && op->lane < lanes + LANE_COUNT ? names[op->lane - lanes] : "";
}

/* The device's bytes that a copy moves, or the first that anything else is known to touch. */
static struct access first_access(const struct op *op)
{
    if (op->kind != OP_COPY)
        return op->access_count ? op->accesses[0] : (struct access){0};
    const bool out = op->lane == &op->context->device->lanes[LANE_D2H];
    return (struct access){.address = out ? op->u.copy.source : op->u.copy.target,
                           .bytes = op->u.copy.width * op->u.copy.height * op->u.copy.depth};
}

void chronicle_operation(const struct op *op)
{
    if (!file)
        return;
    const char *lane = lane_name(op);
    const struct access first = first_access(op);
    fprintf(
        file,
        "{\"operation\": %llu, \"name\": \"%s\", \"lane\": \"%s\", \"stream\": %llu, \"behind\": %llu, \"address\": %llu, "
        "\"bytes\": %llu, \"submitted_us\": %.3f, \"ready_us\": %.3f, \"started_us\": %.3f, \"ended_us\": %.3f}\n",
        (unsigned long long)op->serial, op->name ? op->name : "", lane, op->stream_id, (unsigned long long)op->behind,
        (unsigned long long)first.address, (unsigned long long)first.bytes, op->submitted_ns / 1e3, op->could_start_ns / 1e3,
        (*lane ? op->ready_ns : op->end_ns) / 1e3, op->end_ns / 1e3);
}

void chronicle_enter(const char *name)
{
    call.name = name;
    call.from_ns = sim_host_ns();
}

/* Not that something is not ready yet: who waits like that asks a million times. */
void chronicle_leave(CUresult result)
{
    if (file && call.name && result != CUDA_ERROR_NOT_READY)
        fprintf(file, "{\"call\": \"%s\", \"result\": %d, \"from_us\": %.3f, \"to_us\": %.3f}\n", call.name, result,
                call.from_ns / 1e3, sim_host_ns() / 1e3);
    call.name = NULL;
}
