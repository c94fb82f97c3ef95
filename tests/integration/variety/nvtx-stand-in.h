/* nvtx-stand-in.h - the part of NVTX that ranges.c calls, under NVTX's names, for machines without its headers: what they
 * say happens between a program and the library in NVTX_INJECTION64_PATH, and nothing else. */
#ifndef VARIETY_NVTX_STAND_IN_H
#define VARIETY_NVTX_STAND_IN_H
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

enum { NVTX_VERSION = 3, NVTX_MESSAGE_TYPE_ASCII = 1, NVTX_MESSAGE_TYPE_UNICODE, NVTX_MESSAGE_TYPE_REGISTERED };

typedef struct nvtx_domain *nvtxDomainHandle_t;
typedef struct nvtx_string *nvtxStringHandle_t;
typedef uint64_t nvtxRangeId_t;

typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    uint64_t payload;
    int32_t messageType;
    union {
        const char *ascii;
        const wchar_t *unicode;
        nvtxStringHandle_t registered;
    } message;
} nvtxEventAttributes_t;
enum { NVTX_EVENT_ATTRIB_STRUCT_SIZE = sizeof(nvtxEventAttributes_t) };

/* What each call does: nothing until a library says otherwise. By module and number, as the library counts them. */
typedef void (*nvtx_any)(void);
static struct {
    nvtx_any call[2][16];
    nvtx_any *table[2][17]; /* without the first, and NULL at the end */
    int ready;
} nvtx;
enum { NVTX_CORE, NVTX_DOMAIN };

static inline int nvtx_module(int module, nvtx_any ***ret_table, unsigned *ret_size)
{
    const int which = module == 1 ? NVTX_CORE : module == 5 ? NVTX_DOMAIN : -1;
    *ret_table = which < 0 ? NULL : nvtx.table[which];
    *ret_size = which < 0 ? 0 : 16;
    return which >= 0;
}

static inline const void *nvtx_export_table(uint32_t id)
{
    static const struct {
        size_t struct_size;
        int (*module)(int module, nvtx_any ***ret_table, unsigned *ret_size);
    } callbacks = {sizeof(callbacks), nvtx_module};
    return id == 1 ? &callbacks : NULL;
}

/* The first call of any: the library is asked, and what it says no to stays without effect. */
static inline nvtx_any nvtx_call(int module, int number)
{
    if (!nvtx.ready) {
        const char *path = getenv("NVTX_INJECTION64_PATH");
        void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
        int (*begin)(const void *(*)(uint32_t)) = NULL;
        nvtx.ready = 1;
        for (int m = 0; m < 2; m++)
            for (int i = 1; i < 16; i++)
                nvtx.table[m][i] = &nvtx.call[m][i];
        if (library)
            *(void **)&begin = dlsym(library, "InitializeInjectionNvtx2");
        if (begin && !begin(nvtx_export_table))
            dlclose(library);
    }
    return nvtx.call[module][number];
}

#define NVTX_CALL(module, number, result, otherwise, name, parameters, arguments) \
    static inline result name parameters \
    { \
        result(*call) parameters = (result(*) parameters)nvtx_call(module, number); \
        return call ? call arguments : otherwise; \
    }
NVTX_CALL(NVTX_CORE, 5, nvtxRangeId_t, 0, nvtxRangeStartA, (const char *text), (text))
NVTX_CALL(NVTX_CORE, 8, int, -2, nvtxRangePushEx, (const nvtxEventAttributes_t *event), (event))
NVTX_CALL(NVTX_CORE, 9, int, -2, nvtxRangePushA, (const char *text), (text))
NVTX_CALL(NVTX_CORE, 10, int, -2, nvtxRangePushW, (const wchar_t *text), (text))
NVTX_CALL(NVTX_CORE, 11, int, -2, nvtxRangePop, (void), ())
NVTX_CALL(NVTX_DOMAIN, 4, int, -2, nvtxDomainRangePushEx, (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event),
          (domain, event))
NVTX_CALL(NVTX_DOMAIN, 5, int, -2, nvtxDomainRangePop, (nvtxDomainHandle_t domain), (domain))
NVTX_CALL(NVTX_DOMAIN, 10, nvtxStringHandle_t, NULL, nvtxDomainRegisterStringA,
          (nvtxDomainHandle_t domain, const char *text), (domain, text))
NVTX_CALL(NVTX_DOMAIN, 12, nvtxDomainHandle_t, NULL, nvtxDomainCreateA, (const char *name), (name))

static inline void nvtxRangeEnd(nvtxRangeId_t range)
{
    void (*call)(nvtxRangeId_t) = (void (*)(nvtxRangeId_t))nvtx_call(NVTX_CORE, 7);
    if (call)
        call(range);
}
#endif
