/* stand_ins_table.h - makes the stand-ins of one file out of its list of calls. Included once by each such file, which
 * defines before:
 *
 *     CALLS(X)                                          X(name, parameters, arguments, before, after) for each call
 *     STAND_IN_BODY(name, arguments, before, after)     what a stand-in does, with `real` as the function that it calls
 *     NOT_THERE                                         what a call returns if there is no such function
 *     other_library                                     a struct spw_other_library
 *
 * Afterwards `ours` is the list that look-ups are answered from, with CALL_COUNT stand-ins. */

#define X(name, parameters, arguments, before, after) \
    __attribute__((visibility("default"))) int name parameters; \
    int name parameters \
    { \
        static struct spw_call_sites known; \
        int(*real) parameters = spw_stand_in_real(&other_library, &known, #name, __builtin_return_address(0)); \
        if (!real) \
            return NOT_THERE; \
        STAND_IN_BODY(name, arguments, before, after) \
    }
CALLS(X)
#undef X

/* ---- those that are looked up ---- */

enum call {
#define X(name, ...) CALL_##name,
    CALLS(X)
#undef X
        CALL_COUNT
};
static void *found[CALL_COUNT][SPW_STAND_INS];

#define PLACE(place, name, parameters, arguments, before, after) \
    static int name##_##place parameters \
    { \
        int(*real) parameters = __atomic_load_n(&found[CALL_##name][place], __ATOMIC_ACQUIRE); \
        STAND_IN_BODY(name, arguments, before, after) \
    }
#define X(...) SPW_EACH_STAND_IN(PLACE, __VA_ARGS__)
CALLS(X)
#undef X
#undef PLACE

static const struct spw_stand_in ours[CALL_COUNT] = {
#define PLACE(place, name, ...) (void *)name##_##place,
#define X(name, ...)            {#name, {SPW_EACH_STAND_IN(PLACE, name, )}, found[CALL_##name]},
    CALLS(X)
#undef X
#undef PLACE
};
