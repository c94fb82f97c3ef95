/* solve.c - solves a linear program with CLP. */
#include "program.h"

#include <Clp_C_Interface.h>
#include <stdlib.h>
#include <string.h>

static void fill(Clp_Simplex *clp, const struct program *program)
{
    Clp_resize(clp, 0, (int)program->columns);
    memcpy(Clp_objective(clp), program->cost, program->columns * sizeof(double));
    memcpy(Clp_columnLower(clp), program->low, program->columns * sizeof(double));
    memcpy(Clp_columnUpper(clp), program->high, program->columns * sizeof(double));
    int *starts = calloc(program->rows + 1, sizeof *starts);
    if (!starts)
        exit(1);
    for (size_t i = 0; i <= program->rows; i++)
        starts[i] = (int)program->first[i];
    Clp_addRows(clp, (int)program->rows, program->least, program->most, starts, program->term_column, program->term_factor);
    free(starts);
}

/* The simplex method proves for certain that there is no solution, and is fast for small programs; for large ones the
 * interior point method is. Neither has to be exact, since the proof follows from the prices. */
enum program_outcome program_solve(const struct program *program, double seconds, double *prices)
{
    Clp_Simplex *clp = Clp_newModel();
    Clp_setLogLevel(clp, 0);
    fill(clp, program);
    Clp_setMaximumSeconds(clp, seconds);
    if (program->rows < 4000)
        (void)Clp_initialDualSolve(clp);
    else
        (void)Clp_initialBarrierNoCrossSolve(clp);
    memcpy(prices, Clp_dualRowSolution(clp), program->rows * sizeof *prices);
    const int status = Clp_status(clp);
    Clp_deleteModel(clp);
    return status == 0 ? SOLVED : status == 1 ? NO_SOLUTION : STOPPED;
}
