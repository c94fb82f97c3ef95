/* twins.c - keeps what modules were loaded from, loads them a second time, and keeps both alike where necessary. */
#include "twins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tables.h"
#include "ask.h"
#include "capture.h"
#include "context.h"
#include "layout.h"
#include "lock.h"
#include "log.h"
#include "module_variables.h"
#include "outside.h"
#include "readable.h"
#include "result.h"
#include "settings.h"
#include "twin_attrs.h"
#include "uses_wait.h"
#include "variables.h"

struct twin { /* of a source, in one context */
    struct source *source;
    CUcontext context;
    void *handle; /* CUmodule or CUlibrary; NULL: it could not be loaded */
    struct spw_variables *variables;
    uint64_t alike;       /* the change up to which its variables were copied */
    struct spw_uses uses; /* what runs in it */
    struct twin *next;
};

struct source { /* a module or library of the program */
    const void *owner;
    CUcontext context; /* of a module; NULL: a library */
    struct spw_image *image;
    const char *refused;  /* why it cannot have a twin; NULL: it can */
    const char *stateful; /* why its state is not known; NULL: it is known */
    bool is_listed;
    struct spw_globals globals;
    struct spw_module_variable *variables;
    struct twin *twins;
    bool lost; /* out of memory while adding: it is in no table */
    UT_hash_handle hh;
};

struct place {
    CUfunction function; /* of the program's */
    CUcontext context;
};

struct counterpart {
    struct place place;
    struct twin *twin;
    CUfunction function; /* NULL: there is none */
    bool is_kernel;      /* both are CUkernels */
    uint64_t alike;      /* the change up to which its attributes were copied */
    bool lost;
    UT_hash_handle hh;
};

/* Guarded by the engine lock. */
static struct source *sources;
static struct counterpart *counterparts;
static uint64_t changes = 1;
static struct spw_uses writers; /* operations of the program that write variables */
static unsigned writing;        /* calls that write variables and have not returned */

struct spw_twin_counts spw_twin_counts;
CUdeviceptr spw_twins_low, spw_twins_high;
bool spw_twins_have_variables;

/* ---- modules and libraries ---- */

static struct source *find_source(const void *owner)
{
    struct source *s;
    HASH_FIND_PTR(sources, &owner, s);
    return s;
}

static const char *lacks(const struct source *s)
{
    return s->refused ? s->refused : spw_image_lacks(s->image);
}

static void refuse_state(struct source *s, const char *why)
{
    if (!s->stateful)
        spw_info("the state of a %s of the program's is not known: %s; what its kernels make is not recomputed",
                 spw_image_is_library(s->image) ? "library" : "module", why);
    s->stateful = why;
}

static void say_refused(const struct source *s)
{
    spw_info("a %s of the program's cannot be loaded a second time: %s; what its kernels make is not recomputed",
             spw_image_is_library(s->image) ? "library" : "module", lacks(s));
}

/* The twin's variables are found when it is made. */
static void list_globals(struct source *s)
{
    if (s->is_listed)
        return;
    s->is_listed = true;
    const char *why = spw_image_globals_locked(s->image, &s->globals);
    if (why)
        refuse_state(s, why);
    spw_twins_have_variables |= s->globals.count > 0;
}

static void free_twin(struct twin *twin)
{
    spw_variables_free(twin->variables);
    free(twin);
}

static void forget_twin(struct twin *twin)
{
    struct counterpart *c, *next;
    HASH_ITER(hh, counterparts, c, next)
    {
        if (c->twin != twin)
            continue;
        SPW_TABLE_REMOVE(counterparts, c);
    }
    struct twin **link = &twin->source->twins;
    while (*link != twin)
        link = &(*link)->next;
    *link = twin->next;
}

/* The twins are unloaded by the caller, or gone already. */
static void forget_source(struct source *s)
{
    HASH_DEL(sources, s);
    spw_module_variables_free(&s->variables, NULL);
    spw_globals_finish(&s->globals);
    spw_image_free_locked(s->image);
    free(s);
}

