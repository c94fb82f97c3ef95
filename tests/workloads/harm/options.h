/* options.h - what harm is told, or draws at random. */
#ifndef HARM_OPTIONS_H
#define HARM_OPTIONS_H
#include "layer.h"

struct place {
    const struct kind *kind; /* nullptr: a plain layer */
    size_t count;            /* words in its tensors */
};

enum beside_work { NOTHING, CAPTURES, LAUNCHES }; /* what a second thread does all the while */

struct options {
    std::vector<place> places;
    int steps = 40;
    uint32_t late = 30, seed = 1;
    enum allocator allocator = ALLOCATE_ASYNC;
    enum beside_work beside = NOTHING;
};

/* Ends the program with status 2, or after a list of kinds with 0. */
struct options read_options(char **argv);
#endif
