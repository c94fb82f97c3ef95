/* fake.h - what make-fake writes for fake.c: which functions there are, and what cuGetProcAddress() knows of their forms. */
#ifndef LOOKUP_FAKE_H
#define LOOKUP_FAKE_H

#include <stdbool.h>

struct fake_variant {
    const char *asked, *symbol;
    bool per_thread; /* the form for per-thread default streams */
    int since;       /* the version from which it is what `asked` means */
};

/* By version, the newest first; the last one is all 0. */
extern const struct fake_variant fake_variants[];

/* Writes down that `name` was called from code at `caller`; 0. */
int fake_called(const char *name, void *caller);
#endif
