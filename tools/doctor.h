/* doctor.h - the part of `spillway doctor` that runs as a program under the library. */
#ifndef SPILLWAY_TOOLS_DOCTOR_H
#define SPILLWAY_TOOLS_DOCTOR_H

#define DOCTOR_INSIDE "--inside" /* the argument by which doctor starts it */

/* Looks at the driver as any program would, and prints what it sees. The exit status: 0 when every call that is to be
 * seen is seen, or there is no driver. */
int doctor_inside(void);
#endif
