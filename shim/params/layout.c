/* layout.c - layouts of parameters: the driver is asked once per function, and functions with equal layouts share one. */
#include "layout.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tables.h"
#include "grow.h"
#include "ask.h"
#include "casts.h"
#include "driver.h"
#include "lock.h"
#include "structs.h"

/* What is known about a handle from the call that returned it. */
struct origin {
    const void *handle;
    const void *owner; /* module or library; NULL: unknown */
    bool kernel;       /* a CUkernel, not a CUfunction */
    bool lost;         /* out of memory while adding: it is in no table */
    UT_hash_handle hh;
};

/* A module that belongs to a library. */
struct part {
    const void *module, *library;
    struct part *next;
};

/* A layout and what it points to: its parameters, the name of its functions if that distinguishes layouts, words and spans
 * follow in the same allocation. */
struct shared {
    struct spw_layout layout, watched; /* the second lies behind the first: see twin_of() */
    bool lost;
    UT_hash_handle hh; /* by the bytes of layout.params and the name */
};

static const struct spw_layout unknown_layout[2] = {{.known = false}, {.known = false, .watched = true}};
static const struct spw_layout empty_layout[2] = {{.known = true, .plain = true}, {.known = true, .watched = true}};

_Atomic(struct spw_layout_table *) spw_layout_functions;

/* Guards everything below, and writing to tables. A leaf: the driver is never called with it held. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct origin *origins;
static struct part *parts;
static struct shared *layouts;
static bool watches;      /* functions that are found from now on get watched layouts */
static size_t slots_used; /* keys in the current table, including forgotten ones */

bool spw_layout_supported(void)
{
    return spw_driver.cuFuncGetParamInfo || spw_driver.cuKernelGetParamInfo;
}

/* ---- asking the driver ---- */

struct params {
    struct spw_param *list;
    unsigned count, room;
    uint64_t numbers; /* as in a layout */
};

static CUresult ask_one(CUfunction f, bool kernel, size_t index, size_t *ret_offset, size_t *ret_size)
{
    if (kernel)
        return spw_driver.cuKernelGetParamInfo
                   ? SPW_ASK_QUIETLY(cuKernelGetParamInfo, (CUkernel)f, index, ret_offset, ret_size)
                   : CUDA_ERROR_NOT_SUPPORTED;
    return spw_driver.cuFuncGetParamInfo ? SPW_ASK_QUIETLY(cuFuncGetParamInfo, f, index, ret_offset, ret_size)
                                         : CUDA_ERROR_NOT_SUPPORTED;
}

static int params_add(struct params *p, size_t offset, size_t size)
{
    if (offset > SPW_PARAMS_MAX_BYTES || size > SPW_PARAMS_MAX_BYTES - offset)
        return -ERANGE;
    if (SPW_GROW(p->list, p->room, p->count + 1) < 0)
        return -ENOMEM;
    p->list[p->count++] = (struct spw_param){(uint16_t)offset, (uint16_t)size};
    return 0;
}

/* Asks for all parameters. Returns 0, or a negative errno if the driver does not end with "no such index". */
static int ask_all(CUfunction f, bool kernel, struct params *p)
{
    p->count = 0;
    while (p->count <= SPW_PARAMS_MAX_BYTES) {
        size_t offset, size;
        CUresult answer = ask_one(f, kernel, p->count, &offset, &size);
        if (answer == CUDA_ERROR_INVALID_VALUE)
            return 0;
        if (answer != CUDA_SUCCESS)
            return -ENODATA;
        int r = params_add(p, offset, size);
        if (r < 0)
            return r;
    }
    return -ERANGE; /* more parameters than bytes */
}

static const char *ask_name(CUfunction f, bool kernel)
{
    const char *name = NULL;
    CUresult answer = CUDA_ERROR_NOT_SUPPORTED;
    if (kernel && spw_driver.cuKernelGetName)
        answer = SPW_ASK_QUIETLY(cuKernelGetName, &name, (CUkernel)f);
    else if (!kernel && spw_driver.cuFuncGetName)
        answer = SPW_ASK_QUIETLY(cuFuncGetName, &name, f);
    return answer == CUDA_SUCCESS ? name : NULL;
}

