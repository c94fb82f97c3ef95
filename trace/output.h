/* output.h - writes the file of a trace: created so that no other user can read it, and extended by whole pieces. */
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

/* Creates a file of mode 0600, in place of any regular file with that name. Returns 0, or a negative errno: that of
 * open() or unlink(), -ELOOP for a symbolic link, -EISDIR, -ENOTSUP for another file that is not regular (/dev/null and
 * /dev/full are used as they are). */
int spw_output_create(const char *path, struct spw_output *ret_output);

/* Writes all bytes at `offset`. Returns 0, or a negative errno; the file then ends at `offset` again, if it can be
 * truncated. Also returns -EBADF if the program has closed our descriptor and reuses the number for a file of its own,
 * which is not touched. It neither kills the program (SIGXFSZ) nor ends the thread half-way (cancellation). */
int spw_output_append(const struct spw_output *output, uint64_t offset, const uint8_t *data, size_t bytes);

/* Returns 0 or a negative errno; 0 if it is closed already. */
int spw_output_close(struct spw_output *output);
#endif
