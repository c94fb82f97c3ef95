/* recorder_lock.c - the lock of the recorder. */
#include "recorder_lock.h"

atomic_int spw_recorder_lock;
