/* verdicts.h - the verdicts on operations: whether they may be submitted again instead of keeping what they made, and if
 * not, why.
 *
 * Verdicts are kept for three things, each for its own reasons; a launch is run again if none of them objects:
 *
 *     a class of launches, on a device: what probes have shown, before a plan makes use of it    launch_class.h
 *         not tried --tried, and right--> replayable --writes more than it was tried with--> not tried
 *             |                               |
 *             +--tried, and wrong-------------+--> refused, with a verdict
 *     a function, in the process:       condemned once a replay of it was wrong                  launch_class.h
 *     an operation of a course:         whether it was compared; barred once it was wrong        verify_records.h
 *
 * All three refuse for good. Operations that are refused before anything was tried are found where a launch is kept
 * (recorded_op.h). */
#ifndef SPILLWAY_SHIM_VERDICTS_H
#define SPILLWAY_SHIM_VERDICTS_H

/* One line each: name in files, and text for people. The first two are no refusals. */
#define SPW_REPLAY_VERDICTS(X) \
    X(SPW_REPLAY_NOT_TRIED, "not-tried", "it was not tried") \
    X(SPW_REPLAYABLE, "replayable", "it can be replayed") \
    X(SPW_REPLAY_DIFFERS, "differs", "it gives something else from one run to the next") \
    X(SPW_REPLAY_HIDDEN_STATE, "hidden-state", "it depends on something that its parameters do not lead to") \
    X(SPW_REPLAY_EVENTS, "events", "it was launched with attributes that carry events or nodes of a graph") \
    X(SPW_REPLAY_CAPTURED, "captured", "it is a part of a graph") \
    X(SPW_REPLAY_COLLECTIVE, "collective", "it communicates with other devices") \
    X(SPW_REPLAY_UNPARSED, "unparsed", "its parameters cannot be parsed") \
    X(SPW_REPLAY_OTHER_CALL, "other-call", "it is a call of a kind that is not kept") \
    X(SPW_REPLAY_POINTER_TABLE, "pointer-table", "it follows addresses that lie in memory") \
    X(SPW_REPLAY_OUTSIDE_MEMORY, "outside-memory", "it touches memory that is not the program's device memory alone") \
    X(SPW_REPLAY_UNSEEN_ORDER, "unseen-order", \
      "the program orders its streams by values in memory or by semaphores, so what comes first cannot be seen") \
    X(SPW_REPLAY_TOO_LARGE, "too-large", \
      "what it touches does not fit into scratch memory, or its record into the room for records") \
    X(SPW_REPLAY_MISMATCH, "mismatch", "a replay gave other bytes than the program's launch") \
    X(SPW_REPLAY_NO_TWIN, "no-twin", "its module cannot be loaded a second time, where running it again harms nobody") \
    X(SPW_REPLAY_MODULE_STATE, "module-state", \
      "its module's variables are not known, hold addresses or are too large to be saved, or its kernels allocate memory") \
    X(SPW_REPLAY_PRINTS, "prints", "it may print, which would be seen once more")

enum spw_replay_verdict {
#define X(symbol, name, text) symbol,
    SPW_REPLAY_VERDICTS(X)
#undef X
        SPW_REPLAY_VERDICT_COUNT
};

const char *spw_replay_verdict_name(enum spw_replay_verdict verdict);
const char *spw_replay_verdict_text(enum spw_replay_verdict verdict);
#endif
