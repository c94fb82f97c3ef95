/* stand_ins.h - functions that stand in front of another library's functions, such as NCCL's.
 *
 * A program that was linked with the other library calls ours first, since this library is loaded before it. A program
 * that looks functions up by name is handed ours in their place (lookups.c). A program may have several such libraries,
 * and what one of them made means nothing to another: each function that a look-up found has one of ours that calls it
 * and no other. */
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
 * linked with two versions, and no two libraries share a page. Finding it takes the loader's tables, which is slow. Starts
 * as all zeroes; if calls come from more pages than there are places, it is found each time for the rest. */
struct spw_call_sites {
    struct spw_call_site *site[SPW_CALL_SITES]; /* never freed; the place of a page is at its number or after that */
};

struct spw_stand_in {
    const char *name;
    void *ours[SPW_STAND_INS]; /* each calls the function found at its place */
    void **found;              /* as many places, filled from the left, each once */
};

/* Makes a list of `ours` or of places: X(number, ...). */
#define SPW_EACH_STAND_IN(X, ...) X(0, __VA_ARGS__) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__)

/* Returns the other library's function of that name for a call that returns to `caller`: the one of the library that the
 * caller was linked with. NULL: there is none, which is logged once. */
void *spw_stand_in_real(const struct spw_other_library *library, struct spw_call_sites *known, const char *name,
                        const void *caller) SPW_OURS;

/* Returns the function to hand out for one that the loader has found under that name; NULL: the one found. */
void *spw_stand_in_instead_of(const struct spw_stand_in *list, size_t count, void *function, const char *name) SPW_OURS;
#endif
