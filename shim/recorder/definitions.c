/* definitions.c - asks the driver and the loader what things are called, once each. */
#include "definitions.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "grow.h"
#include "ask.h"
#include "capture.h"
#include "context.h"
#include "driver.h"
#include "handle_ids.h"
#include "layout.h"
#include "iteration_finder.h"
#include "ledger.h"
#include "link_speed.h"
#include "plan_tuning.h"
#include "settings.h"

/* Guarded by the recorder lock. */
static struct spw_handle_ids streams, events, functions;
struct spw_function_met spw_functions_met[SPW_FUNCTIONS_MET];

/* ---- devices ---- */

struct device_facts {
    char name[256];
    size_t total, free;
};

/* Written without the lock before the device's bit in `asked` is set. */
static struct device_facts device_facts[SPW_MAX_DEVICES];
static atomic_ullong asked;
static uint64_t told; /* bit per device: its record is written; recorder lock */

/* Likewise; the thread that sets the bit in `measuring` measures. */
static struct spw_record_machine machines[SPW_MAX_DEVICES];
static atomic_ullong measuring, measured;
static uint64_t told_machine; /* likewise */

/* Measures what a run within a budget would know of the device. In such a run, copies of the engine are measured instead;
 * there are none if kernels are tried for a trace. */
static void ask_machine(uint32_t device, uint64_t free_bytes)
{
    struct spw_record_machine *m = &machines[device];
    struct spw_bandwidth link;
    const struct spw_settings *settings = spw_settings_get();
    if ((settings->mode != SPW_MODE_TRACE && !settings->probe) || spw_anything_captures() ||
        atomic_fetch_or(&measuring, 1ull << device) >> device & 1)
        return;
    *m = (struct spw_record_machine){.device = device, .move_ns = (uint64_t)(spw_plan_move_us * 1000)};
    if (spw_granularity((int)device, &m->granule_bytes) < 0)
        return;
    m->small_bytes = spw_small_bytes(m->granule_bytes);
    if (spw_link_speed(free_bytes, &link)) {
        m->d2h_bytes_per_s = (uint64_t)(link.d2h_bytes_per_us * 1e6);
        m->h2d_bytes_per_s = (uint64_t)(link.h2d_bytes_per_us * 1e6);
        m->duplex_ppm = (uint32_t)(link.duplex_share * 1e6);
    }
    atomic_fetch_or(&measured, 1ull << device);
}

/* Asks about the device, whose context is current. */
static void ask_device(uint32_t device)
{
    if (device >= SPW_MAX_DEVICES || atomic_load(&asked) >> device & 1)
        return;
    struct device_facts f = {.name = ""};
    struct spw_context_guard guard; /* another stream may be capturing, which forbids this thread to ask */
    if (spw_context_enter(&guard, NULL) < 0)
        return;
    (void)SPW_ASK_QUIETLY(cuDeviceGetName, f.name, sizeof(f.name), (CUdevice)device);
    (void)SPW_ASK_QUIETLY(cuMemGetInfo_v2, &f.free, &f.total);
    ask_machine(device, f.free);
    spw_context_leave(&guard);
    device_facts[device] = f; /* two threads write the same, except for the free bytes */
    atomic_fetch_or(&asked, 1ull << device);
}

static void define_machine_locked(uint32_t device)
{
    if (device >= SPW_MAX_DEVICES || told_machine >> device & 1 || !(atomic_load(&measured) >> device & 1))
        return;
    told_machine |= (uint64_t)1 << device;
    const struct spw_record r = {.kind = SPW_RECORD_MACHINE, .machine = machines[device]};
    spw_record_put_locked(&r);
}

void spw_define_device_locked(uint32_t device)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    define_machine_locked(device);
    if (device >= SPW_MAX_DEVICES || told >> device & 1 || !(atomic_load(&asked) >> device & 1))
        return;
    told |= (uint64_t)1 << device;
    const struct device_facts *f = &device_facts[device];
    bool limited = spw_settings_get()->budget.every.kind != SPW_AMOUNT_UNSET ||
                   spw_settings_get()->budget.device[device].kind != SPW_AMOUNT_UNSET;
    struct spw_record r = {
        .kind = SPW_RECORD_DEVICE,
        .device = {.device = device,
                   .name = f->name,
                   .total_bytes = f->total,
                   .free_bytes = f->free,
                   .budget_bytes =
                       limited ? spw_settings_budget_bytes(spw_settings_get(), (int)device, f->total, f->free) : 0}};
    spw_record_put_locked(&r);
}

/* ---- streams ---- */

_Thread_local struct spw_stream_met spw_streams_met[SPW_STREAMS_MET] __attribute__((tls_model("initial-exec")));
atomic_ullong spw_facts_generation;
static _Thread_local char thread_mark; /* its address tells threads apart */

