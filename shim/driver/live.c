/* live.c - the variables that every wrapper looks at. */
#include "live.h"

int spw_live;
__thread int spw_inside;
