/* ours.h - marks variables that every launch reads as internal to the library, so that they are accessed directly, not
 * through an indirection as another library's would be. */
#ifndef SPILLWAY_SHIM_OURS_H
#define SPILLWAY_SHIM_OURS_H
#define SPW_OURS __attribute__((visibility("hidden")))

/* Marks what programs find by its name. */
#define SPW_EXPORT __attribute__((visibility("default")))
#endif
