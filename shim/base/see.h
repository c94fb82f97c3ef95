/* see.h - makes the end of a message, which says where the message is explained. */
#ifndef SPILLWAY_SHIM_SEE_H
#define SPILLWAY_SHIM_SEE_H

/* A literal to append to a message's literal. `section` is a heading of docs/troubleshooting.md, also a literal; a test
 * checks that it exists. */
#define SPW_SEE(section) " (see troubleshooting: " section ")"
#endif
