/* doctor.h - the parts of `spillway doctor`: each adds what it finds, what is wrong, and what could be improved. */
#ifndef SPILLWAY_TOOLS_DOCTOR_H
#define SPILLWAY_TOOLS_DOCTOR_H
#include <stdint.h>

#include "facts.h"
#include "settings.h"

#define DOCTOR_INSIDE "--inside" /* followed by a file descriptor: how doctor starts itself under the library */

/* Checks what LD_PRELOAD names, and looks for other installations. `library` is ours; NULL: not found. */
void doctor_installation(struct facts *facts, const char *library);

/* Reads the settings in force, with defaults for those that are refused. */
void doctor_settings(struct facts *facts, struct spw_settings *ret_settings);

/* Runs this command under the library, to see the driver as a program would. */
void doctor_driver(struct facts *facts, const char *library);

/* Runs in that process: looks up every covered driver call in each way that programs use, and says which are ours.
 * Returns the exit status: 0 unless the driver could not be examined. */
int doctor_inside(struct facts *facts);

/* Checks whether the machine lets a process use its devices and place memory, and whether another library interferes with
 * `library`, ours (NULL: not found). */
void doctor_machine(struct facts *facts, const char *library);

/* Checks how much a program may pin. To be called after doctor_driver(), since it is compared with the device's memory. */
void doctor_host(struct facts *facts, const struct spw_settings *settings);

/* Checks whether traces would be written, with stacks and names, and whether spillway top would see a process. */
void doctor_tracing(struct facts *facts, const struct spw_settings *settings);

/* Reports what the environment tells PyTorch, JAX and TensorFlow. */
void doctor_frameworks(struct facts *facts);
#endif
