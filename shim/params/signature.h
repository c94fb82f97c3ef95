/* signature.h - reads from a mangled name which pointers of a kernel are const: a C++ compiler writes the parameters' types
 * into the name (Itanium C++ ABI, section 5.1, Mangling).
 *
 * A kernel with a pointer to non-const says that it may write there, however often it was seen not to. Names in C, and
 * Triton's, say nothing; neither does a parameter that holds pointers in a structure. */
#ifndef SPILLWAY_SHIM_SIGNATURE_H
#define SPILLWAY_SHIM_SIGNATURE_H

#include <stdint.h>

/* What is declared for a launch: a bit for each of its hits. */
struct spw_declared {
    uint64_t mutable;  /* it may write there, so it is never believed not to, whatever was observed */
    uint64_t constant; /* it only reads there */
};

enum spw_pointee {
    SPW_POINTEE_UNKNOWN, /* no pointer, or its type is not in the name */
    SPW_POINTEE_CONST,
    SPW_POINTEE_MUTABLE
};

/* Stores what the parameters of the function of that mangled name point to, in order, `room` parameters at most. Returns
 * how many were stored; 0: there are none, or the name does not say. */
unsigned spw_signature_read(const char *name, enum spw_pointee ret_pointees[], unsigned room);
#endif
