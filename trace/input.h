/* input.h - a window that slides over a file. It only uses read(), so that a file that shrinks meanwhile ends and sends
 * no signal. */
#ifndef SPILLWAY_TRACE_INPUT_H
#define SPILLWAY_TRACE_INPUT_H
#include <stddef.h>
#include <stdint.h>

struct spw_input {
    int fd, error;  /* error: errno of a failed read(), after which the file counts as ended */
    uint8_t *bytes; /* the window */
    size_t room, begin, end;
    uint64_t offset; /* in the file, of bytes[begin] */
};

int spw_input_open(const char *path, struct spw_input *ret_input); /* returns 0 or a negative errno */
void spw_input_close(struct spw_input *input);

/* Makes `wanted` bytes from the current offset on available in the window. Returns how many are available: fewer at the
 * end of the file, or without memory, which input->error tells. */
size_t spw_input_have(struct spw_input *input, size_t wanted);

/* Returns the byte at the current offset, followed by as many as spw_input_have() returned. */
static inline const uint8_t *spw_input_at(const struct spw_input *input)
{
    return input->bytes + input->begin;
}

/* Moves on by bytes that are in the window. */
static inline void spw_input_skip(struct spw_input *input, size_t bytes)
{
    input->begin += bytes;
    input->offset += bytes;
}
#endif
