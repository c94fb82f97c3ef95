/* state.c - the few variables that every wrapper looks at. */
#include "live.h"

struct spw_driver spw_driver;
int spw_live;
__thread int spw_inside;
