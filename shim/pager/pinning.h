/* pinning.h - pin.h as pointer tables need it, which are below it. */
#ifndef SPILLWAY_SHIM_PINNING_H
#define SPILLWAY_SHIM_PINNING_H
#include "ours.h"
#include "pointer_tables.h"

/* What fails is remembered by spw_pin_failure as well. */
extern const struct spw_pinning spw_pinning SPW_OURS;
#endif
