/* param.h - offset and size of one parameter of a kernel. */
#ifndef SPILLWAY_SHIM_PARAM_H
#define SPILLWAY_SHIM_PARAM_H
#include <stdint.h>

struct spw_param {
    uint16_t offset_bytes; /* in the device's parameter image; a struct of the host does not show it */
    uint16_t size_bytes;
};
#endif
