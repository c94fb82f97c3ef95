/* doctor.h - the parts of `spillway doctor`: each adds what it finds, what is wrong, and what would be better otherwise. */
#ifndef SPILLWAY_TOOLS_DOCTOR_H
#define SPILLWAY_TOOLS_DOCTOR_H
#include <stdint.h>

#include "facts.h"
#include "settings.h"

#define DOCTOR_INSIDE "--inside" /* followed by a file descriptor: how doctor starts itself under the library */

/* What LD_PRELOAD names, and whether another installation is there; `library` is ours, NULL when that is not found. */
void doctor_installation(struct facts *facts, const char *library);

/* The settings in force, with defaults for those that are refused. */
void doctor_settings(struct facts *facts, struct spw_settings *ret_settings);

/* Runs this command under the library, to see the driver as a program would. */
void doctor_driver(struct facts *facts, const char *library);

/* In that process: looks up every covered driver call in each way that programs use, and says which are ours. The exit
 * status: 0 unless the driver could not be looked at. */
int doctor_inside(struct facts *facts);

/* Whether the machine lets a process reach its devices and place memory, and whether another library stands in the way of
 * `library`, ours; NULL when that is not found. */
void doctor_machine(struct facts *facts, const char *library);

/* What a program may pin; after doctor_driver(), because it is held against the device's memory. */
void doctor_host(struct facts *facts, const struct spw_settings *settings);

/* Whether traces would be written, with stacks and names, and whether spillway top would see a process. */
void doctor_tracing(struct facts *facts, const struct spw_settings *settings);

/* What PyTorch, JAX and TensorFlow are told by the environment. */
void doctor_frameworks(struct facts *facts);
#endif
