/* ours.h - marks variables that every launch reads as the library's own, so that they are reached without the detour that
 * another library's would need. */
#ifndef SPILLWAY_SHIM_OURS_H
#define SPILLWAY_SHIM_OURS_H
#define SPW_OURS __attribute__((visibility("hidden")))

/* What programs find by its name. */
#define SPW_EXPORT __attribute__((visibility("default")))
#endif
