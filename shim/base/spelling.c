/* spelling.c - computes how many letters two names differ by (Levenshtein distance), one row of the table at a time. */
#include "spelling.h"

unsigned spw_spelling_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned row[64];
    if (b_length > 63)
        b_length = 63;
    for (size_t j = 0; j <= b_length; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned replaced = diagonal + (a[i - 1] != b[j - 1]);
            unsigned shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replaced < shorter ? replaced : shorter;
        }
    }
    return row[b_length];
}
