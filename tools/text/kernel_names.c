/* kernel_names.c - turns the symbols of kernels into names for people: full ones, and short ones that distinguish a
 * library's kernels, which are templates with everything important among their arguments. */
#include "kernel_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANONYMOUS "(anonymous namespace)"

/* The compiler's own demangler, from its C++ library. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

char *kernel_readable_name(const char *symbol)
{
    int status;
    char *full = __cxa_demangle(symbol, NULL, NULL, &status);
    if (!full)
        return strdup(symbol);
    int depth = 0;
    for (char *at = full; *at; at++) {
        depth += (*at == '<') - (*at == '>');
        if (*at == '(' && depth == 0 && strncmp(at, "(anonymous", 10) != 0) {
            *at = '\0';
            break;
        }
    }
    if (!strncmp(full, "void ", 5))
        memmove(full, full + 5, strlen(full + 5) + 1);
    return full;
}

/* ---- short names ---- */

struct word {
    const char *start;
    size_t length;
};

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool is_word(struct word w, const char *text)
{
    return w.length == strlen(text) && !strncmp(w.start, text, w.length);
}

/* Returns true for words of the language, and for types that say how a kernel computes and not what. */
static bool says_nothing(struct word w)
{
    static const char *const words[] = {"bool",    "char",     "signed",   "unsigned",     "short",    "int",      "long",
                                        "float",   "double",   "void",     "const",        "volatile", "operator", "lambda",
                                        "true",    "false",    "Half",     "__half",       "complex",  "BFloat16", "array",
                                        "__bf16",  "auto",     "decltype", "size_t",       "int8_t",   "uint8_t",  "int32_t",
                                        "int64_t", "uint32_t", "half2",    "__nv_bfloat16"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (is_word(w, words[i]))
            return true;
    return isdigit((unsigned char)*w.start);
}

/* Returns true for the words that authors of kernels use: MulFunctor, GeluCUDAKernelImpl, direct_copy_kernel_cuda. */
static bool names_what_is_done(struct word w)
{
    static const char *const parts[] = {"unctor", "Impl", "_impl", "kernel", "Kernel"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (memmem(w.start, w.length, parts[i], strlen(parts[i])))
            return true;
    return false;
}

/* Skips the parameters of a function that is named among the arguments: `at` is their '('. */
static const char *behind_parameters(const char *at)
{
    int depth = 0;
    for (; *at; at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth == 0)
            return at + 1;
    }
    return at;
}

/* Returns the last word among a template's arguments that names what is done, or else the last one that is no plain type;
 * of length 0 if there is none. Name spaces and parameters do not count. */
static struct word telling_word(const char *arguments)
{
    struct word best = {0}, other = {0};
    for (const char *at = arguments; *at;) {
        struct word w = {at, 0};
        while (is_letter(at[w.length]))
            w.length++;
        if (w.length == 0) {
            at = *at == '(' ? behind_parameters(at) : at + 1;
            continue;
        }
        at += w.length;
        if (!strncmp(at, "::", 2) || says_nothing(w))
            continue;
        *(names_what_is_done(w) ? &best : &other) = w;
    }
    return best.length ? best : other;
}

char *kernel_short_name(const char *readable)
{
    const char *first = readable, *at = readable;
    while (*at && *at != '<') {
        const bool is_space = !strncmp(at, ANONYMOUS, strlen(ANONYMOUS));
        const size_t step = is_space ? strlen(ANONYMOUS) : !strncmp(at, "::", 2) ? 2 : 1;
        at += step;
        if (step == 2)
            first = at;
    }
    const struct word inner = telling_word(at);
    char *name = NULL;
    if (at == first) /* a name of another kind */
        return strdup(readable);
    if (asprintf(&name, inner.length ? "%.*s<%.*s>" : "%.*s", (int)(at - first), first, (int)inner.length, inner.start) < 0)
        return NULL;
    return name;
}
