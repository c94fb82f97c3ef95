/* output.h - the file that a trace is written to: made so that nobody else reads it, appended to whole pieces at a time. */
#ifndef SPILLWAY_TRACE_OUTPUT_H
#define SPILLWAY_TRACE_OUTPUT_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct spw_output {
    int fd; /* -1: closed */
    dev_t device;
    ino_t inode;
};

/* A new file of mode 0600 in place of whatever regular file stood there. 0, or a negative errno: what open() or unlink()
 * said, -ELOOP for a symbolic link, -EISDIR, -ENOTSUP for what else is no regular file (/dev/null and /dev/full are taken
 * for what they are). */
int spw_output_create(const char *path, struct spw_output *ret_output);

/* Writes all bytes at `offset`. 0, or a negative errno; the file then ends at `offset` again, where it can be cut. -EBADF
 * also when the program has closed our descriptor and has got the number back for a file of its own, which is left alone.
 * Neither kills the program (SIGXFSZ) nor ends the thread half-way (cancellation). */
int spw_output_append(const struct spw_output *output, uint64_t offset, const uint8_t *data, size_t bytes);

/* 0 or a negative errno; once closed, again 0. */
int spw_output_close(struct spw_output *output);
#endif
