/* program.c - linear programs as lists of columns, rows and terms. */
#include "program.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

void fluid_out_of_memory(void)
{
    fputs("fluid: out of memory\n", stderr);
    exit(1);
}

void *fluid_room(size_t count, size_t size)
{
    void *list = calloc(count + 1, size);
    if (!list)
        fluid_out_of_memory();
    return list;
}

static void *grown(void *list, size_t wanted, size_t *room, size_t size)
{
    if (wanted <= *room)
        return list;
    list = reallocarray(list, 2 * wanted + 1024, size);
    if (!list)
        fluid_out_of_memory();
    *room = 2 * wanted + 1024;
    return list;
}

int program_column(struct program *program, double low, double high, double cost)
{
    size_t room = program->column_room;
    program->cost = grown(program->cost, program->columns + 1, &room, sizeof *program->cost);
    room = program->column_room;
    program->low = grown(program->low, program->columns + 1, &room, sizeof *program->low);
    program->high = grown(program->high, program->columns + 1, &program->column_room, sizeof *program->high);
    program->cost[program->columns] = cost;
    program->low[program->columns] = low;
    program->high[program->columns] = high;
    return (int)program->columns++;
}

void program_row(struct program *program, double least, double most)
{
    size_t room = program->row_room;
    program->least = grown(program->least, program->rows + 2, &room, sizeof *program->least);
    room = program->row_room;
    program->most = grown(program->most, program->rows + 2, &room, sizeof *program->most);
    program->first = grown(program->first, program->rows + 2, &program->row_room, sizeof *program->first);
    program->least[program->rows] = least;
    program->most[program->rows] = most;
    program->first[program->rows++] = program->terms;
    program->first[program->rows] = program->terms;
}

void program_term(struct program *program, int column, double factor)
{
    size_t room = program->term_room;
    program->term_column = grown(program->term_column, program->terms + 1, &room, sizeof *program->term_column);
    program->term_factor =
        grown(program->term_factor, program->terms + 1, &program->term_room, sizeof *program->term_factor);
    program->term_column[program->terms] = column;
    program->term_factor[program->terms++] = factor;
    program->first[program->rows] = program->terms;
}

void program_finish(struct program *program)
{
    free(program->cost);
    free(program->low);
    free(program->high);
    free(program->least);
    free(program->most);
    free(program->first);
    free(program->term_column);
    free(program->term_factor);
    *program = (struct program){0};
}

/* Prices that the rows may have: none beyond a limit that there is not; and where a column has no upper limit and its rows'
 * prices come to more than it costs, all of them are scaled down until they do not. */
static void mend(const struct program *program, const double *prices, double *mended)
{
    double *sums = fluid_room(program->columns, sizeof *sums);
    for (size_t i = 0; i < program->rows; i++) {
        mended[i] = isinf(prices[i] > 0 ? program->least[i] : program->most[i]) || !isfinite(prices[i]) ? 0 : prices[i];
        for (size_t at = program->first[i]; at < program->first[i + 1]; at++)
            if (isinf(program->high[program->term_column[at]]))
                sums[program->term_column[at]] += fmax(0, mended[i] * program->term_factor[at]);
    }
    for (size_t i = 0; i < program->rows; i++)
        for (size_t at = program->first[i]; at < program->first[i + 1]; at++) {
            const int column = program->term_column[at];
            if (isinf(program->high[column]) && sums[column] > program->cost[column] &&
                program->term_factor[at] * mended[i] > 0)
                mended[i] *= program->cost[column] / sums[column];
        }
    free(sums);
}

/* With prices y, cost x = y A x + (cost - y A) x. The first part is at least the price of each row's nearer limit, the
 * second at least its value where each column is at the limit that suits it. */
double program_proven(const struct program *program, const double *prices)
{
    long double proven = 0;
    double *left = fluid_room(program->columns, sizeof *left), *mended = fluid_room(program->rows, sizeof *mended);
    mend(program, prices, mended);
    for (size_t i = 0; i < program->columns; i++)
        left[i] = program->cost[i];
    for (size_t i = 0; i < program->rows; i++) {
        if (mended[i] == 0)
            continue;
        proven += (long double)mended[i] * (mended[i] > 0 ? program->least[i] : program->most[i]);
        for (size_t at = program->first[i]; at < program->first[i + 1]; at++)
            left[program->term_column[at]] -= mended[i] * program->term_factor[at];
    }
    for (size_t i = 0; i < program->columns; i++) {
        /* Below 0 by rounding alone where mend() has seen to it. */
        const bool at_high = left[i] < (isinf(program->high[i]) ? -1e-12 : 0);
        proven += (long double)left[i] * (at_high ? program->high[i] : program->low[i]);
    }
    free(left);
    free(mended);
    return (double)proven;
}

void program_write(const struct program *program, FILE *to)
{
    fputs("NAME fluid\nROWS\n N COST\n", to);
    for (size_t i = 0; i < program->rows; i++)
        fprintf(to, " %c R%zu\n", program->least[i] == program->most[i] ? 'E' : isinf(program->most[i]) ? 'G' : 'L', i);
    size_t *start = fluid_room(program->columns + 1, sizeof *start), *order = fluid_room(program->terms, sizeof *order);
    size_t *row_of = fluid_room(program->terms, sizeof *row_of);
    for (size_t i = 0; i < program->terms; i++)
        start[program->term_column[i] + 2]++;
    for (size_t i = 1; i < program->columns; i++)
        start[i + 1] += start[i];
    for (size_t row = 0; row < program->rows; row++)
        for (size_t at = program->first[row]; at < program->first[row + 1]; at++) {
            const size_t place = start[program->term_column[at] + 1]++;
            order[place] = at;
            row_of[place] = row;
        }
    fputs("COLUMNS\n", to);
    for (size_t i = 0; i < program->columns; i++) {
        fprintf(to, " C%zu COST %.17g\n", i, program->cost[i]);
        for (size_t place = start[i]; place < start[i + 1]; place++)
            fprintf(to, " C%zu R%zu %.17g\n", i, row_of[place], program->term_factor[order[place]]);
    }
    fputs("RHS\n", to);
    for (size_t i = 0; i < program->rows; i++)
        fprintf(to, " RHS R%zu %.17g\n", i, isinf(program->most[i]) ? program->least[i] : program->most[i]);
    fputs("RANGES\n", to);
    for (size_t i = 0; i < program->rows; i++)
        if (!isinf(program->least[i]) && !isinf(program->most[i]) && program->least[i] < program->most[i])
            fprintf(to, " RNG R%zu %.17g\n", i, program->most[i] - program->least[i]);
    fputs("BOUNDS\n", to);
    for (size_t i = 0; i < program->columns; i++)
        if (isinf(program->high[i]))
            fprintf(to, " LO BND C%zu %.17g\n", i, program->low[i]);
        else
            fprintf(to, " LO BND C%zu %.17g\n UP BND C%zu %.17g\n", i, program->low[i], i, program->high[i]);
    fputs("ENDATA\n", to);
    free(start);
    free(order);
    free(row_of);
}
