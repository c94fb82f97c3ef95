/* json_text.h - a JSON text with its lines, so that errors are reported as FILE:LINE: PATH: expected WHAT.
 *
 * jansson does not give the positions of values. So the text is kept, and the line of a path is searched in it when
 * needed. */
#ifndef SPILLWAY_TOOLS_JSON_TEXT_H
#define SPILLWAY_TOOLS_JSON_TEXT_H
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

struct json_text {
    const char *file; /* its name in messages; borrowed */
    char *text;       /* NULL: a program made the values, which have no lines */
    size_t bytes;
    json_t *root; /* an object */
};

/* One line without a newline, to be shown as it is. */
struct json_problem {
    char message[512];
};

/* Parses a text that contains one object. Returns 0; -EINVAL: it contains something else; -ENOMEM. Here and below,
 * `ret_problem` is set whenever the result is not 0. */
int json_text_parse(const char *file, const char *text, size_t bytes, struct json_text *ret_text,
                    struct json_problem *ret_problem);
/* Does the same with the contents of a stream. Also returns a negative errno if it cannot be read, and -EFBIG if it is
 * too long. */
int json_text_read(const char *file, FILE *from, struct json_text *ret_text, struct json_problem *ret_problem);
/* Takes over an object that a program has made. NULL counts as no memory. */
int json_text_made(const char *file, json_t *root, struct json_text *ret_text, struct json_problem *ret_problem);
void json_text_finish(struct json_text *text); /* all zero, never filled, is allowed */

/* Fills `ret_problem` with an error at `path` ("ops[12].reads[3]"; "" is the whole). Returns -EINVAL. */
__attribute__((format(printf, 4, 5))) int json_text_refuse(const struct json_text *text, struct json_problem *ret_problem,
                                                           const char *path, const char *expected, ...);
int json_text_no_memory(const struct json_text *text, struct json_problem *ret_problem); /* likewise; returns -ENOMEM */

/* Returns the line, from 1 on, where the value at `path` begins; if there is none, where the innermost value around it
 * begins. 0 for values without lines. */
size_t json_text_line(const struct json_text *text, const char *path);
#endif
