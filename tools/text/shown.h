/* shown.h - figures and names as people and programs read them; the same in every form of every command. */
#ifndef SPILLWAY_TOOLS_SHOWN_H
#define SPILLWAY_TOOLS_SHOWN_H
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* 5.2 GiB, 312 bytes; 1.2 ms. In the caller's buffer, which has at least 32 bytes; returned. */
const char *shown_bytes(uint64_t bytes, char *buffer);
const char *shown_time(uint64_t ns, char *buffer);

/* A name as JSON: names come from a foreign process, and what is no UTF-8 is shown byte by byte. NULL is "". */
json_t *shown_string(const char *s);

/* 0 when the stream has taken all that it was given; else the negative errno of what keeps it from that. */
int shown_end(FILE *to);
#endif
