/* note.h - how the wrapper of a noted call tells the recorder about it; for api.c and note_*.c.
 *
 * For each line of calls.h of a kind with NOTE in its name there is spw_noted_<symbol>(), with the call's own parameters.
 * For a kind ..._THEN_NOTE it is called after the driver call; for NOTE_THEN_... before it, since afterwards the call's
 * arguments mean nothing any more. */
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

/* The stream of a call is recognised by the names that cuda.h gives its parameters, as its bytes are (count.h): in a
 * wrapper, the parameter hides the constant of that name here. A call without such a parameter is on the default stream. */
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
