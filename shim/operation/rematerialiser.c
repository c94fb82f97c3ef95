/* rematerialiser.c - who makes dropped blocks again, if anybody does. */
#include "rematerialiser.h"

const struct spw_rematerialiser *spw_rematerialiser;
