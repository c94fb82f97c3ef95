/* pin.h - beside access.h's spw_pin_address() and spw_pin_everything(): how it went. */
#ifndef SPILLWAY_SHIM_PIN_H
#define SPILLWAY_SHIM_PIN_H
#include <stdint.h>

#include "access.h"

/* Bytes that were ever pinned, and why the last of them were. Engine lock. */
uint64_t spw_pinned_bytes_locked(const char **ret_why);
#endif
