/* note.h - how the wrapper of a noted call tells the recorder of it: for api.c and note_*.c.
 *
 * For each line of calls.h of a kind with NOTE in its name there is spw_noted_<symbol>(), with the call's own parameters. Of
 * kind ..._THEN_NOTE it is called when the driver has done it; of kind NOTE_THEN_... before, because afterwards what the
 * call names means nothing any more. */
#ifndef SPILLWAY_SHIM_NOTE_H
#define SPILLWAY_SHIM_NOTE_H
#include "calls.h"
#include "recorder.h"

#define SPW_DECLARE_NOTE_PASS(symbol, params)
#define SPW_DECLARE_NOTE_HOOK(symbol, params)
#define SPW_DECLARE_NOTE_EDGE(symbol, params)
#define SPW_DECLARE_NOTE_PASS_THEN_NOTE(symbol, params) void spw_noted_##symbol params;
#define SPW_DECLARE_NOTE_HOOK_THEN_NOTE(symbol, params) void spw_noted_##symbol params;
#define SPW_DECLARE_NOTE_NOTE_THEN_PASS(symbol, params) void spw_noted_##symbol params;
#define SPW_DECLARE_NOTE_NOTE_THEN_HOOK(symbol, params) void spw_noted_##symbol params;
#define X(kind, symbol, asked, params, args)            SPW_DECLARE_NOTE_##kind(symbol, params)
SPW_DRIVER_CALLS(X)
#undef X

/* The stream of a call is recognised by what cuda.h names its parameters, as its bytes are (count.h): inside a wrapper the
 * parameter hides the constant of that name here. A call that names none is on the default stream. */
static const CUstream hStream = NULL;
static const CUlaunchConfig *const config = NULL;

static inline __attribute__((always_inline)) bool spw_is_per_thread(const char *symbol)
{
    size_t n = __builtin_strlen(symbol);
    return n > 5 && (__builtin_strcmp(symbol + n - 5, "_ptsz") == 0 || __builtin_strcmp(symbol + n - 5, "_ptds") == 0);
}

static inline CUstream spw_stream_of_call(CUstream named, const CUlaunchConfig *launch, bool per_thread)
{
    CUstream stream = launch ? launch->hStream : named;
    return stream || !per_thread ? stream : CU_STREAM_PER_THREAD;
}

#define SPW_STREAM(symbol) spw_stream_of_call(hStream, config, spw_is_per_thread(#symbol))
#endif