/* Asks about a handle of unknown origin. "No such index" for the first parameter may mean a function without parameters, or
 * another kind of handle. So "no parameters" is only believed if the driver knows the name. */
static int ask_both(CUfunction f, struct params *p)
{
    for (int kernel = 0; kernel < 2; kernel++)
        if (ask_all(f, kernel, p) == 0 && (p->count || ask_name(f, kernel)))
            return 0;
    return -ENODATA;
}

/* ---- layouts ---- */

/* In bytes; 0: it never holds an address. */
static unsigned size_to_look_at(const struct params *p, unsigned i)
{
    return i < 64 && p->numbers >> i & 1 ? 0 : p->list[i].size_bytes;
}

static bool is_word(const struct params *p, unsigned i)
{
    return size_to_look_at(p, i) == 8;
}

static bool is_span(const struct params *p, unsigned i)
{
    return size_to_look_at(p, i) > 8;
}

static void fill_layout(struct spw_layout *l, const struct params *p, struct spw_param *params, uint16_t *words,
                        uint16_t *spans)
{
    memcpy(params, p->list, p->count * sizeof *params);
    *l = (struct spw_layout){.known = true,
                             .param_count = (uint16_t)p->count,
                             .numbers = p->numbers,
                             .params = params,
                             .words = words,
                             .spans = spans};
    for (unsigned i = 0; i < p->count; i++) {
        const struct spw_param *q = &params[i];
        if (is_word(p, i))
            words[l->word_count++] = (uint16_t)i;
        if (is_span(p, i)) {
            spans[l->span_count++] = (uint16_t)i;
            l->loose |= (q->offset_bytes | q->size_bytes) % 8 != 0;
        }
        if (q->offset_bytes + q->size_bytes > l->image_bytes)
            l->image_bytes = (uint16_t)(q->offset_bytes + q->size_bytes);
    }
}

static size_t count_of(const struct params *p, bool (*is)(const struct params *p, unsigned i))
{
    size_t count = 0;
    for (unsigned i = 0; i < p->count; i++)
        count += is(p, i);
    return count;
}

/* Allocates the notes of what words have held, which live as long as the layout: for ever. Without memory nothing is
 * noted. */
static _Atomic uint8_t *make_places(const struct spw_layout *l)
{
    return l->span_count ? calloc(l->image_bytes / 8 + 1, sizeof(*l->places)) : NULL;
}

/* Makes the key that distinguishes layouts: parameters and name. The caller frees it. NULL: no memory. */
static char *make_key(const struct params *p, const char *name, size_t *ret_bytes)
{
    const size_t bytes = p->count * sizeof *p->list, length = name ? strlen(name) : 0;
    char *key = malloc(bytes + length);
    if (!key)
        return NULL;
    memcpy(key, p->list, bytes);
    if (length)
        memcpy(key + bytes, name, length); /* NOLINT(bugprone-not-null-terminated-result): no string */
    *ret_bytes = bytes + length;
    return key;
}

/* Recognises structures among the parameters, for as long as the layout lives. Without memory none is recognised. */
static void find_structs(struct spw_layout *l, const char *name)
{
    struct spw_struct *structs = NULL, found;
    for (unsigned i = 0; i < l->span_count; i++) {
        if (!spw_struct_recognise(name, l->params, l->param_count, l->spans[i], &found))
            continue;
        if (!structs && !(structs = calloc(l->span_count, sizeof(*structs))))
            return;
        structs[l->struct_count++] = found;
    }
    l->structs = structs;
}