static void forget(struct source *s)
{
    while (s->twins) {
        struct twin *twin = s->twins;
        forget_twin(twin);
        free_twin(twin);
    }
    forget_source(s);
}

struct spw_image *spw_twins_loading(const struct spw_image_told *told)
{
    return spw_settings_get()->recompute ? spw_image_describe(told) : NULL;
}

void spw_twins_not_loaded(struct spw_image *image)
{
    spw_lock();
    spw_image_free_locked(image);
    spw_unlock();
}

/* Another owner of that handle went with its context, unnoticed. */
static void add_source(const void *owner, struct spw_image *image, CUcontext context)
{
    struct source *s = find_source(owner);
    if (s)
        forget(s);
    s = image ? calloc(1, sizeof(*s)) : NULL;
    if (!s) {
        spw_image_free_locked(image);
        return;
    }
    *s = (struct source){.owner = owner, .image = image, .context = context};
    spw_image_keep_locked(image);
    SPW_TABLE_ADD(sources, owner, s);
    if (!s)
        spw_image_free_locked(image);
}

void spw_twins_loaded(const void *owner, struct spw_image *image)
{
    CUcontext context = NULL;
    if (image && !spw_image_is_library(image))
        (void)spw_driver.cuCtxGetCurrent(&context);
    spw_lock();
    add_source(owner, image, context);
    spw_unlock();
}

void spw_twins_refuse(const void *owner, const char *why)
{
    spw_lock();
    struct source *s = find_source(spw_layout_whole(owner));
    if (s)
        s->refused = why;
    spw_unlock();
}

/* ---- unloading ---- */

static void unload(const struct twin *twin)
{
    struct spw_context_guard guard;
    if (!twin->handle || spw_context_enter(&guard, twin->context) < 0)
        return;
    spw_image_unload_locked(twin->source->image, twin->handle);
    spw_context_leave(&guard);
}

/* The twin cannot be found any more, so it does not change while its last uses are waited for. */
void spw_twins_unload(const void *owner)
{
    spw_lock();
    struct source *s = find_source(owner);
    while (s && s->twins) {
        struct twin *twin = s->twins;
        forget_twin(twin);
        (void)spw_uses_wait_unlocking(&twin->uses);
        unload(twin);
        free_twin(twin);
    }
    if (s)
        forget_source(s);
    spw_unlock();
}

static void leave_context(struct source *s, CUcontext context)
{
    struct twin *next;
    for (struct twin *twin = s->twins; twin; twin = next) {
        next = twin->next;
        if (twin->context != context)
            continue;
        forget_twin(twin);
        unload(twin);
        free_twin(twin);
    }
    spw_module_variables_free(&s->variables, &context);
    if (!spw_image_is_library(s->image) && s->context == context)
        forget_source(s);
}

void spw_twins_context_gone(CUcontext context)
{
    struct source *s, *next;
    spw_lock();
    HASH_ITER(hh, sources, s, next)
    {
        leave_context(s, context);
    }
    spw_unlock();
}

/* ---- variables ---- */

static void add_variable(struct source *s, const char *name, CUdeviceptr address, size_t bytes, CUcontext context)
{
    spw_outside_lies_at(address, bytes); /* a kernel that finds the address somewhere may write there */
    if (spw_module_variables_add(&s->variables, name, context, address, bytes) < 0) {
        s->refused = "there was no memory for the names of its variables";
        return;
    }
    if (!spw_twins_low || address < spw_twins_low)
        spw_twins_low = address;
    if (address + bytes > spw_twins_high)
        spw_twins_high = address + bytes;
}

void spw_twins_variable(const void *owner, const char *name, CUdeviceptr address, size_t bytes)
{
    unsigned is_managed = 0;
    CUcontext context = NULL;
    if (!spw_settings_get()->recompute)
        return;
    (void)spw_driver.cuCtxGetCurrent(&context);
    (void)spw_driver.cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
    spw_lock();
    struct source *s = find_source(spw_layout_whole(owner));
    if (s && is_managed)
        s->refused = "the host may write its variables";
    else if (s && !spw_module_variables_find(s->variables, address))
        add_variable(s, name, address, bytes, context);
    spw_unlock();
}

