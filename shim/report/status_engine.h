/* status_engine.h - the engine's figures on the status page. */
#ifndef SPILLWAY_SHIM_STATUS_ENGINE_H
#define SPILLWAY_SHIM_STATUS_ENGINE_H
#include "status_page.h"

/* The figures of mode swap (engine lock) and what start.c tells. */
void spw_status_fill_engine(struct spw_status_page *page);
#endif
