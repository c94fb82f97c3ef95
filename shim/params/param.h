/* param.h - where one parameter of a kernel lies. */
#ifndef SPILLWAY_SHIM_PARAM_H
#define SPILLWAY_SHIM_PARAM_H
#include <stdint.h>

struct spw_param {
    uint16_t offset_bytes; /* in the device's parameter image; a host struct does not show it */
    uint16_t size_bytes;
};
#endif