static bool may_be_a_variable(CUdeviceptr address, size_t bytes)
{
    return address < spw_twins_high && address + bytes > spw_twins_low;
}

bool spw_twins_write(CUdeviceptr address, size_t bytes)
{
    bool any = false;
    if (!may_be_a_variable(address, bytes))
        return false;
    spw_lock();
    for (struct source *s = sources; s; s = s->hh.next)
        any |= spw_module_variables_write(s->variables, address, bytes);
    changes += any;
    writing += any;
    spw_unlock();
    return any;
}

/* Variables that kernels can write are saved before each kept launch, and then searched for addresses. */
static bool is_searched(struct source *s, const struct spw_module_variable *v)
{
    list_globals(s);
    for (uint32_t i = 0; i < s->globals.count; i++)
        if (strcmp(s->globals.list[i].name, v->name) == 0)
            return !s->globals.list[i].is_constant;
    return false;
}

static void refuse_written(CUdeviceptr address, size_t bytes)
{
    spw_lock();
    for (struct source *s = sources; s; s = s->hh.next)
        for (struct spw_module_variable *v = s->variables; v; v = v->next)
            if (spw_module_variable_overlaps(v, address, bytes) && !is_searched(s, v))
                refuse_state(s, "its constants may hold addresses");
    spw_unlock();
}

void spw_twins_look(CUdeviceptr address, const void *from, size_t bytes)
{
    if (may_be_a_variable(address, bytes) &&
        (spw_holds_addresses(from, bytes) || spw_outside_among(address, from, bytes) || spw_may_change_yet(from)))
        refuse_written(address, bytes);
}

void spw_twins_copied(CUdeviceptr address, size_t bytes)
{
    if (may_be_a_variable(address, bytes))
        refuse_written(address, bytes);
}

void spw_twins_changed(void)
{
    spw_lock();
    changes++;
    spw_unlock();
}

void spw_twins_written(CUstream stream)
{
    spw_lock();
    struct spw_stream *s = spw_stream_of_locked(stream);
    if (s && !spw_is_capturing(stream))
        spw_uses_add_locked(&writers, s, spw_stream_next_locked(s));
    changes++;
    for (struct source *o = --writing ? NULL : sources; o; o = o->hh.next)
        spw_module_variables_written(o->variables);
    spw_unlock();
}

/* The program's writes may not have happened yet, on streams that are not ordered with what runs in the twin. */
static int order_behind_writers(const struct twin *twin, struct spw_stream *s)
{
    return twin->alike == changes ? 0 : spw_uses_order_locked(&writers, s);
}

static int make_variables_alike(struct twin *twin, struct spw_stream *s)
{
    int r = order_behind_writers(twin, s);
    if (r == 0)
        r = spw_module_variables_copy(twin->source->variables, twin->context, twin->handle,
                                      spw_image_is_library(twin->source->image), s);
    if (r == 0)
        twin->alike = changes;
    return r;
}

/* ---- functions ---- */

static int make_attributes_alike(struct counterpart *c)
{
    const int r = spw_twin_attrs_copy(c->place.function, c->function, c->is_kernel);
    if (r == 0)
        c->alike = changes;
    return r;
}

/* Finds where the handle comes from. If that was not noted, asks the driver. */
static struct source *source_of(CUfunction f, bool *ret_is_kernel)
{
    const void *owner = NULL;
    *ret_is_kernel = false;
    if (spw_layout_origin(f, &owner, ret_is_kernel))
        return find_source(owner);
    if (spw_driver.cuFuncGetModule && SPW_ASK_QUIETLY(cuFuncGetModule, (CUmodule *)&owner, f) == CUDA_SUCCESS)
        return find_source(spw_layout_whole(owner));
    *ret_is_kernel = true;
    if (spw_driver.cuKernelGetLibrary &&
        SPW_ASK_QUIETLY(cuKernelGetLibrary, (CUlibrary *)&owner, (CUkernel)f) == CUDA_SUCCESS)
        return find_source(owner);
    return NULL;
}

