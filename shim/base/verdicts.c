/* verdicts.c - the names and texts of verdicts on replays. */
#include "verdicts.h"

const char *spw_replay_verdict_name(enum spw_replay_verdict verdict)
{
    static const char *const names[] = {
#define X(symbol, name, text) name,
        SPW_REPLAY_VERDICTS(X)
#undef X
    };
    return names[verdict];
}

const char *spw_replay_verdict_text(enum spw_replay_verdict verdict)
{
    static const char *const texts[] = {
#define X(symbol, name, text) text,
        SPW_REPLAY_VERDICTS(X)
#undef X
    };
    return texts[verdict];
}
