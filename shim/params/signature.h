/* signature.h - what the C++ type of a kernel says of its pointers: a compiler writes the types of the parameters into the
 * name (Itanium C++ ABI, section 5.1, Mangling), const or not.
 *
 * A kernel whose parameter is a pointer to something that is not const says that it may write there, however often it was
 * seen not to. Names in C, and those of Triton, say nothing; neither does a parameter that holds pointers in a structure. */
#ifndef SPILLWAY_SHIM_SIGNATURE_H
#define SPILLWAY_SHIM_SIGNATURE_H

#include <stdint.h>

/* Of a launch: a bit for each of its hits. */
struct spw_declared {
    uint64_t mutable;  /* it may write there, so that no belief of the contrary is held, whatever it was seen to do */
    uint64_t constant; /* it only reads there */
};

enum spw_pointee {
    SPW_POINTEE_UNKNOWN, /* no pointer, or a type that is not told */
    SPW_POINTEE_CONST,
    SPW_POINTEE_MUTABLE
};

/* The parameters of the function of that mangled name, in order: so many of them are in ret_pointees, `room` at most. 0:
 * there are none, or the name does not say. */
unsigned spw_signature_read(const char *name, enum spw_pointee ret_pointees[], unsigned room);
#endif
