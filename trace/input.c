/* input.c - a window that slides over a file. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "grow.h"

enum { FIRST_ROOM = 256 << 10 };

int spw_input_open(const char *path, struct spw_input *ret_input)
{
    uint8_t *bytes = malloc(FIRST_ROOM);
    if (!bytes)
        return -ENOMEM;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        const int error = errno;
        free(bytes);
        return -error;
    }
    *ret_input = (struct spw_input){.fd = fd, .bytes = bytes, .room = FIRST_ROOM};
    return 0;
}

void spw_input_close(struct spw_input *input)
{
    free(input->bytes);
    (void)close(input->fd);
}

static int make_room(struct spw_input *input, size_t wanted)
{
    memmove(input->bytes, input->bytes + input->begin, input->end - input->begin);
    input->end -= input->begin;
    input->begin = 0;
    return SPW_GROW(input->bytes, input->room, wanted);
}

size_t spw_input_have(struct spw_input *input, size_t wanted)
{
    if (input->end - input->begin >= wanted)
        return wanted;
    if (wanted > input->room - input->begin && make_room(input, wanted) < 0)
        input->error = ENOMEM;
    while (!input->error && input->end - input->begin < wanted) {
        const ssize_t n = read(input->fd, input->bytes + input->end, input->room - input->end);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            input->error = errno;
        if (n <= 0)
            break;
        input->end += (size_t)n;
    }
    const size_t have = input->end - input->begin;
    return have < wanted ? have : wanted;
}
