/* recorder_lock.h - the lock of the recorder (rank SPW_LOCK_RECORDER): guards what its parts know, including sites,
 * definitions and the pointer map. No driver call is made with it. */
#ifndef SPILLWAY_SHIM_RECORDER_LOCK_H
#define SPILLWAY_SHIM_RECORDER_LOCK_H
#include "lock.h"
#include "ours.h"
#include <stdatomic.h>

extern atomic_int spw_recorder_lock SPW_OURS;
#endif
