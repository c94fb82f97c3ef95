/* diff_model.h - compares two runs: what differs in their figures, their memory and their operations.
 *
 * Everything is per iteration, or for the whole runs if one of them has no iteration. The columns of each table add up
 * to what spillway report says of each run: nothing is left out of a table; rows may only be summed up when shown. */
#ifndef SPILLWAY_TOOLS_DIFF_MODEL_H
#define SPILLWAY_TOOLS_DIFF_MODEL_H
#include "model.h"

enum diff_side { DIFF_BEFORE, DIFF_AFTER, DIFF_SIDES };

enum diff_unit { DIFF_COUNT, DIFF_BYTES, DIFF_NS };

struct diff_figure {
    char *name;
    enum diff_unit unit;
    uint64_t value[DIFF_SIDES];
    bool known[DIFF_SIDES]; /* true for at least one side */
};

enum diff_match {                    /* how a site of one run was found in the other */
                  DIFF_NOT_MATCHED,  /* only one run has it; or the sites are unknown in both */
                  DIFF_BY_FRAMES,    /* the same frames, including lines */
                  DIFF_BY_FUNCTIONS, /* the same functions; lines or offsets moved */
                  /* No such site, but tensors of the same size made by operations of the same name. */
                  DIFF_BY_SIZE_MAKER,
                  DIFF_MATCHES
};
const char *diff_match_name(enum diff_match match);

struct diff_row {
    char *name;
    /* Categories and sites: tensors at the peak and their bytes. Operations: their number and their nanoseconds (0 if a
     * run is not timed). */
    uint64_t count[DIFF_SIDES], amount[DIFF_SIDES];
    /* For sites: tensors alive anywhere in the iteration and their bytes. Else as above. 0 tensors or operations: only
     * the other run has the row. */
    uint64_t all_count[DIFF_SIDES], all_amount[DIFF_SIDES];
    uint32_t site[DIFF_SIDES]; /* one of those combined in this row; MODEL_NONE: none */
    enum diff_match match;     /* of sites */
};

struct diff_table { /* sorted by change, the largest first */
    struct diff_row *rows;
    size_t count, room;
};

enum diff_verdict { DIFF_NOTHING, DIFF_TIMES, DIFF_MORE }; /* all is the same; except times; other figures differ */

struct diff {
    struct model *model[DIFF_SIDES]; /* borrowed */
    /* Both runs have an iteration. Else there are neither categories nor sites, and figures and operations are those of the
     * whole runs. */
    bool iterations;
    bool timed; /* the operations of both runs have times */
    struct diff_figure *figures;
    size_t figure_count, figure_room;
    char **notes; /* limits of the comparison, one sentence each */
    size_t note_count, note_room;
    struct diff_table categories, sites, operations;
    enum diff_verdict verdict;
};

/* Compares the models, which have to outlive the result. Returns NULL without memory. */
struct diff *diff_create(struct model *before, struct model *after);
void diff_free(struct diff *diff); /* NULL is allowed */

/* ---- shared by the files of the comparison ---- */

/* A map from names to numbers; initially all zeroes. */
struct diff_names {
    void *root;
};

/* Returns the number of a name, initially 0, valid until diff_names_free(). Returns NULL without memory. */
uint64_t *diff_names_at(struct diff_names *names, const char *name);
void diff_names_free(struct diff_names *names);

/* Returns the row of this key, which may be a new one, valid until the next row is added. Returns NULL without memory. */
struct diff_row *diff_table_at(struct diff_table *table, struct diff_names *rows, const char *key);

/* Sorts by change, the largest first, and equal ones by name. Every row has to have a name. */
void diff_table_sort(struct diff_table *table);
void diff_table_free(struct diff_table *table);

/* Returns the distance between the two values. */
uint64_t diff_distance(const uint64_t value[DIFF_SIDES]);

/* Fills diff->sites, unsorted. Returns 0 or -ENOMEM. */
int diff_sites(struct diff *diff);

/* Names the rows of diff->sites by the frames that distinguish them. Returns 0 or -ENOMEM. */
int diff_name_sites(struct diff *diff);
#endif
