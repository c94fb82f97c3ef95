/* program.h - a linear program: columns with bounds and costs, rows with lower and upper limits, and the bound that any
 * prices prove. */
#ifndef SPILLWAY_BENCH_FLUID_PROGRAM_H
#define SPILLWAY_BENCH_FLUID_PROGRAM_H
#include <stddef.h>
#include <stdio.h>

/* Minimises the cost, subject to least <= row <= most and low <= column <= high; -INFINITY and INFINITY: no limit. Every
 * column has a lower limit. Running out of memory ends the process, since this is a tool. */
struct program {
    size_t columns, rows, terms, column_room, row_room, term_room;
    double *cost, *low, *high; /* of the columns */
    double *least, *most;      /* of the rows */
    size_t *first;             /* of the rows: the first of its terms */
    int *term_column;
    double *term_factor;
};

int program_column(struct program *program, double low, double high, double cost); /* returns its index */
/* Begins a row, which takes the terms that are added until the next row. */
void program_row(struct program *program, double least, double most);
void program_term(struct program *program, int column, double factor);
void program_finish(struct program *program);

/* Returns what prices of the rows prove: no solution costs less. This holds for any prices; the best ones are those of an
 * optimal solution. Prices of the wrong sign count as 0. */
double program_proven(const struct program *program, const double *prices);
enum program_outcome { SOLVED, NO_SOLUTION, STOPPED };
/* Solves it with CLP, for at most about `seconds`. `prices` gets one price for each row, as they are then. */
enum program_outcome program_solve(const struct program *program, double seconds, double *prices);
/* Writes it in the fixed form of MPS files: rows R0, R1, ... and columns C0, C1, ... */
void program_write(const struct program *program, FILE *to);

/* Allocates zeroed memory, to be freed with free(). Without memory the process ends. */
void *fluid_room(size_t count, size_t size);
_Noreturn void fluid_out_of_memory(void);
#endif
