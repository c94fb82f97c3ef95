/* signature.c - parses mangled names by recursive descent, as far as function types go. */
#include "signature.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CANDIDATES = 128, DEPTH = 32 };

struct type {
    bool is_const;            /* the type itself is const */
    enum spw_pointee pointee; /* if it is a pointer */
};

struct reader {
    const char *at;
    struct type seen[CANDIDATES]; /* the types that S_, S0_ … stand for */
    unsigned count, depth;
    bool failed;
};

static struct type fail(struct reader *r)
{
    r->failed = true;
    return (struct type){0};
}

static bool skip(struct reader *r, char c)
{
    const bool is_there = *r->at == c;
    r->at += is_there;
    return is_there;
}

static struct type remember(struct reader *r, struct type t)
{
    if (r->count == CANDIDATES)
        return fail(r);
    r->seen[r->count++] = t;
    return t;
}

static struct type read_type(struct reader *r);

/* Reads a number to the base of 36, behind S or T, up to the underscore; without digits it is 0. */
static unsigned read_index(struct reader *r)
{
    unsigned n = 0;
    if (skip(r, '_'))
        return 0;
    for (; *r->at && *r->at != '_'; r->at++) {
        const char c = *r->at;
        if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z')) || n > CANDIDATES)
            r->failed = true;
        n = n * 36 + (unsigned)(c <= '9' ? c - '0' : c - 'A' + 10);
    }
    r->failed |= !skip(r, '_');
    return n + 1;
}

static void skip_source_name(struct reader *r)
{
    char *name;
    const unsigned long n = strtoul(r->at, &name, 10);
    if (name == r->at || strnlen(name, n) < n)
        r->failed = true;
    else
        r->at = name + n;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Skips a literal: a type and a value. */
static void skip_literal(struct reader *r)
{
    (void)read_type(r);
    while (*r->at && *r->at != 'E' && *r->at != '_')
        r->at++;
    r->failed |= !skip(r, 'E');
}

static void skip_template_arguments(struct reader *r)
{
    while (!r->failed && *r->at && *r->at != 'E') {
        if (skip(r, 'L'))
            skip_literal(r);
        else if (skip(r, 'J'))
            skip_template_arguments(r);
        else if (*r->at == 'X')
            r->failed = true;
        else
            (void)read_type(r);
    }
    r->failed |= !skip(r, 'E');
}

static struct type read_substitution(struct reader *r)
{
    if (*r->at != '_' && !is_digit(*r->at) && !(*r->at >= 'A' && *r->at <= 'Z'))
        return fail(r); /* St and the like are read elsewhere */
    const unsigned n = read_index(r);
    return !r->failed && n < r->count ? r->seen[n] : fail(r);
}

/* Called behind the N. Each prefix is a candidate for substitution, and so is the whole, unless it names a function.
 * *ret_template: template arguments came last. */
static void read_nested(struct reader *r, bool is_function, bool *ret_template)
{
    bool is_old = false;
    while (!r->failed && *r->at && !skip(r, 'E')) {
        *ret_template = false;
        is_old = false;
        if (skip(r, 'S')) {
            if (!skip(r, 't'))
                (void)read_substitution(r);
            is_old = true;
        } else if (skip(r, 'I')) {
            skip_template_arguments(r);
            *ret_template = true;
        } else if (skip(r, 'T')) {
            (void)read_index(r);
        } else if (is_digit(*r->at)) {
            skip_source_name(r);
        } else
            r->failed = true;
        const bool is_whole = *r->at == 'E';
        if (!is_old && !(is_whole && is_function))
            (void)remember(r, (struct type){0});
    }
}

/* Reads a class: its name, and arguments if it is a template. */
static struct type read_class(struct reader *r)
{
    skip_source_name(r);
    struct type t = remember(r, (struct type){0});
    if (!skip(r, 'I'))
        return t;
    skip_template_arguments(r);
    return remember(r, t);
}

static struct type read_pointer(struct reader *r)
{
    const struct type to = read_type(r);
    return remember(r, (struct type){.pointee = to.is_const ? SPW_POINTEE_CONST : SPW_POINTEE_MUTABLE});
}

/* All qualifiers of a type are one candidate for substitution (Itanium C++ ABI, 5.1.5.1 and 5.1.10). */
static struct type read_qualified(struct reader *r)
{
    (void)skip(r, 'r');
    (void)skip(r, 'V');
    const bool is_const = skip(r, 'K');
    struct type t = read_type(r);
    t.is_const |= is_const;
    return remember(r, t);
}

static struct type read_known(struct reader *r)
{
    if (skip(r, 't'))
        return read_class(r);
    const struct type t = read_substitution(r);
    if (!skip(r, 'I'))
        return t;
    skip_template_arguments(r);
    return remember(r, (struct type){0});
}

/* Skips a built-in type: one letter, or two for newer ones. */
static bool skip_builtin(struct reader *r)
{
    static const char one[] = "vwbcahstijlmxynofdegz", behind_d[] = "hn";
    const bool is_long = *r->at == 'D' && r->at[1] && strchr(behind_d, r->at[1]);
    const bool is_there = is_long || strchr(one, *r->at);
    r->at += is_there + is_long;
    return is_there;
}

static struct type read_other(struct reader *r)
{
    struct type t = {0};
    bool is_template;
    if (skip(r, 'R') || skip(r, 'O'))
        return remember(r, read_type(r));
    if (skip(r, 'N')) {
        read_nested(r, false, &is_template);
        return t;
    }
    if (!skip(r, 'T'))
        return fail(r);
    (void)read_index(r);
    return remember(r, t);
}

static struct type read_type(struct reader *r)
{
    struct type t = {0};
    if (r->failed || !*r->at || r->depth == DEPTH)
        return fail(r);
    r->depth++;
    if (is_digit(*r->at))
        t = read_class(r);
    else if (skip(r, 'P'))
        t = read_pointer(r);
    else if (*r->at == 'r' || *r->at == 'V' || *r->at == 'K')
        t = read_qualified(r);
    else if (skip(r, 'S'))
        t = read_known(r);
    else if (!skip_builtin(r))
        t = read_other(r);
    r->depth--;
    return t;
}

/* Reads the function's own name. Returns true if it is a template, so the type of its result comes first. */
static bool read_name(struct reader *r)
{
    bool is_template = false;
    if (skip(r, 'N')) {
        read_nested(r, true, &is_template);
        return is_template;
    }
    skip_source_name(r);
    if (!skip(r, 'I'))
        return false;
    (void)remember(r, (struct type){0});
    skip_template_arguments(r);
    return true;
}

unsigned spw_signature_read(const char *name, enum spw_pointee ret_pointees[], unsigned room)
{
    struct reader r = {.at = name};
    unsigned n = 0;
    if (strncmp(name, "_Z", 2) != 0)
        return 0;
    r.at += 2;
    if (read_name(&r))
        (void)read_type(&r);
    while (!r.failed && *r.at && n < room)
        ret_pointees[n++] = read_type(&r).pointee;
    return r.failed ? 0 : n;
}
