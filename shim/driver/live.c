/* live.c - the variables that every wrapper reads. */
#include "live.h"

int spw_live;
__thread int spw_inside;
