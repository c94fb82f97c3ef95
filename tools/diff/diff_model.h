/* diff_model.h - two runs held against each other: what differs in their figures, their memory and their operations.
 *
 * Everything is told per iteration, or of the whole runs where one of them has no iteration. The columns of each table add
 * up to what spillway report tells of each run: nothing is left out of a table, it may only be summed when shown. */
#ifndef SPILLWAY_TOOLS_DIFF_MODEL_H
#define SPILLWAY_TOOLS_DIFF_MODEL_H
#include "model.h"

enum diff_side { DIFF_BEFORE, DIFF_AFTER, DIFF_SIDES };

enum diff_unit { DIFF_COUNT, DIFF_BYTES, DIFF_NS };

struct diff_figure {
    char *name;
    enum diff_unit unit;
    uint64_t value[DIFF_SIDES];
    bool known[DIFF_SIDES]; /* at least one is */
};

enum diff_match {                     /* how a site of one run was found in the other */
                  DIFF_NOT_MATCHED,   /* only one has it; or the sites are unknown in both */
                  DIFF_BY_FRAMES,     /* the same frames, down to lines */
                  DIFF_BY_FUNCTIONS,  /* the same functions; lines or offsets moved */
                  DIFF_BY_SIZE_MAKER, /* no such site: tensors of the same size, made by operations of the same name */
                  DIFF_MATCHES
};
const char *diff_match_name(enum diff_match match);

struct diff_row {
    char *name;
    /* Categories and sites: tensors at the peak and their bytes. Operations: how many, and their nanoseconds (0 where a run
     * is not timed). */
    uint64_t count[DIFF_SIDES], amount[DIFF_SIDES];
    /* Alive anywhere in the iteration, for sites: tensors and their bytes. Else as above. 0 tensors or operations: the row
     * is only in the other. */
    uint64_t all_count[DIFF_SIDES], all_amount[DIFF_SIDES];
    uint32_t site[DIFF_SIDES]; /* one of those that became this row; MODEL_NONE */
    enum diff_match match;     /* of sites */
};

struct diff_table { /* largest change first */
    struct diff_row *rows;
    size_t count, room;
};

enum diff_verdict { DIFF_NOTHING, DIFF_TIMES, DIFF_MORE }; /* all is the same; but for times; other figures differ */

struct diff {
    struct model *model[DIFF_SIDES]; /* borrowed */
    bool iterations; /* both have one; else there are neither categories nor sites, and figures and operations
                        are the runs' */
    bool timed;      /* the operations of both have times */
    struct diff_figure *figures;
    size_t figure_count, figure_room;
    char **notes; /* what limits the comparison, a sentence each */
    size_t note_count, note_room;
    struct diff_table categories, sites, operations;
    enum diff_verdict verdict;
};

/* NULL: no memory. The models have to stay as long as the result. */
struct diff *diff_create(struct model *before, struct model *after);
void diff_free(struct diff *diff); /* NULL is fine */

/* ---- between the files of the comparison ---- */

/* Numbers by name; begins as zeroes. */
struct diff_names {
    void *root;
};

/* The number of a name, 0 at first. NULL: no memory. Good until diff_names_free(). */
uint64_t *diff_names_at(struct diff_names *names, const char *name);
void diff_names_free(struct diff_names *names);

/* The row of this key, a new one at first. NULL: no memory. Good until the next row. */
struct diff_row *diff_table_at(struct diff_table *table, struct diff_names *rows, const char *key);

/* Largest change first; equals by name, which every row has by then. */
void diff_table_sort(struct diff_table *table);
void diff_table_free(struct diff_table *table);

/* How far the two values are apart. */
uint64_t diff_distance(const uint64_t value[DIFF_SIDES]);

/* Fills diff->sites, in no order. 0 or -ENOMEM. */
int diff_sites(struct diff *diff);

/* Names the rows of diff->sites by the frames that tell them apart. 0 or -ENOMEM. */
int diff_name_sites(struct diff *diff);
#endif