static struct shared *make_shared(const struct params *p, const char *name, const char *key, size_t key_bytes)
{
    const size_t words = count_of(p, is_word), spans = count_of(p, is_span);
    const size_t room = (key_bytes + sizeof(uint16_t) - 1) / sizeof(uint16_t) * sizeof(uint16_t);
    struct shared *s = calloc(1, sizeof *s + room + (words + spans) * sizeof(uint16_t));
    if (!s)
        return NULL;
    struct spw_param *params = memcpy(s + 1, key, key_bytes);
    uint16_t *indexes = (uint16_t *)((char *)params + room);
    fill_layout(&s->layout, p, params, indexes, indexes + words);
    s->layout.places = make_places(&s->layout);
    if (name)
        find_structs(&s->layout, name);
    s->layout.plain = !s->layout.span_count;
    s->watched = s->layout;
    s->watched.plain = false;
    s->watched.watched = true;
    HASH_ADD_KEYPTR(hh, layouts, params, key_bytes, s);
    if (!s->lost)
        return s;
    free((void *)s->layout.places);
    free((void *)s->layout.structs);
    free(s);
    return NULL;
}

/* Returns the watched or the unwatched layout of a pair; they lie side by side. */
static const struct spw_layout *twin_of(const struct spw_layout *layout, bool watched)
{
    return layout + watched - layout->watched;
}

/* Returns the single object for these parameters. It is for functions of that name alone if they have spans or the name
 * says what a parameter is. NULL: out of memory. */
static const struct spw_layout *share_locked(const struct params *p, const char *name)
{
    if (p->count == 0)
        return empty_layout;

    struct shared *s;
    size_t bytes;
    char *key = make_key(p, count_of(p, is_span) || p->numbers ? name : NULL, &bytes);
    if (!key)
        return NULL;
    HASH_FIND(hh, layouts, key, bytes, s);
    if (!s)
        s = make_shared(p, name, key, bytes);
    free(key);
    return s ? &s->layout : NULL;
}

/* ---- the table of functions ---- */

/* Returns the slot of f, or the empty one where it belongs. Tables are at most half full, so there is one. */
static struct spw_layout_slot *table_slot(struct spw_layout_table *t, CUfunction f)
{
    for (size_t i = spw_layout_hash(f);; i++) {
        struct spw_layout_slot *s = &t->slots[i & t->mask];
        CUfunction key = atomic_load_explicit(&s->key, memory_order_acquire);
        if (key == f || !key)
            return s;
    }
}

static const struct spw_layout *table_get(CUfunction f)
{
    struct spw_layout_table *t = atomic_load_explicit(&spw_layout_functions, memory_order_acquire);
    if (!t)
        return NULL;
    struct spw_layout_slot *s = table_slot(t, f);
    if (!atomic_load_explicit(&s->key, memory_order_acquire))
        return NULL;
    return atomic_load_explicit(&s->layout, memory_order_acquire);
}

static bool table_put_locked(struct spw_layout_table *t, CUfunction f, const struct spw_layout *layout)
{
    struct spw_layout_slot *s = table_slot(t, f);
    bool fresh = !atomic_load_explicit(&s->key, memory_order_relaxed);
    atomic_store_explicit(&s->layout, layout, memory_order_release);
    atomic_store_explicit(&s->key, f, memory_order_release);
    return fresh;
}

/* Replaces the table by one with room for twice as many functions as are remembered. */
static int table_grow_locked(void)
{
    struct spw_layout_table *old = atomic_load_explicit(&spw_layout_functions, memory_order_relaxed);
    size_t live = 0, slots = 1024;
    for (size_t i = 0; old && i <= old->mask; i++)
        live += atomic_load_explicit(&old->slots[i].layout, memory_order_relaxed) != NULL;
    while (slots < 4 * live)
        slots *= 2;

    struct spw_layout_table *t = calloc(1, sizeof *t + slots * sizeof *t->slots);
    if (!t)
        return -ENOMEM;
    t->mask = slots - 1;
    for (size_t i = 0; old && i <= old->mask; i++) {
        const struct spw_layout *l = atomic_load_explicit(&old->slots[i].layout, memory_order_relaxed);
        if (l)
            table_put_locked(t, atomic_load_explicit(&old->slots[i].key, memory_order_relaxed), l);
    }
    t->outgrown = old;
    slots_used = live;
    atomic_store_explicit(&spw_layout_functions, t, memory_order_release);
    return 0;
}

