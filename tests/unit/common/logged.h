/* logged.h - what the shim logs during a test: into a file of the test's own, whose lines it counts. */
#ifndef SPILLWAY_TESTS_LOGGED_H
#define SPILLWAY_TESTS_LOGGED_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

static char logged_path[32];

/* From here on, whatever was logged before. */
static inline void log_into_file(enum spw_log_level level)
{
    snprintf(logged_path, sizeof logged_path, "/tmp/spillway-test-XXXXXX");
    const int file = mkstemp(logged_path);
    assert_true(file >= 0);
    close(file);
    spw_log_setup(level, logged_path);
}

/* How many lines have the text in them. */
static inline unsigned lines_with(const char *text)
{
    char line[512];
    unsigned count = 0;
    FILE *file = fopen(logged_path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        count += strstr(line, text) != NULL;
    assert_int_equal(fclose(file), 0);
    return count;
}

static inline void log_as_before(void)
{
    spw_log_setup(SPW_LOG_WARN, NULL);
    assert_int_equal(unlink(logged_path), 0);
}
#endif