bool spw_twin_image_hash_locked(CUfunction f, struct spw_hash *ret_hash)
{
    bool is_kernel;
    struct source *s = source_of(f, &is_kernel);
    return s && spw_image_hash_locked(s->image, ret_hash);
}

static struct counterpart *find_counterpart(CUfunction f, CUcontext context)
{
    const struct place place = {f, context};
    struct counterpart *c;
    /* The analyzer does not see that two pointers leave no gap.
     * NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
    HASH_FIND(hh, counterparts, &place, sizeof(place), c);
    return c;
}

static bool is_good(const struct counterpart *c)
{
    return c->function && !lacks(c->twin->source) && !c->twin->source->stateful;
}

static CUresult ask_name(CUfunction f, bool is_kernel, const char **ret_name)
{
    if (is_kernel)
        return spw_driver.cuKernelGetName ? SPW_ASK(cuKernelGetName, ret_name, (CUkernel)f) : CUDA_ERROR_NOT_SUPPORTED;
    return spw_driver.cuFuncGetName ? SPW_ASK(cuFuncGetName, ret_name, f) : CUDA_ERROR_NOT_SUPPORTED;
}

/* A function without a name cannot be told from those that print. */
static bool may_print(const struct source *s, CUfunction f, bool is_kernel)
{
    const char *name = NULL;
    return s->globals.printing_count &&
           (ask_name(f, is_kernel, &name) != CUDA_SUCCESS || spw_globals_may_print(&s->globals, name, strlen(name)));
}

/* If there is a counterpart, the first questions have been answered. */
enum spw_replay_verdict spw_twin_verdict_locked(CUfunction f, CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    bool is_kernel = false;
    const struct counterpart *c = find_counterpart(f, context);
    struct source *s = c ? c->twin->source : source_of(f, &is_kernel);
    if (!s || lacks(s))
        return SPW_REPLAY_NO_TWIN;
    list_globals(s);
    if (s->stateful)
        return SPW_REPLAY_MODULE_STATE;
    if (!c && may_print(s, f, is_kernel))
        return SPW_REPLAY_PRINTS;
    return !c || c->function ? SPW_REPLAYABLE : SPW_REPLAY_NO_TWIN;
}

/* The context is current. */
static struct twin *twin_in(struct source *s, CUcontext context)
{
    struct twin *twin = s->twins;
    while (twin && twin->context != context)
        twin = twin->next;
    if (twin || !(twin = calloc(1, sizeof(*twin))))
        return twin;
    *twin = (struct twin){.source = s, .context = context, .next = s->twins};
    s->twins = twin;
    const int r = spw_image_load_locked(s->image, &twin->handle);
    if (r < 0) {
        s->refused = r == -ESTALE ? "what it was loaded from is not there any more, or has changed" : "the driver refuses";
        say_refused(s);
        return twin;
    }
    spw_twin_counts.count++;
    spw_twin_counts.image_bytes += spw_image_bytes(s->image);
    const char *why = spw_variables_find(&s->globals, spw_image_is_library(s->image), (void *)(uintptr_t)s->owner,
                                         twin->handle, &twin->variables);
    if (!why && twin->variables && s->globals.calls_pointers)
        why = "its kernels call functions by addresses, which its variables or parameters may hold";
    if (why)
        refuse_state(s, why);
    for (uint32_t i = 0; twin->variables && i < twin->variables->count; i++)
        spw_outside_lies_at(twin->variables->pieces[i].original, twin->variables->pieces[i].bytes);
    return twin;
}

static int find_by_name(struct counterpart *c)
{
    const char *name = NULL;
    const bool is_library = spw_image_is_library(c->twin->source->image);
    CUkernel kernel = NULL;
    int r = spw_result(ask_name(c->place.function, c->is_kernel, &name));
    if (r < 0 || !is_library)
        return r < 0 ? r : spw_result(SPW_ASK(cuModuleGetFunction, &c->function, c->twin->handle, name));
    r = spw_result(SPW_ASK(cuLibraryGetKernel, &kernel, c->twin->handle, name));
    if (r < 0 || c->is_kernel) {
        c->function = (CUfunction)kernel;
        return r;
    }
    return spw_result(SPW_ASK(cuKernelGetFunction, &c->function, kernel));
}

/* The context is current. After a failure there is no function. */
static void find_counterpart_in_twin(struct counterpart *c)
{
    char name[256];
    if (!c->twin->handle)
        return;
    int r = find_by_name(c);
    if (r == 0)
        r = make_attributes_alike(c);
    if (r == 0)
        return;
    c->function = NULL;
    spw_info("%s cannot be loaded a second time (%d): what it makes is not recomputed",
             spw_readable_name(c->place.function, name, sizeof(name)), r);
}

int spw_twin_make_locked(CUfunction f, CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_context_guard guard;
    bool is_kernel;
    struct counterpart *c = find_counterpart(f, context);
    if (c)
        return is_good(c) ? 0 : -ENOTSUP;
    struct source *s = source_of(f, &is_kernel);
    if (!s || spw_twin_verdict_locked(f, context) != SPW_REPLAYABLE || spw_context_enter(&guard, context) < 0)
        return -ENOTSUP;
    struct twin *twin = twin_in(s, context);
    c = twin ? calloc(1, sizeof(*c)) : NULL;
    if (c) {
        *c = (struct counterpart){.place = {f, context}, .twin = twin, .is_kernel = is_kernel};
        find_counterpart_in_twin(c);
        SPW_TABLE_ADD(counterparts, place, c);
    }
    spw_context_leave(&guard);
    return c && is_good(c) ? 0 : -ENOTSUP;
}

const struct spw_variables *spw_twin_variables_locked(CUfunction f, CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct counterpart *c = find_counterpart(f, context);
    return c ? c->twin->variables : NULL;
}

bool spw_twin_is_being_written_locked(CUfunction f, CUcontext context, const struct spw_stream *s)
{
    const bool are_held_back = spw_uses_held_back_locked(&writers, s);
    const struct counterpart *c = writing || are_held_back ? find_counterpart(f, context) : NULL;
    return c && spw_module_variables_being_written(c->twin->source->variables, are_held_back);
}

void spw_twin_holds_addresses_locked(CUfunction f, CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct counterpart *c = find_counterpart(f, context);
    if (c)
        refuse_state(c->twin->source, "its variables hold addresses");
}

/* ---- running ---- */

int spw_twin_order_locked(CUfunction f, CUcontext context, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct counterpart *c = find_counterpart(f, context);
    const int r = c ? spw_uses_order_locked(&c->twin->uses, s) : 0;
    return c && r == 0 ? order_behind_writers(c->twin, s) : r;
}

int spw_twin_use_locked(CUfunction f, CUcontext context, struct spw_stream *s, CUfunction *ret_twin)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct counterpart *c = find_counterpart(f, context);
    if (!c || !c->function)
        return -ENOENT;
    int r = c->alike == changes ? 0 : make_attributes_alike(c);
    spw_uses_add_locked(&c->twin->uses, s, s->begun);
    if (r == 0 && c->twin->alike != changes)
        r = make_variables_alike(c->twin, s);
    if (r == 0)
        *ret_twin = c->function;
    return r;
}

void spw_twins_reset(void)
{
    struct source *s, *next;
    HASH_ITER(hh, sources, s, next)
    {
        forget(s);
    }
    writers = (struct spw_uses){0};
    writing = 0;
    spw_twins_low = spw_twins_high = 0;
    spw_twins_have_variables = false;
}
