/* input.h - a window that slides over a file: read() only, so that a file that shrinks meanwhile is an end and no signal. */
#ifndef SPILLWAY_TRACE_INPUT_H
#define SPILLWAY_TRACE_INPUT_H
#include <stddef.h>
#include <stdint.h>

struct spw_input {
    int fd, error;  /* error: errno of a read() that failed, after which the file is taken to end there */
    uint8_t *bytes; /* the window */
    size_t room, begin, end;
    uint64_t offset; /* in the file, of bytes[begin] */
};

int spw_input_open(const char *path, struct spw_input *ret_input); /* 0 or a negative errno */
void spw_input_close(struct spw_input *input);

/* Sees to it that `wanted` bytes from the current offset on are in the window; how many are (fewer at the end of the file,
 * or without memory; input->error tells the latter). */
size_t spw_input_have(struct spw_input *input, size_t wanted);

/* The byte at the current offset, and those that follow as far as spw_input_have() said. */
static inline const uint8_t *spw_input_at(const struct spw_input *input)
{
    return input->bytes + input->begin;
}

/* Goes on by bytes that are in the window. */
static inline void spw_input_skip(struct spw_input *input, size_t bytes)
{
    input->begin += bytes;
    input->offset += bytes;
}
#endif
