/* kernel_profile.c - finds the process's profile, identifies kernels in it, and writes what was learned. */
#include "kernel_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "layout.h"
#include "lock.h"
#include "log.h"
#include "profile_file.h"
#include "settings.h"
#include "tables.h"
#include "twins.h"

enum { PATH = 4096, NAME = 4096 };

static struct spw_profile *profile; /* NULL: not opened yet, or there is none */
static bool is_open, is_changed;
static char identity[SPW_PROFILE_IDENTITY], path[PATH];

struct spw_kernel_profile_counts spw_kernel_profile_counts;

/* ---- which profile it is ---- */

/* What is learned on one device, with one driver, may not hold on another. */
static bool identify(void)
{
    int driver = 0, count = 0;
    if (SPW_ASK_QUIETLY(cuDriverGetVersion, &driver) != CUDA_SUCCESS ||
        SPW_ASK_QUIETLY(cuDeviceGetCount, &count) != CUDA_SUCCESS)
        return false;
    int length = snprintf(identity, sizeof(identity), "spillway " SPILLWAY_VERSION ", CUDA driver %d", driver);
    for (int i = 0; i < count; i++) {
        char name[128] = "";
        int major = 0, minor = 0;
        if (SPW_ASK_QUIETLY(cuDeviceGetName, name, sizeof(name), (CUdevice)i) != CUDA_SUCCESS ||
            SPW_ASK_QUIETLY(cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, (CUdevice)i) !=
                CUDA_SUCCESS ||
            SPW_ASK_QUIETLY(cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, (CUdevice)i) !=
                CUDA_SUCCESS)
            return false;
        length += snprintf(identity + length, sizeof(identity) - (size_t)length, ", %s (%d.%d)", name, major, minor);
        if (length < 0 || (size_t)length >= sizeof(identity))
            return false;
    }
    return true;
}

static void say_unused(int r, const char *other)
{
    if (r == -ESTALE)
        spw_warn("the profile %s is not used: it is of %s, and this is %s" SPW_SEE("profile"), path, other, identity);
    else if (r == -EBADMSG)
        spw_warn("the profile %s is not used: it is damaged, or not a profile" SPW_SEE("profile"), path);
    else
        spw_warn("the profile %s is not used: it cannot be read (%s)" SPW_SEE("profile"), path, strerror(-r));
}

static void open_profile(void)
{
    char other[SPW_PROFILE_IDENTITY];
    const struct spw_settings *settings = spw_settings_get();
    is_open = true;
    if (!settings->profile || !settings->recompute || !identify())
        return;
    if (spw_profile_path(settings->profile_file, identity, path, sizeof(path)) < 0) {
        spw_info("no profile is kept: neither XDG_CACHE_HOME nor HOME is set");
        return;
    }
    profile = spw_profile_create();
    const int r = profile ? spw_profile_load(profile, path, identity, other) : -ENOMEM;
    if (r < 0 && r != -ENOENT && r != -ENOMEM)
        say_unused(r, other);
    spw_kernel_profile_counts.read = profile ? spw_profile_count(profile) : 0;
    if (spw_kernel_profile_counts.read)
        spw_info("the profile %s knows %zu classes of launches", path, spw_profile_count(profile));
}

static struct spw_profile *the_profile(void)
{
    if (!is_open)
        open_profile();
    return profile;
}

bool spw_kernel_profile_is_there_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return the_profile() && spw_kernel_profile_counts.read;
}

/* ---- classes ---- */

/* Returns false for a name that was truncated, and for a function without a name: that is called by its address, with a
 * space in it, which no mangled name has. */
static bool key_of(CUfunction function, uint64_t places, unsigned hits, struct spw_profile_key *ret_key)
{
    char name[NAME];
    *ret_key = (struct spw_profile_key){.places = places, .hits = hits < SPW_PROFILE_HITS ? hits : SPW_PROFILE_HITS};
    const size_t length = strlen(spw_function_name(function, name, sizeof(name)));
    if (strchr(name, ' ') || length + 1 >= sizeof(name) || !spw_twin_image_hash_locked(function, &ret_key->image))
        return false;
    spw_hash_host(name, length, &ret_key->name);
    return true;
}

const struct spw_profile_class *spw_kernel_profile_find_locked(CUfunction function, uint64_t places, unsigned hits)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_profile_key key;
    if (!spw_kernel_profile_is_there_locked() || !key_of(function, places, hits, &key))
        return NULL;
    return spw_profile_find(profile, &key);
}

void spw_kernel_profile_note_locked(CUfunction function, uint64_t places, unsigned hits, struct spw_profile_class *class)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (the_profile() && key_of(function, places, hits, &class->key))
        is_changed |= spw_profile_put(profile, class);
}

/* ---- iterations ---- */

static struct number {
    CUfunction function;
    uint64_t number;
    bool lost;
    UT_hash_handle hh;
} * numbers;

static uint64_t number_of(CUfunction function)
{
    struct spw_profile_key key;
    struct spw_hash hash;
    if (!the_profile() || !key_of(function, 0, 0, &key))
        return (uint64_t)(uintptr_t)function;
    spw_hash_host(&key, sizeof(key), &hash);
    return hash.word[0];
}

uint64_t spw_kernel_profile_number_locked(CUfunction function)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct number *it;
    HASH_FIND(hh, numbers, &function, sizeof(function), it);
    if (it)
        return it->number;
    const uint64_t number = number_of(function);
    SPW_TABLE_NEW(numbers, function, it, .function = function, .number = number);
    return number;
}

void spw_kernel_profile_sweep_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    SPW_TABLE_FREE(numbers);
}

const struct spw_profile_iterations *spw_kernel_profile_iterations_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return the_profile() ? spw_profile_iterations_of(profile) : NULL;
}

void spw_kernel_profile_note_iteration_locked(const struct spw_profile_iteration *iteration)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (the_profile())
        is_changed |= spw_profile_iterations_put(spw_profile_iterations_of(profile), iteration);
}

/* ---- writing ---- */

static void say_not_written(int r)
{
    static int warned;
    spw_warn_once(&warned, "the profile %s cannot be written (%s): the next run learns anew" SPW_SEE("profile"), path,
                  strerror(-r));
}

void spw_kernel_profile_write_unlocking(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_profile *copy = is_changed && profile ? spw_profile_create() : NULL;
    if (!copy)
        return;
    spw_profile_put_all(copy, profile);
    is_changed = false;
    spw_unlock();
    const int r = spw_profile_save(copy, path, identity);
    spw_profile_destroy(copy);
    spw_lock();
    if (r < 0)
        say_not_written(r);
    else
        spw_kernel_profile_counts.written++;
}

void spw_kernel_profile_reset(void)
{
    spw_profile_destroy(profile);
    SPW_TABLE_FREE(numbers);
    profile = NULL;
    is_open = is_changed = false;
    spw_kernel_profile_counts = (struct spw_kernel_profile_counts){0};
}
