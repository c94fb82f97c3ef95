/* stand_ins.h - functions of another library that this one stands in front of, such as NCCL's.
 *
 * A program that was linked with the other library comes here first, since this one is loaded before it; one that looks
 * functions up by name is handed ours in their place (lookups.c). A program may have more than one such library, and what
 * one made means nothing to another: each function that a look-up found has one of ours that goes to it and to no other. */
#ifndef SPILLWAY_SHIM_STAND_INS_H
#define SPILLWAY_SHIM_STAND_INS_H
#include <stddef.h>
#include <stdint.h>

#include "ours.h"

struct spw_other_library {
    const char *file; /* how the name of its file begins, with the slash before it */
    const char *name; /* for messages */
};

enum {
    SPW_STAND_INS = 4, /* libraries of one kind that a program may look a function up in */
    SPW_CALL_SITES = 32
};

/* Which function calls of one name go to, by the page of code that they come from: two libraries of a program may have been
 * linked with two versions, and no two have a part of one page. To find it takes the loader's tables, which is slow. All
 * zero at first; calls from more pages than there are places for have it found each time. */
struct spw_call_sites {
    struct spw_call_site *site[SPW_CALL_SITES]; /* each held for good; a page's is at its number or behind that */
};

struct spw_stand_in {
    const char *name;
    void *ours[SPW_STAND_INS]; /* each goes to what is found in its place */
    void **found;              /* likewise so many, filled from the left, each once */
};

/* Makes a list of `ours` or of places: X(number, ...). */
#define SPW_EACH_STAND_IN(X, ...) X(0, __VA_ARGS__) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__)

/* The other library's function of that name, for a call that returns to `caller`: that of the library which the caller was
 * linked with. NULL: there is none, which is said once. */
void *spw_stand_in_real(const struct spw_other_library *library, struct spw_call_sites *known, const char *name,
                        const void *caller) SPW_OURS;

/* What is handed out for a function that the loader has found under that name: NULL where it is the function itself. */
void *spw_stand_in_instead_of(const struct spw_stand_in *list, size_t count, void *function, const char *name) SPW_OURS;
#endif
