/* json_text.h - a JSON text together with its lines: what is wrong in it is said as FILE:LINE: PATH: expected WHAT.
 *
 * jansson tells no positions of values. The text is kept, and the line of a path is looked for in it when it is asked for.
 */
#ifndef SPILLWAY_TOOLS_JSON_TEXT_H
#define SPILLWAY_TOOLS_JSON_TEXT_H
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

struct json_text {
    const char *file; /* what it is called in messages; borrowed */
    char *text;       /* NULL: the values were made by a program, and have no lines */
    size_t bytes;
    json_t *root; /* an object */
};

/* One line without a newline, to be shown as it is. */
struct json_problem {
    char message[512];
};

/* Takes in a text that holds one object. 0; -EINVAL: it holds something else; -ENOMEM. `ret_problem` is filled whenever the
 * result is not 0, here and below. */
int json_text_parse(const char *file, const char *text, size_t bytes, struct json_text *ret_text,
                    struct json_problem *ret_problem);
/* The same with all that a stream gives; besides, a negative errno where it cannot be read, -EFBIG where there is no end to
 * it. */
int json_text_read(const char *file, FILE *from, struct json_text *ret_text, struct json_problem *ret_problem);
/* Takes over an object that was made by a program. NULL counts as no memory. */
int json_text_made(const char *file, json_t *root, struct json_text *ret_text, struct json_problem *ret_problem);
void json_text_finish(struct json_text *text); /* one that was never filled, all zero, is fine */

/* Fills `ret_problem` with what is wrong at `path` ("ops[12].reads[3]"; "" is the whole). The result is -EINVAL. */
__attribute__((format(printf, 4, 5))) int json_text_refuse(const struct json_text *text, struct json_problem *ret_problem,
                                                           const char *path, const char *expected, ...);
int json_text_no_memory(const struct json_text *text, struct json_problem *ret_problem); /* likewise; -ENOMEM */

/* The line, from 1 on, on which what `path` names begins; where there is no such thing, on which the innermost of what is
 * around it begins. 0 for values without lines. */
size_t json_text_line(const struct json_text *text, const char *path);
#endif
