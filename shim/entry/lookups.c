/* lookups.c - answers a program that looks functions of NCCL or cuBLAS up by name, as JAX does, with those of nccl.c and
 * cublas.c. Every other look-up goes on to the loader unchanged.
 *
 * Everything in the process uses an exported dlsym(), so this one interferes as little as possible. It jumps to the next
 * dlsym(), so that the loader sees the original caller, from which RTLD_NEXT and RTLD_DEFAULT count. The next one is that
 * of another preloaded library, if there is one. Sanitizers call dlsym() before their shadow memory exists, so code that
 * runs by then is not instrumented and calls nothing but the loader. */
#include "cublas.h"
#include "nccl.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "loader.h"

/* The dlsym() after ours, another library's or the C library's. Set once, to the same value by all threads. */
SPW_OURS spw_look_up *spw_lookups_next;

SPW_BARE static void find_next(void)
{
    spw_look_up *found;
    if (__atomic_load_n(&spw_lookups_next, __ATOMIC_ACQUIRE))
        return;
    found = (spw_look_up *)spw_loader()(RTLD_NEXT, "dlsym");
    __atomic_store_n(&spw_lookups_next, found ? found : spw_loader(), __ATOMIC_RELEASE);
}

SPW_BARE static bool begins_with(const char *name, const char *beginning)
{
    if (!name)
        return false;
    for (; *beginning; name++, beginning++)
        if (*name != *beginning)
            return false;
    return true;
}

/* Called by dlsym() below, with its arguments. NULL: the look-up goes on unchanged. */
void *spw_lookups_answer(void *handle, const char *name) SPW_OURS;
SPW_BARE __attribute__((used)) void *spw_lookups_answer(void *handle, const char *name)
{
    find_next();
    const bool is_nccl = begins_with(name, "nccl");
    if (!is_nccl && !begins_with(name, "cublas"))
        return NULL;
    if (handle == RTLD_DEFAULT || handle == RTLD_NEXT) /* finds us by itself, or is meant to pass us by */
        return NULL;
    void *function = spw_loader()(handle, name);
    return !function ? NULL : is_nccl ? spw_nccl_instead_of(function, name) : spw_cublas_instead_of(function, name);
}

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        ".p2align 4\n"
        "dlsym:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    call spw_lookups_answer\n"
        "    addq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    testq %rax, %rax\n"
        "    jne 1f\n"
        "    jmp *spw_lookups_next(%rip)\n"
        "1:  ret\n"
        "    .cfi_endproc\n"
        "    .size dlsym, . - dlsym\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, %function\n"
        ".p2align 2\n"
        "dlsym:\n"
        "    .cfi_startproc\n"
        "    hint #34\n" /* bti c */
        "    stp x29, x30, [sp, #-32]!\n"
        "    .cfi_def_cfa_offset 32\n"
        "    .cfi_offset x29, -32\n"
        "    .cfi_offset x30, -24\n"
        "    mov x29, sp\n"
        "    stp x0, x1, [sp, #16]\n"
        "    bl spw_lookups_answer\n"
        "    mov x16, x0\n"
        "    ldp x0, x1, [sp, #16]\n"
        "    ldp x29, x30, [sp], #32\n"
        "    .cfi_restore x30\n"
        "    .cfi_restore x29\n"
        "    .cfi_def_cfa_offset 0\n"
        "    cbnz x16, 1f\n"
        "    adrp x16, spw_lookups_next\n"
        "    ldr x16, [x16, :lo12:spw_lookups_next]\n"
        "    br x16\n"
        "1:  mov x0, x16\n"
        "    ret\n"
        "    .cfi_endproc\n"
        "    .size dlsym, . - dlsym\n");
#endif
