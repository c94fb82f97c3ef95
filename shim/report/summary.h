/* summary.h - what spillway tells when the process ends: one line for people, a JSON file when asked for. */
#ifndef SPILLWAY_SHIM_SUMMARY_H
#define SPILLWAY_SHIM_SUMMARY_H

/* From now on this process, and not its forked children, tells at its end. */
void spw_summary_arm(void);
#endif