static bool is_default(CUstream handle)
{
    return handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

static void ask_stream(struct spw_stream_facts *f, CUstream stream)
{
    CUcontext current = NULL;
    CUdevice device = 0;
    *f = (struct spw_stream_facts){.handle = stream};
    (void)spw_driver.cuCtxGetCurrent(&current);
    f->context = current;
    if (is_default(stream))
        f->owner = (uint64_t)(uintptr_t)current * 31 + (stream == CU_STREAM_PER_THREAD ? (uintptr_t)&thread_mark : 0);
    else if (!spw_driver.cuStreamGetCtx || spw_driver.cuStreamGetCtx(stream, &f->context) != CUDA_SUCCESS)
        f->context = NULL;
    struct spw_context_guard guard;
    if (!f->context || spw_context_enter(&guard, f->context) < 0)
        return;
    if (spw_driver.cuCtxGetDevice(&device) == CUDA_SUCCESS)
        f->device = (uint32_t)device;
    if (!is_default(stream)) {
        (void)SPW_ASK_QUIETLY(cuStreamGetFlags, stream, &f->flags);
        (void)SPW_ASK_QUIETLY(cuStreamGetPriority, stream, &f->priority);
    }
    ask_device(f->device);
    spw_context_leave(&guard);
}

void spw_stream_ask(struct spw_stream_met *met, CUstream handle)
{
    const uint64_t now = atomic_load_explicit(&spw_facts_generation, memory_order_relaxed);
    ask_stream(&met->facts, handle);
    met->generation = now;
}

void spw_stream_facts_changed(void)
{
    for (unsigned i = 0; i < SPW_STREAMS_MET; i++)
        if (is_default(spw_streams_met[i].facts.handle))
            spw_streams_met[i].facts.handle = NULL;
}

uint32_t spw_stream_find_number_locked(struct spw_stream_facts *f)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    bool new_one;
    const uint32_t id = f->number = spw_handle_id_of(&streams, f->handle, f->owner, &new_one);
    if (!new_one)
        return id;
    spw_define_device_locked(f->device);
    struct spw_record r = {.kind = SPW_RECORD_STREAM,
                           .stream = {.id = id,
                                      .device = f->device,
                                      .flags = f->flags,
                                      .priority = f->priority,
                                      .legacy = f->handle == CU_STREAM_LEGACY,
                                      .per_thread = f->handle == CU_STREAM_PER_THREAD}};
    spw_record_put_locked(&r);
    return id;
}

void spw_stream_number_gone_locked(CUstream stream)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    atomic_fetch_add_explicit(&spw_facts_generation, 1, memory_order_relaxed);
    spw_handle_id_gone(&streams, stream, 0);
}

/* ---- events ---- */

uint32_t spw_event_number_locked(CUevent event)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    bool new_one;
    return spw_handle_id_of(&events, event, 0, &new_one);
}

void spw_event_number_gone_locked(CUevent event)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    spw_handle_id_gone(&events, event, 0);
}

/* ---- kernels ---- */

/* By number; NULL if they say nothing. Those of kernels that are gone stay, since their numbers do. */
static struct spw_kernel_types **function_types;
static uint32_t function_types_room;

static void note_types(uint32_t number, const struct spw_kernel_types *types)
{
    if (SPW_GROW(function_types, function_types_room, number + 1) < 0)
        return;
    struct spw_kernel_types *copy = spw_kernel_types_say_any(types) ? malloc(sizeof(*copy)) : NULL;
    if (copy)
        *copy = *types;
    free(function_types[number]);
    function_types[number] = copy;
}

/* Numbers begin again. */
static void forget_types(void)
{
    for (uint32_t i = 0; i < function_types_room; i++)
        free(function_types[i]);
    free(function_types);
    function_types = NULL;
    function_types_room = 0;
}

uint32_t spw_function_find_locked(CUfunction f)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    const uint32_t number = spw_handle_id_find(&functions, f, 0);
    spw_functions_met[spw_function_place(f) - spw_functions_met] = (struct spw_function_met){
        .function = f, .number = number, .types = number && number < function_types_room ? function_types[number] : NULL};
    return number;
}

void spw_function_ask(CUfunction f, struct spw_function_facts *ret)
{
    const struct spw_layout *layout = spw_layout_of(f);
    ret->function = f;
    ret->parsed = layout->known;
    ret->types = (struct spw_kernel_types){.tensors = -1};
    if (strlen(spw_function_name(f, ret->name, sizeof(ret->name))) < sizeof(ret->name) - 1)
        spw_kernel_types_read(ret->name, layout, &ret->types);
}

uint32_t spw_function_number_locked(const struct spw_function_facts *facts)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    bool new_one;
    uint32_t id = spw_handle_id_of(&functions, facts->function, 0, &new_one);
    struct spw_record r = {.kind = SPW_RECORD_FUNCTION,
                           .function = {.id = id, .name = facts->name, .parsed = facts->parsed}};
    if (new_one) {
        note_types(id, &facts->types);
        spw_record_put_locked(&r);
        spw_iteration_finder_function(id, facts->name);
    }
    return id;
}

