/* fake.h - what make-fake writes for fake.c: which functions there are, and what cuGetProcAddress() knows of their forms. */
#ifndef LOOKUP_FAKE_H
#define LOOKUP_FAKE_H

struct fake_variant {
    const char *asked, *symbol;
    int since; /* the version from which it is what `asked` means */
};

/* By version, the newest first; the last one is all 0. Of names that are not here the newest _vN is what is meant. */
extern const struct fake_variant fake_variants[];

/* Writes down that `name` was called from code at `caller`; 0. */
int fake_called(const char *name, void *caller);
#endif
