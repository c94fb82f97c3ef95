/* facts.h - collects what doctor finds: facts in sections, problems, and advice; shown to people or as JSON with the same
 * contents. */
#ifndef SPILLWAY_TOOLS_FACTS_H
#define SPILLWAY_TOOLS_FACTS_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct facts;

/* Creates a collection. With a stream, each entry is written to it at once as a line, for facts_receive() in another
 * process, and is not kept. Returns NULL without memory. */
struct facts *facts_create(FILE *stream);
void facts_destroy(struct facts *facts);

/* Adds a fact. In JSON, `value`, which it takes over, is the member `key` of the section; people see the label and the
 * text. Without a key the fact is for people only; without a value the member is null. */
void facts_add(struct facts *facts, const char *section, const char *key, json_t *value, const char *label,
               const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Adds a problem, as a sentence. */
void facts_problem(struct facts *facts, const char *section, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Adds advice: the line to type, and why. */
void facts_advise(struct facts *facts, const char *line, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Adds everything that the other process reports; an incomplete line is left out. */
void facts_receive(struct facts *facts, FILE *from);

/* Returns the value that was added, or NULL. It belongs to `facts`. */
const json_t *facts_value(const struct facts *facts, const char *section, const char *key);
size_t facts_problem_count(const struct facts *facts);

void facts_print(const struct facts *facts, FILE *to);
json_t *facts_json(const struct facts *facts); /* NULL: no memory */

/* Formats bytes for people, as "12.3 GiB". The text is valid for the next three calls. */
const char *facts_bytes(uint64_t bytes);
#endif
