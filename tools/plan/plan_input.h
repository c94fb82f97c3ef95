/* plan_input.h - reads the iteration in a file of either kind: an iteration as JSON, or a trace. */
#ifndef SPILLWAY_TOOLS_PLAN_INPUT_H
#define SPILLWAY_TOOLS_PLAN_INPUT_H
#include "iteration_file.h"

struct plan_input {
    const char *path; /* "-" is standard input, which has to be JSON */
    uint32_t device;  /* of a trace: tensors of this device */
    bool partial;     /* of a damaged trace: use what can be read */
};

/* Returns 0 and `ret_iteration`; otherwise the exit status, with the problem on stderr. */
int plan_input(const struct plan_input *input, struct iteration *ret_iteration);

/* Reads a file with a JSON text. Returns as plan_input() does. */
int plan_input_text(const char *path, struct json_text *ret_text);
#endif