void spw_function_numbers_gone_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    spw_handle_ids_clear(&functions);
    memset(spw_functions_met, 0, sizeof(spw_functions_met));
}

/* A context takes its streams, events and modules with it. */
void spw_context_numbers_gone_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    atomic_fetch_add_explicit(&spw_facts_generation, 1, memory_order_relaxed);
    spw_handle_ids_clear(&streams);
    spw_handle_ids_clear(&events);
    spw_function_numbers_gone_locked();
}

/* ---- stacks, and the files that they point into ---- */

struct module {
    uint64_t start, end;
};

static struct module *modules;
static uint32_t module_count, module_room, last_module;
static unsigned long long unloads; /* count of unloaded libraries; a change makes all addresses doubtful */

static bool is_known(uint64_t address)
{
    for (uint32_t i = 0; i < module_count; i++)
        if (address - modules[i].start < modules[i].end - modules[i].start)
            return true;
    return false;
}

static uint32_t find_build_id(const struct dl_phdr_info *info, const uint8_t **ret_id)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;
        while (p->p_type == PT_NOTE && end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)at;
            const char *name = at + sizeof(*n), *id = name + ((n->n_namesz + 3) & ~3u);
            if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(name, "GNU", 4) && n->n_descsz <= 64) {
                *ret_id = (const uint8_t *)id;
                return n->n_descsz;
            }
            at = id + ((n->n_descsz + 3) & ~3u);
        }
    }
    return 0;
}

static void add_module(const struct dl_phdr_info *info, const ElfW(Phdr) * p)
{
    if (SPW_GROW(modules, module_room, module_count + 1) < 0)
        return;
    char own_path[SPW_RECORD_TEXT + 1];
    const char *path = info->dlpi_name;
    struct spw_record r = {.kind = SPW_RECORD_MODULE};
    if (!path[0]) { /* the program itself */
        ssize_t n = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);
        own_path[n > 0 ? n : 0] = '\0';
        path = own_path;
    }
    r.module.id = ++last_module;
    r.module.start = info->dlpi_addr + p->p_vaddr;
    r.module.end = r.module.start + p->p_memsz;
    r.module.file_offset = p->p_offset;
    r.module.path = path;
    r.module.build_id_bytes = find_build_id(info, &r.module.build_id);
    modules[module_count++] = (struct module){r.module.start, r.module.end};
    spw_record_put_locked(&r);
}

/* Adds modules that hold a frame of the stack and are not known yet. */
static int look_at_module(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct spw_stack *stack = context;
    if (info->dlpi_subs != unloads) {
        unloads = info->dlpi_subs;
        module_count = 0;
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + p->p_vaddr;
        for (uint32_t k = 0; p->p_type == PT_LOAD && p->p_flags & PF_X && k < stack->count; k++)
            if (stack->frames[k] - start < p->p_memsz && !is_known(stack->frames[k]))
                add_module(info, p);
    }
    return 0;
}

void spw_define_site_locked(uint32_t site, const struct spw_stack *stack)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    dl_iterate_phdr(look_at_module, (void *)(uintptr_t)stack);
    struct spw_record r = {.kind = SPW_RECORD_SITE, .site = {.id = site, .count = stack->count, .frames = stack->frames}};
    spw_record_put_locked(&r);
}

/* ---- the process ---- */

static void read_command(char *command, size_t size)
{
    FILE *f = fopen("/proc/self/cmdline", "re");
    size_t n = f ? fread(command, 1, size - 1, f) : 0;
    if (f)
        fclose(f);
    while (n && command[n - 1] == '\0')
        n--;
    for (size_t i = 0; i < n; i++)
        if (command[i] == '\0')
            command[i] = ' ';
    command[n] = '\0';
}

void spw_define_process_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_recorder_lock);
    char command[SPW_RECORD_TEXT + 1], host[256] = "";
    struct timespec now;
    const struct spw_settings *settings = spw_settings_get();
    read_command(command, sizeof(command));
    (void)gethostname(host, sizeof(host) - 1);
    clock_gettime(CLOCK_REALTIME, &now);
    struct spw_record r = {.kind = SPW_RECORD_PROCESS,
                           .process = {.pid = (uint32_t)getpid(),
                                       .rank = (uint32_t)strtoul(spw_settings_rank(), NULL, 10),
                                       .started_unix_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
                                       .mode = settings->probe                    ? "trace+probe"
                                               : settings->mode == SPW_MODE_TRACE ? "trace"
                                                                                  : "swap+trace",
                                       .version = SPILLWAY_VERSION,
                                       .command = command,
                                       .host = host}};
    spw_record_put_locked(&r);
}

void spw_definitions_reset(void)
{
    spw_context_numbers_gone_locked();
    streams = events = functions = (struct spw_handle_ids){0};
    forget_types();
    atomic_store(&asked, 0);
    atomic_store(&measuring, 0);
    atomic_store(&measured, 0);
    told = told_machine = 0;
    module_count = last_module = 0;
    atomic_fetch_add(&spw_facts_generation, 1);
}
