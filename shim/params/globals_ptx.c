/* globals_ptx.c - finds declarations of variables, and functions that print, in PTX, word by word. */
#include "globals_ptx.h"

#include <ctype.h>
#include <string.h>

struct word {
    const char *text;
    size_t length; /* 0: the end of the text */
};

struct reader {
    const char *at, *end;
};

static const char damaged[] = "a text is not as PTX is";

static bool is_of_a_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static void skip_to(struct reader *r, const char *mark)
{
    const char *found = memmem(r->at, (size_t)(r->end - r->at), mark, strlen(mark));
    r->at = found ? found + strlen(mark) : r->end;
}

static bool follows(const struct reader *r, const char *mark)
{
    return (size_t)(r->end - r->at) >= strlen(mark) && memcmp(r->at, mark, strlen(mark)) == 0;
}

/* Skips white space, comments and strings. */
static void skip(struct reader *r)
{
    for (;;) {
        if (follows(r, "//")) {
            skip_to(r, "\n");
        } else if (follows(r, "/*")) {
            r->at += 2;
            skip_to(r, "*/");
        } else if (follows(r, "\"")) {
            r->at++;
            skip_to(r, "\"");
        } else if (r->at < r->end && isspace((unsigned char)*r->at)) {
            r->at++;
        } else {
            return;
        }
    }
}

/* Reads a name or directive with the dots in it, or one other character. A 0 ends the text. */
static struct word next(struct reader *r)
{
    skip(r);
    if (r->at == r->end || !*r->at)
        return (struct word){r->end, 0};
    struct word w = {r->at, 1};
    while (is_of_a_name(*w.text) && w.text + w.length < r->end && is_of_a_name(w.text[w.length]))
        w.length++;
    r->at += w.length;
    return w;
}

static bool is(struct word w, const char *text)
{
    return w.length == strlen(text) && memcmp(w.text, text, w.length) == 0;
}

/* Skips to the bracket that matches the one just read. */
static bool skip_brackets(struct reader *r)
{
    unsigned depth = 1;
    while (depth) {
        const struct word w = next(r);
        if (!w.length)
            return false;
        depth += is(w, "(") || is(w, "{") || is(w, "[");
        depth -= is(w, ")") || is(w, "}") || is(w, "]");
    }
    return true;
}

/* Called behind the name; returns true if initial values follow. */
static bool has_values(struct reader r)
{
    struct word w = next(&r);
    while (is(w, "[") && skip_brackets(&r))
        w = next(&r);
    return is(w, "=");
}

/* Called behind .global or .const; reads to the end of the declaration. Between names are sizes and initial values. */
static const char *list_declaration(struct spw_globals *g, struct reader *r, bool is_constant)
{
    bool is_named = false;
    for (struct word w = next(r); !is(w, ";"); w = next(r)) {
        const char *why = NULL;
        if (is(w, ".texref") || is(w, ".surfref") || is(w, ".samplerref"))
            return "it has textures or surfaces";
        if (!w.length || is(w, "<") || is(w, "{") || is(w, "}")) /* a family of names, or no declaration */
            return damaged;
        if (is(w, ".align"))
            (void)next(r);
        else if (is(w, "(") || is(w, "["))
            why = skip_brackets(r) ? NULL : damaged;
        else if (is(w, ","))
            is_named = false;
        else if (is(w, "=")) {
            w = next(r);
            why = !is(w, "{") || skip_brackets(r) ? NULL : damaged;
            while (!why && w.length && r->at < r->end && (skip(r), r->at < r->end) && *r->at != ',' && *r->at != ';')
                why = (w = next(r), is(w, "(")) && !skip_brackets(r) ? damaged : NULL; /* an expression, generic(name) */
        } else if (!is_named && *w.text != '.' && is_of_a_name(*w.text)) {
            const bool is_text = spw_globals_is_text(w.text, w.length) && has_values(*r);
            why = spw_globals_add(g, w.text, w.length, is_constant || is_text);
            is_named = true;
        } else if (*w.text != '.')
            return damaged;
        if (why)
            return why;
    }
    return NULL;
}

