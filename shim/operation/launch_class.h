/* launch_class.h - what is known of each class of launches: which of the addresses that a launch is given it writes to, as
 * was learned from what changed, what probes have shown of it, and whether a replay of its function was wrong. All of it
 * goes with the module, but the last.
 *
 * A launch is one of a class: the same function, and the same parameters that hold addresses of ours. An address is
 * taken to be written until several observations of its class, each with contents that a write would have been likely to
 * change, have seen it unchanged, and ever again after one that saw it change. A class of which no address is seen to be
 * written is not believed. Of a kernel's name only the types are used (signature.h). Engine lock throughout. */
#ifndef SPILLWAY_SHIM_LAUNCH_CLASS_H
#define SPILLWAY_SHIM_LAUNCH_CLASS_H
#include "ours.h"
#include "signature.h"
#include "verdicts.h"
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    SPW_CLASS_HITS = 64, /* of one launch; those behind are always taken to be written */
    SPW_CLASS_SURE = 2   /* observations */
};

struct spw_device;
struct spw_launch_class;

/* What probes have shown of the launches of a class on one device: probe_policy.h says what follows. */
struct spw_probed {
    struct spw_launch_class *class;  /* of which it is a part */
    struct spw_probed *next, *other; /* of the device; of the class, on another device */
    struct spw_device *device;
    uint8_t looks, tries, failures; /* ended; of either without an answer */
    bool under_way;
    uint64_t tried_at; /* geometry of the last probe */
    enum spw_replay_verdict verdict;
    bool is_strange; /* a launch came since the last look that was given other numbers than those looked at */

    /* in the iterations that came since the beginning */
    bool came, fits;          /* any launch did, and the memory for probes sufficed for it */
    bool fits_late;           /* or would for one, with the help of host memory */
    bool is_varied;           /* of those that fit: not all had the same geometry */
    uint64_t first_geometry;  /* that of the first of them */
    unsigned first_iteration; /* in which one came first */
};

struct spw_launch_class {
    CUfunction function;
    uint32_t *numbers;     /* of the first launch that was observed, followed by one for each: not 0 where others differed */
    uint32_t number_count; /* 0: none was observed; UINT32_MAX: there was no memory for those of the first */
    bool is_strange;       /* the launch that was asked about last is given other numbers than any that was observed */
    uint64_t places;
    uint64_t writes;              /* bit per hit, in the order of the parameters: it may be written */
    uint64_t changed;             /* bit per hit: it was seen to change */
    struct spw_declared declared; /* what the kernel's type says */
    bool is_declared;             /* that is known */
    uint32_t number;              /* of the set, never used again: what else is known of the class goes with it */
    uint8_t count;                /* hits */
    bool is_collective;           /* it talks to other devices */
    bool is_condemned;            /* of what stands for a whole function: a replay of it was wrong */
    uint8_t seen[SPW_CLASS_HITS]; /* observations that saw it unchanged, up to SPW_CLASS_SURE */
    struct spw_probed *probed;    /* of each device; NULL: of none */
};

/* The function as a bit, which a few may share. */
static inline uint64_t spw_launch_class_bit_of(CUfunction function)
{
    return UINT64_C(1) << ((uintptr_t)function * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

/* The class of a launch of `function`: `places` is a number made of where in its parameters addresses are, `hits` how many.
 * NULL when there is no memory for it: everything may be written. Good until the engine lock is let go of. */
struct spw_launch_class *spw_launch_class_of_locked(CUfunction function, uint64_t places, unsigned hits);

/* The same of a single place in the function's parameters that is not trusted (scan.h), for launches of whatever class: what
 * is there may be an address by chance. `place` as there. */
struct spw_launch_class *spw_launch_class_of_place_locked(CUfunction function, unsigned place);

/* Through such a place nothing was ever written, in several observations. */
static inline bool spw_launch_class_is_spared(const struct spw_launch_class *place)
{
    return place && !place->changed && place->seen[0] >= SPW_CLASS_SURE;
}

/* The set of that number, whatever is believed of it by now. NULL: it went with its module. */
struct spw_launch_class *spw_launch_class_numbered_locked(CUfunction function, uint64_t places, uint32_t number);

/* What probes have shown of the class on the device. NULL: nothing; or there was no memory to begin with it. */
struct spw_probed *spw_probed_find(const struct spw_launch_class *set, const struct spw_device *d);
struct spw_probed *spw_probed_of_locked(struct spw_launch_class *set, struct spw_device *d);
void spw_probed_forget_locked(struct spw_device *d); /* all of the device */

/* What the kernel's type says. What that lets it write is never believed not to be written. */
void spw_launch_class_declare_locked(struct spw_launch_class *set, const struct spw_declared *declared);

static inline bool spw_launch_class_writes(const struct spw_launch_class *set, unsigned hit)
{
    return !set || hit >= SPW_CLASS_HITS || set->writes >> hit & 1;
}

/* The kernel's type says that it only reads there. */
static inline bool spw_launch_class_is_constant(const struct spw_launch_class *set, unsigned hit)
{
    return set && set->is_declared && hit < SPW_CLASS_HITS && set->declared.constant >> hit & 1;
}

/* Nothing is left to be found out about launches of the class on the device: it was observed and tried, or refused. */
bool spw_probed_is_complete(const struct spw_probed *it);

/* Puts what is known of all classes into the profile (kernel_profile.h). What is known of a class begins with what is there
 * of it. */
void spw_launch_classes_note_locked(void);

/* True when no further observation is wanted: each hit was seen to change, or often enough not to. */
bool spw_launch_class_is_learned(const struct spw_launch_class *set);

/* One launch was watched: which hits changed, and of which ones it says something that they did not (the contents were not
 * such that a write could leave them alike: not blank; all ones where that is not known). Hits of one allocation change
 * together. True: something was written that had been taken for read only, so whatever relied on it is wrong: the caller has
 * to raise the epoch. */
bool spw_launch_class_observed_locked(struct spw_launch_class *set, uint64_t changed, uint64_t telling);

/* What a launch writes may depend on what it is given beside addresses: normalizing kernels update statistics or leave them
 * alike, as a number says. A launch was observed that was given these. Without memory nothing is believed of any launch. */
void spw_launch_class_note_numbers_locked(struct spw_launch_class *set, const uint32_t *numbers, unsigned count);

/* False: no launch that was observed was given these, but for those that differed between them: nothing is believed of it.
 */
bool spw_launch_class_covers(const struct spw_launch_class *set, const uint32_t *numbers, unsigned count);

/* Its launches wait for other devices, as its name tells. */
bool spw_function_is_collective(CUfunction function);

/* A replay of the function was wrong: none is made any more, whatever a comparison under way may tell. That outlives its
 * module. Once there was no memory to note one, it holds of all. NULL: nothing happens. */
void spw_function_condemn_locked(CUfunction function);
bool spw_function_is_condemned_locked(CUfunction function); /* NULL: false */

/* Modules are gone: functions that layout.h does not remember any more are forgotten here too. */
void spw_launch_classes_sweep_locked(void);

/* Something was changed by one of these functions (spw_launch_class_bit_of(), or-ed), which were believed to leave it alike,
 * and it is not known by which: what they are given may be written from now on. Said once. */
void spw_launch_classes_refuted_locked(int device, uint64_t functions);

extern uint64_t spw_launch_classes_refuted_count SPW_OURS; /* times; since the start */
extern bool spw_launch_classes_doubted SPW_OURS;           /* a belief was wrong, and the epoch is not raised yet */

void spw_launch_classes_reset(void);
#endif
