/* globals_ptx.c - finds declarations of variables in PTX, word by word. */
#include "globals_ptx.h"

#include <ctype.h>
#include <string.h>

struct word {
    const char *text;
    size_t length; /* 0: the text is over */
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

/* White space, comments, strings. */
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

/* A name or directive with the points in it, or one other character. A 0 ends the text. */
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

/* To the bracket that belongs to the one just read. */
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

/* Behind .global or .const, to the end: what there is between names are sizes and first values. */
static const char *list_declaration(struct spw_globals *g, struct reader *r, bool is_constant)
{
    bool is_named = false;
    for (struct word w = next(r); !is(w, ";"); w = next(r)) {
        const char *why = NULL;
        if (is(w, ".texref") || is(w, ".surfref") || is(w, ".samplerref"))
            return "it has textures or surfaces";
        if (!w.length || is(w, "<") || is(w, "{") || is(w, "}")) /* a family of names, or no declaration at all */
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
            why = spw_globals_add(g, w.text, w.length, is_constant);
            is_named = true;
        } else if (*w.text != '.')
            return damaged;
        if (why)
            return why;
    }
    return NULL;
}

/* Behind .func: what it answers, and its name. */
static const char *look_at_call(struct reader *r)
{
    struct word w = next(r);
    if (is(w, "("))
        w = skip_brackets(r) ? next(r) : (struct word){r->end, 0};
    return w.length ? spw_globals_calls(w.text, w.length) : damaged;
}

/* `.ptr .global` says of a parameter where it leads. */
const char *spw_globals_of_ptx(struct spw_globals *g, struct spw_image_part text)
{
    struct reader r = {text.bytes, text.bytes + text.count};
    struct word before = {text.bytes, 0}, w = next(&r);
    const char *why = NULL;
    if (!is(w, ".version"))
        return "its form is not known";
    for (; w.length && !why; before = w, w = next(&r)) {
        const bool is_variable = is(w, ".global"), is_constant = is(w, ".const");
        if ((is_variable || is_constant) && !is(before, ".ptr"))
            why = list_declaration(g, &r, is_constant);
        else if (is(w, ".func"))
            why = look_at_call(&r);
    }
    return why;
}
