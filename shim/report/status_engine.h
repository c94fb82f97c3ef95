/* status_engine.h - fills in the engine's figures on the status page. */
#ifndef SPILLWAY_SHIM_STATUS_ENGINE_H
#define SPILLWAY_SHIM_STATUS_ENGINE_H
#include "status_page.h"

/* Fills in the figures of mode swap. Engine lock. */
void spw_status_fill_engine(struct spw_status_page *page);
#endif