/* If a layout cannot be remembered, the driver is asked again, which only costs time. */
static void remember_locked(CUfunction f, const struct spw_layout *layout)
{
    struct spw_layout_table *t = atomic_load_explicit(&spw_layout_functions, memory_order_relaxed);
    if (!t || 2 * (slots_used + 1) > t->mask + 1) {
        if (table_grow_locked() < 0)
            return;
        t = atomic_load_explicit(&spw_layout_functions, memory_order_relaxed);
    }
    slots_used += table_put_locked(t, f, layout);
}

static void forget_locked(const void *handle)
{
    struct spw_layout_table *t = atomic_load_explicit(&spw_layout_functions, memory_order_relaxed);
    if (!t)
        return;
    struct spw_layout_slot *s = table_slot(t, (CUfunction)(uintptr_t)handle);
    if (atomic_load_explicit(&s->key, memory_order_relaxed))
        atomic_store_explicit(&s->layout, NULL, memory_order_release);
}

const struct spw_layout *spw_layout_find(CUfunction f)
{
    const struct spw_layout *layout = f ? table_get(f) : unknown_layout;
    if (layout || !spw_layout_supported())
        return layout ? layout : unknown_layout;

    struct origin *o;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    HASH_FIND_PTR(origins, &f, o);
    bool told = o, kernel = o && o->kernel;
    spw_mutex_unlock(&mutex);

    struct params p = {NULL};
    int r = told ? ask_all(f, kernel, &p) : -ENODATA;
    if (r < 0)
        r = ask_both(f, &p);
    if (r == 0) {
        const char *name = ask_name(f, kernel);
        name = name || told ? name : ask_name(f, true);
        p.numbers = spw_casts_recognise(name, p.list, p.count);
        spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
        layout = share_locked(&p, name);
        if (layout) {
            layout = twin_of(layout, watches);
            remember_locked(f, layout);
        }
        spw_mutex_unlock(&mutex);
    }
    free(p.list);
    return layout ? layout : unknown_layout;
}

/* ---- watching ---- */

static void watch_slot(struct spw_layout_slot *s, bool watched)
{
    const struct spw_layout *l = atomic_load_explicit(&s->layout, memory_order_relaxed);
    if (l)
        atomic_store_explicit(&s->layout, twin_of(l, watched), memory_order_release);
}

static void watch(bool watched)
{
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    watches = watched;
    struct spw_layout_table *t = atomic_load_explicit(&spw_layout_functions, memory_order_relaxed);
    for (size_t i = 0; t && i <= t->mask; i++)
        watch_slot(&t->slots[i], watched);
    spw_mutex_unlock(&mutex);
}

void spw_layout_watch_all(void)
{
    watch(true);
}

void spw_layout_watch_none(void)
{
    watch(false);
}

static void watch_one(CUfunction f, bool watched)
{
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    struct spw_layout_table *t = atomic_load_explicit(&spw_layout_functions, memory_order_relaxed);
    if (t)
        watch_slot(table_slot(t, f), watched);
    spw_mutex_unlock(&mutex);
}

void spw_layout_watch(CUfunction f)
{
    watch_one(f, true);
}

void spw_layout_unwatch(CUfunction f)
{
    watch_one(f, false);
}

/* ---- where handles come from ---- */

static struct origin *find_origin_locked(const void *handle)
{
    struct origin *o;
    HASH_FIND_PTR(origins, &handle, o);
    return o;
}

/* It does no harm if an origin cannot be remembered: then both questions are asked. */
static void note(const void *handle, const void *owner, bool kernel)
{
    if (!handle)
        return;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    struct origin *from = owner ? find_origin_locked(owner) : NULL;
    if (from)
        owner = from->owner;

    struct origin *o = find_origin_locked(handle);
    if (!o)
        SPW_TABLE_NEW(origins, handle, o, .handle = handle);
    if (!o || o->owner != owner || o->kernel != kernel)
        forget_locked(handle);
    if (o) {
        o->owner = owner;
        o->kernel = kernel;
    }
    spw_mutex_unlock(&mutex);
}

