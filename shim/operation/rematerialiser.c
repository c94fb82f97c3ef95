/* rematerialiser.c - the pointer to the rematerialiser. */
#include "rematerialiser.h"

const struct spw_rematerialiser *spw_rematerialiser;
