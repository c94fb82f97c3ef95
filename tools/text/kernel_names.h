/* kernel_names.h - makes names of kernels for people. */
#ifndef SPILLWAY_TOOLS_KERNEL_NAMES_H
#define SPILLWAY_TOOLS_KERNEL_NAMES_H

/* Returns "space::f<float>" for a mangled symbol, without result and parameters; other texts are returned as they are.
 * The caller frees it; NULL without memory. */
char *kernel_readable_name(const char *symbol);

/* Returns "f<MulFunctor>" for a readable name: without name spaces, and with only the most informative word of a
 * template's arguments. Different kernels may get the same name. A text that is no C++ name is returned as it is. The
 * caller frees it; NULL without memory. */
char *kernel_short_name(const char *readable);
#endif