void spw_layout_note_function(CUfunction f, const void *owner)
{
    note(f, owner, false);
}

void spw_layout_note_kernel(CUkernel kernel, const void *owner)
{
    note(kernel, owner, true);
}

void spw_layout_note_part(CUmodule module, CUlibrary library)
{
    struct part *p;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    for (p = parts; p; p = p->next)
        if (p->module == module && p->library == library)
            break;
    if (!p && (p = malloc(sizeof *p))) {
        *p = (struct part){module, library, parts};
        parts = p;
    }
    spw_mutex_unlock(&mutex);
}

static const void *whole_locked(const void *owner)
{
    const struct part *p = parts;
    while (p && p->module != owner)
        p = p->next;
    return p ? p->library : owner;
}

const void *spw_layout_whole(const void *owner)
{
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    const void *whole = whole_locked(owner);
    spw_mutex_unlock(&mutex);
    return whole;
}

bool spw_layout_origin(CUfunction f, const void **ret_owner, bool *ret_is_kernel)
{
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    const struct origin *o = find_origin_locked(f);
    const bool known = o && o->owner;
    if (known) {
        *ret_owner = whole_locked(o->owner);
        *ret_is_kernel = o->kernel;
    }
    spw_mutex_unlock(&mutex);
    return known;
}

static bool belongs_locked(const struct origin *o, const void *owner)
{
    if (o->owner == owner)
        return true;
    for (const struct part *p = parts; p; p = p->next)
        if (p->module == o->owner && p->library == owner)
            return true;
    return false;
}

static void forget_owned_locked(const void *owner)
{
    struct origin *o, *next;
    HASH_ITER(hh, origins, o, next)
    {
        if (!belongs_locked(o, owner))
            continue;
        forget_locked(o->handle);
        SPW_TABLE_REMOVE(origins, o);
    }
    for (struct part **link = &parts; *link;) {
        struct part *p = *link;
        if (p->library != owner && p->module != owner) {
            link = &p->next;
            continue;
        }
        *link = p->next;
        free(p);
    }
}

static void forget_all_locked(void)
{
    struct spw_layout_table *t = atomic_load_explicit(&spw_layout_functions, memory_order_relaxed);
    for (size_t i = 0; t && i <= t->mask; i++)
        atomic_store_explicit(&t->slots[i].layout, NULL, memory_order_release);

    SPW_TABLE_FREE(origins);
    while (parts) {
        struct part *p = parts;
        parts = p->next;
        free(p);
    }
}

/* It is not known which functions of unknown origin belong to the owner, so all of them are forgotten. */
void spw_layout_forget(const void *owner)
{
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    struct spw_layout_table *t = atomic_load_explicit(&spw_layout_functions, memory_order_relaxed);
    for (size_t i = 0; t && i <= t->mask; i++) {
        CUfunction key = atomic_load_explicit(&t->slots[i].key, memory_order_relaxed);
        if (key && !find_origin_locked(key))
            atomic_store_explicit(&t->slots[i].layout, NULL, memory_order_release);
    }
    forget_owned_locked(owner);
    spw_mutex_unlock(&mutex);
}

bool spw_layout_remembers(CUfunction f)
{
    return table_get(f) != NULL;
}

void spw_layout_forget_all(void)
{
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    forget_all_locked();
    spw_mutex_unlock(&mutex);
}

/* ---- names ---- */

const char *spw_function_name(CUfunction f, char *buffer, size_t size)
{
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    struct origin *o = find_origin_locked(f);
    bool kernel = o && o->kernel;
    spw_mutex_unlock(&mutex);

    const char *name = f ? ask_name(f, kernel) : NULL;
    if (!name && f && !o)
        name = ask_name(f, true);
    if (name)
        (void)snprintf(buffer, size, "%s", name);
    else
        (void)snprintf(buffer, size, "function %p", (void *)f);
    return buffer;
}
