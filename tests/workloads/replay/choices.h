/* choices.h - the command line of replay. */
#ifndef REPLAY_CHOICES_H
#define REPLAY_CHOICES_H
#include "layer.h"
#include <vector>

struct kind {
    const char *name;
    bool usual;     /* without --kinds */
    bool is_hazard; /* not among all either */
    forward compute;
};

struct choices {
    std::vector<const kind *> layers;
    size_t rows, columns; /* of each tensor */
    int steps, device, streams;
    uint64_t seed;
    bool step_times, naive;
    enum allocator allocator;
};

/* Ends the program with a message and status 2 when the command line is wrong, and after --help. */
struct choices read_choices(int argc, char **argv);
#endif
