/* ranges.c WAY STEPS WITHOUT - a program whose steps are two equal halves, so that nothing but the range "step" around each
 * says where they begin. WAY is how the range is begun: text, wide, event, registered, start, domain. The first WITHOUT
 * steps have none.
 *
 * Each half has a range of its own, and so has all of it where no step is without; a step's first act is an allocation. It
 * goes to another folder first. */
#include "driver.h"
#include <string.h>
#include <unistd.h>

#ifdef WITH_NVTX
#include <nvtx3/nvToolsExt.h>
#else
#include "nvtx-stand-in.h"
#endif

enum { WEIGHTS = 4, BYTES = 256 << 10 };

static CUdeviceptr weight[WEIGHTS];
static char host[BYTES];

static void half(void)
{
    CUdeviceptr input;
    nvtxRangePushA("half step");
    CHECK(cuMemAlloc(&input, BYTES));
    CHECK(cuMemcpyHtoD(input, host, BYTES));
    for (int i = 0; i < WEIGHTS; i++) {
        CHECK(cuMemcpyDtoD(weight[i], input, BYTES));
        CHECK(cuMemsetD32(weight[i] + (BYTES >> 1), (unsigned)i, (size_t)BYTES >> (4 + i)));
    }
    CHECK(cuMemFree(input));
    nvtxRangePop();
}

static nvtxEventAttributes_t an_event(void)
{
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    return event;
}

static nvtxDomainHandle_t domain;
static nvtxRangeId_t started;

static int begin(const char *way)
{
    nvtxEventAttributes_t event = an_event();
    if (!strcmp(way, "text"))
        return nvtxRangePushA("step");
    if (!strcmp(way, "wide"))
        return nvtxRangePushW(L"Schritt \u2192");
    if (!strcmp(way, "start")) {
        started = nvtxRangeStartA("step");
        return 1;
    }
    if (!strcmp(way, "registered")) {
        event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        event.message.registered = nvtxDomainRegisterStringA(domain, "step");
        return nvtxDomainRangePushEx(domain, &event);
    }
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = "step";
    return !strcmp(way, "domain") ? nvtxDomainRangePushEx(domain, &event) : nvtxRangePushEx(&event);
}

static void end(const char *way)
{
    if (!strcmp(way, "start"))
        nvtxRangeEnd(started);
    else if (!strcmp(way, "domain") || !strcmp(way, "registered"))
        nvtxDomainRangePop(domain);
    else
        nvtxRangePop();
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "text";
    const int steps = argc > 2 ? atoi(argv[2]) : 8, without = argc > 3 ? atoi(argv[3]) : 0;
    int depth = 0;
    if (chdir("/") < 0)
        return EXIT_WRONG;
    if (!without)
        nvtxRangePushA("all of it");
    start();
    domain = nvtxDomainCreateA("training");
    pattern(host, BYTES, 1);
    for (int i = 0; i < WEIGHTS; i++)
        CHECK(cuMemAlloc(&weight[i], BYTES));
    for (int step = 0; step < steps; step++) {
        if (step >= without)
            depth = begin(way);
        half();
        half();
        if (step >= without)
            end(way);
    }
    fprintf(stderr, "depth of a step: %d\n", depth);
    for (int i = 0; i < WEIGHTS; i++)
        printf("%016llx\n", (unsigned long long)device_sum(weight[i], BYTES));
    if (!without)
        nvtxRangePop();
    return 0;
}