/* Called behind .entry or .func; reads the result and returns the name. */
static struct word next_function(struct reader *r)
{
    const struct word w = next(r);
    if (!is(w, "("))
        return w;
    return skip_brackets(r) ? next(r) : (struct word){r->end, 0};
}

/* ---- kernels that print ---- */

/* A direct call names one function, and nothing else outside brackets. A call through a pointer also names what it can
 * reach. Anything else counts as the latter. */
static bool is_through_pointer(struct reader r)
{
    unsigned names = 0;
    for (struct word w = next(&r); w.length && !is(w, ";"); w = next(&r)) {
        if (is(w, "(") && !skip_brackets(&r))
            return true;
        names += is_of_a_name(*w.text);
    }
    return names != 1;
}

static bool is_call(struct word w)
{
    return w.length >= 4 && memcmp(w.text, "call", 4) == 0 && (w.length == 4 || w.text[4] == '.');
}

/* A function that names one which prints may call it, or leave its address where others find it. */
static bool leads_to_print(const struct spw_globals *g, struct word w, const struct reader *behind)
{
    return spw_globals_is_print(w.text, w.length) || spw_globals_may_print(g, w.text, w.length) ||
           (is_call(w) && is_through_pointer(*behind));
}

/* What comes between a function's head and its code, for example `.pragma "nounroll";`, ends with a semicolon as a
 * declaration does, so a semicolon does not end the head. A variable does: the braces around its initial values are no
 * code. */
static const char *add_callers(struct spw_globals *g, struct reader r)
{
    struct word function = {r.at, 0};
    unsigned depth = 0;
    const char *why = NULL;
    for (struct word w = next(&r); w.length && !why; w = next(&r)) {
        if (is(w, ".entry") || is(w, ".func"))
            function = next_function(&r);
        else if (is(w, ".alias"))
            return spw_globals_unknown_printing;
        else if (is(w, "{"))
            depth++;
        else if ((is(w, "}") && !depth--) || (!depth && is(w, "(") && !skip_brackets(&r)))
            return damaged;
        else if (!depth && (is(w, "}") || is(w, ".global") || is(w, ".const")))
            function.length = 0;
        else if (depth && function.length && leads_to_print(g, w, &r))
            why = spw_globals_add_printing(g, function.text, function.length);
    }
    return why;
}

/* Functions may be called before they are defined, so passes are repeated until one finds nothing new. */
static const char *list_printing(struct spw_globals *g, struct reader r)
{
    enum { NESTED_MAX = 64 };
    const char *why = NULL;
    uint32_t before = UINT32_MAX;
    for (unsigned passes = 0; !why && before != g->printing_count; passes++) {
        before = g->printing_count;
        why = passes < NESTED_MAX ? add_callers(g, r) : spw_globals_unknown_printing;
    }
    return why;
}

/* ---- all ---- */

/* `.ptr .global` says where a parameter points; it is no declaration. */
const char *spw_globals_of_ptx(struct spw_globals *g, struct spw_image_part text)
{
    const struct reader all = {text.bytes, text.bytes + text.count};
    struct reader r = all;
    struct word before = {text.bytes, 0}, w = next(&r);
    const char *why = NULL;
    bool prints = false;
    if (!is(w, ".version"))
        return "its form is not known";
    for (; w.length && !why; before = w, w = next(&r)) {
        const bool is_variable = is(w, ".global"), is_constant = is(w, ".const");
        if ((is_variable || is_constant) && !is(before, ".ptr"))
            why = list_declaration(g, &r, is_constant);
        else if (is_call(w))
            g->calls_pointers |= is_through_pointer(r);
        else if (is(w, ".func")) {
            w = next_function(&r);
            prints |= spw_globals_is_print(w.text, w.length);
            why = w.length ? spw_globals_calls(w.text, w.length) : damaged;
        }
    }
    return why || !prints ? why : list_printing(g, all);
}
