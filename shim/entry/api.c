/* api.c - exports the driver's symbols: one wrapper for each line of calls.h that is not EDGE. */
#include "api.h"
#include "count.h"
#include "hooks.h"
#include "live.h"
#include "note.h"
#include <string.h>

#define COUNT_AND_RETURN(symbol, result) \
    { \
        CUresult r = result; \
        if (r == CUDA_SUCCESS) \
            spw_count(SPW_CALL_##symbol, SPW_BYTES); \
        return r; \
    }

/* These calls go straight to the driver: those that it makes from within a hook, those that arrive before the start, and
 * those that it lacks. */
#define DEFINE_HOOKED(symbol, params, args) \
    static CUresult hooked_##symbol params \
    { \
        spw_inside = 1; \
        CUresult result = spw_on_##symbol args; \
        spw_inside = 0; \
        return result; \
    }
#define HOW __atomic_load_n(&spw_live, __ATOMIC_RELAXED)
#define HOOKED(symbol, args) \
    (HOW & SPW_HOOKS && !spw_inside && spw_driver.symbol ? hooked_##symbol args : SPW_PASS(symbol, args))

/* Calls from within a hook, or from another noted call, are not the program's and are not noted. */
#define NOTING (__builtin_expect(HOW & SPW_NOTES, 0) && !spw_inside)

/* The recorder asks the driver about what it meets, by names that may lead back here, so it counts as inside. */
#define NOTE(symbol, args) \
    { \
        spw_inside = 1; \
        spw_noted_##symbol args; \
        spw_inside = 0; \
    }
#define NOTE_BEGIN(symbol) \
    { \
        spw_inside = 1; \
        spw_note_begin(SPW_STREAM(symbol), __builtin_return_address(0), strstr(#symbol, "Synchronize") != NULL); \
        spw_inside = 0; \
    }

#define DEFINE_NOTING_AFTER(symbol, params, args, call) \
    static __attribute__((noinline)) CUresult noting_##symbol params \
    { \
        NOTE_BEGIN(symbol) \
        CUresult result = call; \
        if (result == CUDA_SUCCESS) \
            NOTE(symbol, args) \
        spw_note_end(); \
        return result; \
    }
#define DEFINE_NOTING_BEFORE(symbol, params, args, call) \
    static __attribute__((noinline)) CUresult noting_##symbol params \
    { \
        NOTE_BEGIN(symbol) \
        NOTE(symbol, args) \
        spw_note_end(); \
        return call; \
    }

#define DEFINE_PASS(symbol, params, args) CUresult CUDAAPI symbol params COUNT_AND_RETURN(symbol, SPW_PASS(symbol, args))
#define DEFINE_HOOK(symbol, params, args) \
    DEFINE_HOOKED(symbol, params, args) CUresult CUDAAPI symbol params COUNT_AND_RETURN(symbol, HOOKED(symbol, args))

#define DEFINE_NOTED_PASS(symbol, params, args) \
    CUresult CUDAAPI symbol params COUNT_AND_RETURN(symbol, NOTING ? noting_##symbol args : SPW_PASS(symbol, args))
/* The usual case is hooks alone: that is checked first, then notes alone. */
#define DEFINE_NOTED_HOOK(symbol, params, args) \
    static __attribute__((noinline)) CUresult rarely_##symbol params \
    { \
        return NOTING ? noting_##symbol args : HOOKED(symbol, args); \
    } \
    CUresult CUDAAPI symbol params \
    { \
        const int how = HOW; \
        COUNT_AND_RETURN(symbol, how == SPW_HOOKS && !spw_inside && spw_driver.symbol ? hooked_##symbol args \
                                 : how == SPW_NOTES && !spw_inside                    ? noting_##symbol args \
                                                                                      : rarely_##symbol args) \
    }

#define DEFINE_PASS_THEN_NOTE(symbol, params, args) \
    DEFINE_NOTING_AFTER(symbol, params, args, SPW_PASS(symbol, args)) DEFINE_NOTED_PASS(symbol, params, args)
#define DEFINE_NOTE_THEN_PASS(symbol, params, args) \
    DEFINE_NOTING_BEFORE(symbol, params, args, SPW_PASS(symbol, args)) DEFINE_NOTED_PASS(symbol, params, args)
#define DEFINE_HOOK_THEN_NOTE(symbol, params, args) \
    DEFINE_HOOKED(symbol, params, args) \
    DEFINE_NOTING_AFTER(symbol, params, args, HOOKED(symbol, args)) DEFINE_NOTED_HOOK(symbol, params, args)
#define DEFINE_NOTE_THEN_HOOK(symbol, params, args) \
    DEFINE_HOOKED(symbol, params, args) \
    DEFINE_NOTING_BEFORE(symbol, params, args, HOOKED(symbol, args)) DEFINE_NOTED_HOOK(symbol, params, args)

#define DEFINE_EDGE(symbol, params, args)

#define X(kind, symbol, asked, params, args) DEFINE_##kind(symbol, params, args)
SPW_DRIVER_CALLS(X)
#undef X
