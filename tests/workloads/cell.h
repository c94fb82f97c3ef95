/* cell.h - one step of an LSTM after its matrix products: gates, cell and output.
 *
 * `gates` has four parts per row, of the width of the cell: input, forget, candidate, output. */
#ifndef WORKLOADS_CELL_H
#define WORKLOADS_CELL_H
#include "array.h"

/* Turns the sums in `gates` into the gates' values, in place. */
void lstm_cell(const tensor &gates, const tensor &cell_before, const tensor &cell, const tensor &output);
/* `dcell` may be none: nothing comes back from a later step. */
void lstm_cell_gradient(const tensor &gates, const tensor &cell_before, const tensor &cell, const tensor &doutput,
                        const tensor &dcell, const tensor &dgates, const tensor &dcell_before);
#endif
