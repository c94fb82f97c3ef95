/* see.h - where a message is explained: the end of each message that asks something of its reader. */
#ifndef SPILLWAY_SHIM_SEE_H
#define SPILLWAY_SHIM_SEE_H

/* A literal that goes behind a message's own. `section` is the heading of a part of docs/troubleshooting.md, also a literal;
 * a test holds both against each other. */
#define SPW_SEE(section) " (see troubleshooting: " section ")"
#endif
