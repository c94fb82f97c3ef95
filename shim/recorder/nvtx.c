/* nvtx.c - receives the beginnings of the program's NVTX ranges, and tells the recorder of those with the name.
 *
 * Programs get the answers that NVTX promises: the depth of a thread's range in its domain, and range numbers that are
 * unique. A registered text is NULL unless it is the name; without a tool, a program gets NULL for each text. */
#include "nvtx.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "log.h"
#include "recorder.h"
#include "settings.h"

#define VARIABLE "NVTX_INJECTION64_PATH"

enum { DOMAINS = 16 }; /* domains whose depths are counted: the default one and the first that are created */

/* Constant once `asked` is set. */
static char name[SPW_SETTINGS_HINT];
static wchar_t wide_name[SPW_SETTINGS_HINT];
static size_t length, wide_length;
static bool prefix; /* the name is only the beginning of one */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char own_path[PATH_MAX]; /* path of our file, resolved from the folder where the program was started; constant before
                                   main() begins */
static int asked;               /* some NVTX in the program has called us */

static char domains[DOMAINS], other_domain, registered; /* their addresses are handles */
static unsigned domain_count = 1;
static uint64_t last_range;
static _Thread_local int depths[DOMAINS] __attribute__((tls_model("initial-exec")));

/* ---- names ---- */

/* Converts UTF-8 to wide characters; bytes that are not UTF-8 stand for themselves. */
static size_t widen(const char *text, wchar_t *to)
{
    size_t n = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at; n++) {
        unsigned more = *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : *at >= 0xc0 ? 1 : 0;
        unsigned value = more ? *at & (0x3f >> more) : *at;
        for (at++; more && (*at & 0xc0) == 0x80; more--)
            value = value << 6 | (*at++ & 0x3f);
        to[n] = (wchar_t)value;
    }
    to[n] = 0;
    return n;
}

/* Returns what the settings will say; the constructor is too early to read and check all of them. */
static bool trace_is_written(void)
{
    const char *mode = getenv("SPILLWAY_MODE");
    return mode && (!strcmp(mode, "trace") || !strcmp(mode, "swap+trace"));
}

static void take_name(void)
{
    const char *range = getenv("SPILLWAY_ITERATION_RANGE");
    if (!range || !trace_is_written() || strlen(range) >= sizeof(name))
        return;
    length = strlen(range);
    memcpy(name, range, length + 1);
    prefix = length > 1 && name[length - 1] == '*';
    if (prefix)
        name[--length] = 0;
    wide_length = widen(name, wide_name);
}

static bool is_name(const char *text)
{
    return text && (prefix ? strncmp(text, name, length) : strcmp(text, name)) == 0;
}

static bool is_wide_name(const wchar_t *text)
{
    return text && (prefix ? wcsncmp(text, wide_name, wide_length) : wcscmp(text, wide_name)) == 0;
}

static bool is_event(const struct spw_nvtx_event *event)
{
    if (!event || event->bytes < sizeof(*event))
        return false;
    switch (event->message_kind) {
    case SPW_NVTX_TEXT:
        return is_name(event->message);
    case SPW_NVTX_WIDE:
        return is_wide_name(event->message);
    case SPW_NVTX_REGISTERED:
        return event->message == &registered;
    default:
        return false;
    }
}

/* ---- what NVTX calls ---- */

/* Returns the index in `domains`; at least DOMAINS for a domain that is not in there. */
static size_t index_of(const void *domain)
{
    return domain ? (uintptr_t)domain - (uintptr_t)domains : 0;
}

static int push(const void *domain, bool it)
{
    const size_t index = index_of(domain);
    if (it)
        spw_record_hint();
    return index < DOMAINS ? depths[index]++ : SPW_NVTX_NOT_TRACKED;
}

static int pop(const void *domain)
{
    const size_t index = index_of(domain);
    if (index >= DOMAINS)
        return SPW_NVTX_NOT_TRACKED;
    return depths[index] ? --depths[index] : -1;
}

static uint64_t start(bool it)
{
    if (it)
        spw_record_hint();
    return __atomic_add_fetch(&last_range, 1, __ATOMIC_RELAXED);
}

static int push_text(const char *text)
{
    return push(NULL, is_name(text));
}

static int push_wide(const wchar_t *text)
{
    return push(NULL, is_wide_name(text));
}

static int push_event(const struct spw_nvtx_event *event)
{
    return push(NULL, is_event(event));
}

static int push_in_domain(const void *domain, const struct spw_nvtx_event *event)
{
    return push(domain, is_event(event));
}

static int pop_default(void)
{
    return pop(NULL);
}

static uint64_t start_text(const char *text)
{
    return start(is_name(text));
}

static uint64_t start_wide(const wchar_t *text)
{
    return start(is_wide_name(text));
}

static uint64_t start_event(const struct spw_nvtx_event *event)
{
    return start(is_event(event));
}

static uint64_t start_in_domain(const void *domain, const struct spw_nvtx_event *event)
{
    return start(is_event(event));
}

