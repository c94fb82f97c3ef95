/* facts.h - what doctor finds: facts in sections, problems, and what to set; shown to people or as JSON, the same either
 * way. */
#ifndef SPILLWAY_TOOLS_FACTS_H
#define SPILLWAY_TOOLS_FACTS_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct facts;

/* With a stream each one is written there as a line at once, for facts_receive() in another process, and not kept. NULL: no
 * memory. */
struct facts *facts_create(FILE *stream);
void facts_destroy(struct facts *facts);

/* One fact. In JSON `value`, which is taken over, is the section's member `key`; people read the label and the text. Without
 * a key it is for people alone, with NULL for a value it is null. */
void facts_add(struct facts *facts, const char *section, const char *key, json_t *value, const char *label,
               const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Something that is wrong, as a sentence. */
void facts_problem(struct facts *facts, const char *section, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Something that would be better otherwise: the line to type, and why. */
void facts_advise(struct facts *facts, const char *line, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Adds all that the other process has to tell; a line that it did not finish is left out. */
void facts_receive(struct facts *facts, FILE *from);

/* What was added, NULL when nothing was. Borrowed. */
const json_t *facts_value(const struct facts *facts, const char *section, const char *key);
size_t facts_problem_count(const struct facts *facts);

void facts_print(const struct facts *facts, FILE *to);
json_t *facts_json(const struct facts *facts); /* NULL: no memory */

/* "12.3 GiB" for people; kept until the next but three. */
const char *facts_bytes(uint64_t bytes);
#endif
