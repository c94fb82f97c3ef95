/* file.c - reads a file whole. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char *file_read(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = NULL;
    if (fd >= 0 && fstat(fd, &status) == 0 && (text = malloc((size_t)status.st_size + 1))) {
        size_t got = 0;
        ssize_t n = 1;
        while (got < (size_t)status.st_size && n > 0)
            if ((n = read(fd, text + got, (size_t)status.st_size - got)) > 0)
                got += (size_t)n;
        text[got] = 0;
    }
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return text;
}
