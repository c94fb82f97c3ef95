/* stand_ins.c - finds the functions that this library's stand-ins stand in front of. */
#include "stand_ins.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "loader.h"
#include "log.h"

static const char here[] = "in this library";

struct search {
    const char *file, *path;
};

static int has_file_name(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *s = data;
    const char *name = strrchr(info->dlpi_name, '/');
    if (!name || strncmp(name, s->file, strlen(s->file)))
        return 0;
    s->path = info->dlpi_name;
    return 1;
}

static bool is_ours(const void *function)
{
    Dl_info found, own;
    return dladdr(function, &found) && dladdr(here, &own) && found.dli_fbase == own.dli_fbase;
}

static void *find_in(const char *path, const char *name)
{
    void *handle = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL; /* never closed, as its caller's is not */
    void *function = handle ? spw_lookups_of_loader(handle, name) : NULL;
    return function && !is_ours(function) ? function : NULL;
}

/* Searches what the caller was linked with; else the library of that file name, or what was loaded after this library. */
static void *find(const struct spw_other_library *library, const char *name, const void *caller)
{
    struct search search = {.file = library->file};
    Dl_info info;
    void *function = dladdr(caller, &info) ? find_in(info.dli_fname, name) : NULL;
    if (!function && dl_iterate_phdr(has_file_name, &search))
        function = find_in(search.path, name);
    return function ? function : spw_lookups_of_loader(RTLD_NEXT, name);
}

struct spw_call_site {
    uintptr_t page;
    void *function;
};

static void *look(const struct spw_other_library *library, struct spw_call_site **place, const char *name,
                  const void *caller, uintptr_t page)
{
    static int warned;
    void *function = find(library, name, caller);
    struct spw_call_site *site = function && place ? malloc(sizeof(*site)) : NULL, *nobody = NULL;
    if (!function)
        spw_warn_once(&warned, "%s was called, but no loaded %s has it" SPW_SEE("library-calls"), name, library->name);
    if (site) {
        *site = (struct spw_call_site){page, function};
        if (!__atomic_compare_exchange_n(place, &nobody, site, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            free(site); /* another thread was first */
    }
    return function;
}

void *spw_stand_in_real(const struct spw_other_library *library, struct spw_call_sites *known, const char *name,
                        const void *caller)
{
    enum { PAGE = 4096 };
    const uintptr_t page = (uintptr_t)caller / PAGE;
    for (uintptr_t i = 0; i < SPW_CALL_SITES; i++) {
        struct spw_call_site **place = &known->site[(page + i) % SPW_CALL_SITES];
        const struct spw_call_site *site = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        if (!site)
            return look(library, place, name, caller, page);
        if (site->page == page)
            return site->function;
    }
    return look(library, NULL, name, caller, page);
}

static void *instead_of(const struct spw_stand_in *s, void *function)
{
    static int warned;
    for (int i = 0; i < SPW_STAND_INS; i++) {
        void *there = NULL;
        if (__atomic_compare_exchange_n(&s->found[i], &there, function, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
            there == function)
            return s->ours[i];
    }
    spw_warn_once(
        &warned,
        "%s is looked up in more than %d libraries: calls through the last ones are not seen" SPW_SEE("library-calls"),
        s->name, SPW_STAND_INS);
    return NULL;
}

void *spw_stand_in_instead_of(const struct spw_stand_in *list, size_t count, void *function, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i].name, name))
            return is_ours(function) ? NULL : instead_of(&list[i], function);
    return NULL;
}
