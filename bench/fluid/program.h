/* program.h - a linear program: columns with bounds and costs, rows with a least and a most, and what any prices prove of
 * it. */
#ifndef SPILLWAY_BENCH_FLUID_PROGRAM_H
#define SPILLWAY_BENCH_FLUID_PROGRAM_H
#include <stddef.h>
#include <stdio.h>

/* Least cost, subject to least <= row <= most and low <= column <= high; -INFINITY and INFINITY where there is no limit.
 * Every column has a lower limit. Running out of memory ends the process: this is a tool. */
struct program {
    size_t columns, rows, terms, column_room, row_room, term_room;
    double *cost, *low, *high; /* of the columns */
    double *least, *most;      /* of the rows */
    size_t *first;             /* of the rows: the first of its terms */
    int *term_column;
    double *term_factor;
};

int program_column(struct program *program, double low, double high, double cost); /* its index */
/* A row takes the terms that are added until the next row. */
void program_row(struct program *program, double least, double most);
void program_term(struct program *program, int column, double factor);
void program_finish(struct program *program);

/* What prices of the rows prove: no solution costs less. Whatever the prices are, this holds; the best ones are those of an
 * optimal solution. Prices of the wrong sign count as 0. */
double program_proven(const struct program *program, const double *prices);
enum program_outcome { SOLVED, NO_SOLUTION, STOPPED };
/* Solves it with CLP, for at most about so many seconds. `prices`, one for each row, are such as they are then. */
enum program_outcome program_solve(const struct program *program, double seconds, double *prices);
/* In the fixed form of MPS files: rows R0, R1, ... and columns C0, C1, ... */
void program_write(const struct program *program, FILE *to);

/* For free(); zeroed. Where there is no memory the process ends. */
void *fluid_room(size_t count, size_t size);
_Noreturn void fluid_out_of_memory(void);
#endif
