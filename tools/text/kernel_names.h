/* kernel_names.h - what a kernel is called, for people. */
#ifndef SPILLWAY_TOOLS_KERNEL_NAMES_H
#define SPILLWAY_TOOLS_KERNEL_NAMES_H

/* "space::f<float>" of a mangled symbol, without result and parameters; what is no such symbol as it is. The caller's; NULL:
 * no memory. */
char *kernel_readable_name(const char *symbol);

/* "f<MulFunctor>" of a readable name: without name spaces, and of a template's arguments the word alone that says most.
 * Different kernels may get the same one. What is no name of C++ as it is. The caller's; NULL: no memory. */
char *kernel_short_name(const char *readable);
#endif