static const void *register_text(const void *domain, const char *text)
{
    return is_name(text) ? &registered : NULL;
}

static const void *register_wide(const void *domain, const wchar_t *text)
{
    return is_wide_name(text) ? &registered : NULL;
}

static const void *create_domain(const void *its_name)
{
    const unsigned index = __atomic_fetch_add(&domain_count, 1, __ATOMIC_RELAXED);
    return index < DOMAINS ? &domains[index] : &other_domain;
}

/* ---- getting there ---- */

struct place {
    int module;
    unsigned id;
    spw_nvtx_function *function;
};

#define PLACE(module, id, function) \
    { \
        module, id, (spw_nvtx_function *)(function) \
    }
static const struct place places[] = {
    PLACE(SPW_NVTX_CORE, SPW_NVTX_RANGE_START_EX, start_event),
    PLACE(SPW_NVTX_CORE, SPW_NVTX_RANGE_START_A, start_text),
    PLACE(SPW_NVTX_CORE, SPW_NVTX_RANGE_START_W, start_wide),
    PLACE(SPW_NVTX_CORE, SPW_NVTX_RANGE_PUSH_EX, push_event),
    PLACE(SPW_NVTX_CORE, SPW_NVTX_RANGE_PUSH_A, push_text),
    PLACE(SPW_NVTX_CORE, SPW_NVTX_RANGE_PUSH_W, push_wide),
    PLACE(SPW_NVTX_CORE, SPW_NVTX_RANGE_POP, pop_default),
    PLACE(SPW_NVTX_DOMAINS, SPW_NVTX_DOMAIN_RANGE_START_EX, start_in_domain),
    PLACE(SPW_NVTX_DOMAINS, SPW_NVTX_DOMAIN_RANGE_PUSH_EX, push_in_domain),
    PLACE(SPW_NVTX_DOMAINS, SPW_NVTX_DOMAIN_RANGE_POP, pop),
    PLACE(SPW_NVTX_DOMAINS, SPW_NVTX_DOMAIN_REGISTER_A, register_text),
    PLACE(SPW_NVTX_DOMAINS, SPW_NVTX_DOMAIN_REGISTER_W, register_wide),
    PLACE(SPW_NVTX_DOMAINS, SPW_NVTX_DOMAIN_CREATE_A, create_domain),
    PLACE(SPW_NVTX_DOMAINS, SPW_NVTX_DOMAIN_CREATE_W, create_domain),
};

SPW_EXPORT int InitializeInjectionNvtx2(spw_nvtx_get_table *get_table)
{
    pthread_once(&once, take_name);
    const struct spw_nvtx_callbacks *callbacks = length ? get_table(SPW_NVTX_TABLE_CALLBACKS) : NULL;
    if (!callbacks || callbacks->struct_bytes < sizeof(*callbacks))
        return 0;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        spw_nvtx_slot *slots;
        unsigned count;
        if (callbacks->module(places[i].module, &slots, &count) && places[i].id < count && slots[places[i].id])
            *slots[places[i].id] = places[i].function;
    }
    __atomic_store_n(&asked, 1, __ATOMIC_RELAXED);
    return 1;
}

void spw_nvtx_offer(void)
{
    Dl_info info;
    pthread_once(&once, take_name);
    if (!length || !dladdr((void *)spw_nvtx_offer, &info) || !info.dli_fname || !realpath(info.dli_fname, own_path))
        return;
    setenv(VARIABLE, own_path, 0);
}

/* Returns the library that receives the ranges in our place; NULL: none does. */
static const char *other_library(void)
{
    char real_path[PATH_MAX];
    const char *path = getenv(VARIABLE);
    return path && !(realpath(path, real_path) && !strcmp(real_path, own_path)) ? path : NULL;
}

void spw_nvtx_check(void)
{
    const char *other = other_library();
    if (other && !__atomic_load_n(&asked, __ATOMIC_RELAXED))
        spw_warn(VARIABLE "=%s: that library receives the NVTX ranges, and SPILLWAY_ITERATION_RANGE has no effect" SPW_SEE(
                     "iteration-hint"),
                 other);
}

void spw_nvtx_tell_unheard(const char *range)
{
    if (__atomic_load_n(&asked, __ATOMIC_RELAXED))
        spw_warn("no NVTX range \"%s\" began: SPILLWAY_ITERATION_RANGE had no effect" SPW_SEE("iteration-hint"), range);
    else if (!other_library())
        spw_warn("no NVTX range \"%s\" began, nor any other that spillway could see: SPILLWAY_ITERATION_RANGE had no "
                 "effect" SPW_SEE("iteration-hint"),
                 range);
}

void spw_nvtx_reset(void)
{
    once = (pthread_once_t)PTHREAD_ONCE_INIT;
    length = wide_length = 0;
    prefix = false;
    asked = 0;
    domain_count = 1;
    memset(depths, 0, sizeof(depths));
}
