/* pinning.h - offers the functions of pin.h to pointer tables, which are a layer below it. */
#ifndef SPILLWAY_SHIM_PINNING_H
#define SPILLWAY_SHIM_PINNING_H
#include "ours.h"
#include "pointer_tables.h"

/* A failure is also left in spw_pin_failure. */
extern const struct spw_pinning spw_pinning SPW_OURS;
#endif
