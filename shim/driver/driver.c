/* driver.c - the table of the real driver's functions. */
#include "driver.h"

struct spw_driver spw_driver;
