/* state.c - the few variables that every wrapper looks at. */
#include "api.h"
#include "driver.h"
#include "hooks.h"

struct spw_driver spw_driver;
int spw_live;
__thread int spw_inside;
