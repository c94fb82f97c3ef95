/* graph-text.h - iterations as JSON texts, made up and then damaged. */
#ifndef SPILLWAY_TESTS_FUZZ_GRAPH_TEXT_H
#define SPILLWAY_TESTS_FUZZ_GRAPH_TEXT_H
#include <stddef.h>
#include <stdint.h>

enum { GRAPH_TEXT_ROOM = 64 << 10 };

/* A training iteration of a few layers, of a size and shape that the seed decides, as text in a buffer of GRAPH_TEXT_ROOM;
 * its length. */
size_t make_graph_text(char *text, uint64_t *seed);

/* Damages any JSON text in place, mostly so that it stays JSON: numbers and words are exchanged for others, parts are left
 * out, doubled or swapped; its new length. */
size_t damage_text(char *text, size_t length, uint64_t *seed);
#endif
