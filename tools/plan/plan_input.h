/* plan_input.h - the iteration in a file, whatever kind of file it is: an iteration as JSON, or a trace. */
#ifndef SPILLWAY_TOOLS_PLAN_INPUT_H
#define SPILLWAY_TOOLS_PLAN_INPUT_H
#include "iteration_file.h"

struct plan_input {
    const char *path; /* "-" is standard input, which has to be JSON */
    uint32_t device;  /* of a trace: tensors of this device */
    bool partial;     /* of a damaged trace: what can be read */
};

/* 0 and `ret_iteration`; otherwise the exit status, with what is wrong on stderr. */
int plan_input(const struct plan_input *input, struct iteration *ret_iteration);

/* A JSON text in a file. Likewise. */
int plan_input_text(const char *path, struct json_text *ret_text);
#endif
