/* json_text.c - parses a JSON text, and finds the lines of paths in it. */
#include "json_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"

enum { MOST_BYTES = 1 << 30, READ_BYTES = 1 << 16 };

/* ---- the line of a path; the text has been parsed as JSON ---- */

struct scan {
    const char *at, *end;
};

static void skip_space(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

/* Skips from an opening quote to the closing one. */
static void skip_string(struct scan *s)
{
    for (s->at++; s->at < s->end && *s->at != '"'; s->at++)
        if (*s->at == '\\')
            s->at++;
    s->at = s->at < s->end ? s->at + 1 : s->end;
}

/* Skips from the first character of a value to the one after its last. */
static void skip_value(struct scan *s)
{
    size_t depth = 0;
    do {
        skip_space(s);
        if (s->at >= s->end)
            return;
        const char c = *s->at;
        if (c == '"') {
            skip_string(s);
            continue;
        }
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && depth > 0)
            depth--;
        s->at++;
        if (depth == 0 && c != '}' && c != ']') /* a number or a word */
            while (s->at < s->end && !strchr(",]} \t\r\n", *s->at))
                s->at++;
    } while (depth > 0);
}

/* Goes from the opening brace to the value of the member, and returns false if there is none. Names are compared as they
 * are written. */
static bool enter_member(struct scan *s, const char *name, size_t length)
{
    for (s->at++;; s->at++) { /* skips the brace, then commas */
        skip_space(s);
        if (s->at >= s->end || *s->at != '"')
            return false;
        const char *key = s->at + 1;
        skip_string(s);
        const bool found = (size_t)(s->at - 1 - key) == length && memcmp(key, name, length) == 0;
        skip_space(s);
        if (s->at < s->end) /* skips the colon */
            s->at++;
        skip_space(s);
        if (found)
            return s->at < s->end;
        skip_value(s);
        skip_space(s);
        if (s->at >= s->end || *s->at != ',')
            return false;
    }
}

/* Goes from the opening bracket to the element, and returns false if there are not so many. */
static bool enter_element(struct scan *s, size_t index)
{
    s->at++;
    for (;; s->at++, index--) {
        skip_space(s);
        if (s->at >= s->end || *s->at == ']')
            return false;
        if (index == 0)
            return true;
        skip_value(s);
        skip_space(s);
        if (s->at >= s->end || *s->at != ',')
            return false;
    }
}

/* Follows one part of the path, and moves the path past it. */
static bool enter(struct scan *s, const char **path)
{
    if (**path == '[') {
        char *behind;
        const size_t index = strtoul(*path + 1, &behind, 10);
        *path = *behind == ']' ? behind + 1 : behind + strlen(behind);
        return *s->at == '[' && enter_element(s, index);
    }
    const char *name = *path + (**path == '.');
    const size_t length = strcspn(name, ".[");
    *path = name + length;
    return *s->at == '{' && enter_member(s, name, length);
}

size_t json_text_line(const struct json_text *text, const char *path)
{
    if (!text->text)
        return 0;
    struct scan s = {text->text, text->text + text->bytes};
    skip_space(&s);
    const char *found = s.at;
    while (*path && s.at < s.end && enter(&s, &path))
        found = s.at;
    size_t line = 1;
    for (const char *c = text->text; c < found; c++)
        line += *c == '\n';
    return line;
}

/* ---- problems ---- */

int json_text_refuse(const struct json_text *text, struct json_problem *ret_problem, const char *path, const char *expected,
                     ...)
{
    char what[320], line[32] = "";
    va_list list;
    va_start(list, expected);
    (void)vsnprintf(what, sizeof what, expected, list); /* NOLINT(clang-analyzer-valist.Uninitialized) */
    va_end(list);
    if (text->text)
        (void)snprintf(line, sizeof line, "%zu: ", json_text_line(text, path));
    (void)snprintf(ret_problem->message, sizeof ret_problem->message, "%.100s:%s%s%s%sexpected %s", text->file,
                   *line ? "" : " ", line, path, *path ? ": " : "", what);
    return -EINVAL;
}

int json_text_no_memory(const struct json_text *text, struct json_problem *ret_problem)
{
    (void)snprintf(ret_problem->message, sizeof ret_problem->message, "%.400s: %s", text->file, strerror(ENOMEM));
    return -ENOMEM;
}

static int unreadable(const char *file, int error, struct json_problem *ret_problem)
{
    (void)snprintf(ret_problem->message, sizeof ret_problem->message, "%.400s: %s", file, strerror(error));
    return -error;
}

/* ---- parsing ---- */

/* Parses `owned`, which it takes over. */
static int take(const char *file, char *owned, size_t bytes, struct json_text *ret_text, struct json_problem *ret_problem)
{
    json_error_t error;
    json_t *root = json_loadb(owned, bytes, JSON_REJECT_DUPLICATES, &error);
    struct json_text text = {.file = file, .text = owned, .bytes = bytes, .root = root};
    int r = 0;
    /* jansson does not always set the code when memory is short. */
    if (!root && (json_error_code(&error) == json_error_out_of_memory || !*error.text)) {
        r = json_text_no_memory(&text, ret_problem);
    } else if (!root) {
        (void)snprintf(ret_problem->message, sizeof ret_problem->message, "%.100s:%d: not JSON: %s", file, error.line,
                       error.text);
        r = -EINVAL;
    } else if (!json_is_object(root)) {
        r = json_text_refuse(&text, ret_problem, "", "an object");
    }
    if (r < 0)
        json_text_finish(&text);
    else
        *ret_text = text;
    return r;
}

int json_text_parse(const char *file, const char *text, size_t bytes, struct json_text *ret_text,
                    struct json_problem *ret_problem)
{
    char *owned = malloc(bytes + 1);
    if (!owned)
        return unreadable(file, ENOMEM, ret_problem);
    if (bytes)
        memcpy(owned, text, bytes);
    return take(file, owned, bytes, ret_text, ret_problem);
}

int json_text_read(const char *file, FILE *from, struct json_text *ret_text, struct json_problem *ret_problem)
{
    size_t room = 0, bytes = 0, got;
    char *text = NULL;
    do {
        const int r = bytes > MOST_BYTES ? -EFBIG : SPW_GROW(text, room, bytes + READ_BYTES);
        if (r < 0) {
            free(text);
            return unreadable(file, -r, ret_problem);
        }
        got = fread(text + bytes, 1, room - bytes, from);
        bytes += got;
    } while (got > 0);
    if (ferror(from)) {
        const int error = errno ? errno : EIO;
        free(text);
        return unreadable(file, error, ret_problem);
    }
    return take(file, text, bytes, ret_text, ret_problem);
}

int json_text_made(const char *file, json_t *root, struct json_text *ret_text, struct json_problem *ret_problem)
{
    if (!root)
        return unreadable(file, ENOMEM, ret_problem);
    *ret_text = (struct json_text){.file = file, .root = root};
    return 0;
}

void json_text_finish(struct json_text *text)
{
    json_decref(text->root);
    free(text->text);
    *text = (struct json_text){0};
}
