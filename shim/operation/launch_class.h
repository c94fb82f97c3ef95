/* launch_class.h - what is known about each class of launches: which of its addresses a launch writes, as learned by
 * watching what changes; what probes have shown; and whether a replay of its function was wrong. All but the last is
 * forgotten when the module is unloaded.
 *
 * A class is a function together with the set of its parameters that hold addresses of ours. An address is taken to be
 * written until several observations of its class have seen it unchanged, each with contents that a write would probably
 * have changed. After one observation that saw it change it is taken to be written for ever. As long as no address of a
 * class was seen to change, all are taken to be written. Of a kernel's name only the types are used (signature.h). The
 * caller holds the engine lock throughout. */
#ifndef SPILLWAY_SHIM_LAUNCH_CLASS_H
#define SPILLWAY_SHIM_LAUNCH_CLASS_H
#include "ours.h"
#include "signature.h"
#include "verdicts.h"
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    SPW_CLASS_HITS = 64, /* hits that are kept for one launch; those behind are always taken to be written */
    SPW_CLASS_SURE = 2   /* observations without a change that are enough */
};

struct spw_device;
struct spw_launch_class;

/* What probes have shown about the launches of a class on one device; probe_policy.h says what follows from it. */
struct spw_probed {
    struct spw_launch_class *class;  /* the class that this is a part of */
    struct spw_probed *next, *other; /* the next of the same device; the next of the same class, on another device */
    struct spw_device *device;
    uint8_t looks, tries, failures; /* completed looks, completed tries, and attempts at either that gave no answer */
    bool under_way;
    uint64_t tried_at; /* geometry of the last probe */
    enum spw_replay_verdict verdict;
    bool is_strange; /* since the last look, a launch came with other scalar arguments than those that were looked at */

    /* In the iterations since learning began: */
    bool came, fits;          /* a launch came; the memory for probes sufficed for one */
    bool fits_late;           /* it would suffice for one with the help of host memory */
    bool is_varied;           /* the launches that fit did not all have the same geometry */
    uint64_t first_geometry;  /* geometry of the first launch that fits */
    unsigned first_iteration; /* the iteration in which a launch first came */
};

struct spw_launch_class {
    CUfunction function;
    uint32_t *numbers;     /* scalar arguments of the first observed launch, followed by a flag for each: not 0 if other
                            * launches differed there */
    uint32_t number_count; /* 0: no launch was observed; UINT32_MAX: there was no memory for the first one's numbers */
    bool is_strange;       /* the launch that was looked up last has other scalar arguments than any observed launch */
    uint64_t places;
    uint64_t writes;              /* bit per hit, in the order of the parameters: the launch may write there */
    uint64_t changed;             /* bit per hit: a launch was seen to change what lies there */
    struct spw_declared declared; /* what the kernel's type says */
    bool is_declared;             /* `declared` is filled in */
    uint32_t number;              /* of this record, never reused: all else that is known about the class goes with it */
    uint8_t count;                /* number of hits */
    bool is_collective;           /* its launches communicate with other devices */
    bool is_condemned;            /* only in the record for a whole function: a replay of it was wrong */
    uint8_t seen[SPW_CLASS_HITS]; /* observations that saw the hit unchanged, up to SPW_CLASS_SURE */
    struct spw_probed *probed;    /* one for each device that has any; NULL: none */
};

/* Returns one bit that stands for the function; a few functions may share it. */
static inline uint64_t spw_launch_class_bit_of(CUfunction function)
{
    return UINT64_C(1) << ((uintptr_t)function * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

/* Returns the class of a launch of `function`. `places` is a hash of the positions of addresses in its parameters, `hits`
 * their number. Returns NULL if there is no memory for it, or nothing is believed of the function any more: then everything
 * may be written. Valid until the engine lock is released. */
struct spw_launch_class *spw_launch_class_of_locked(CUfunction function, uint64_t places, unsigned hits);

/* Returns the record of a single untrusted place in the function's parameters (scan.h), which may hold an address by
 * chance. It is shared by all classes of the function. `place` is numbered as in scan.h. */
struct spw_launch_class *spw_launch_class_of_place_locked(CUfunction function, unsigned place);

/* Returns true if several observations have seen nothing written through such a place, and none has seen a write. */
static inline bool spw_launch_class_is_spared(const struct spw_launch_class *place)
{
    return place && !place->changed && place->seen[0] >= SPW_CLASS_SURE;
}

/* Returns the record with that number, whatever is believed of it by now, or NULL if it was forgotten with its module. */
struct spw_launch_class *spw_launch_class_numbered_locked(CUfunction function, uint64_t places, uint32_t number);

/* Returns what probes have shown about the class on the device. The first returns NULL if there is nothing; the second
 * makes an empty record then, and returns NULL only if there is no memory. */
struct spw_probed *spw_probed_find(const struct spw_launch_class *set, const struct spw_device *d);
struct spw_probed *spw_probed_of_locked(struct spw_launch_class *set, struct spw_device *d);
void spw_probed_forget_locked(struct spw_device *d); /* forgets all records of the device */

/* Stores what the kernel's type says. Addresses that the type lets the kernel write are always taken to be written. */
void spw_launch_class_declare_locked(struct spw_launch_class *set, const struct spw_declared *declared);

static inline bool spw_launch_class_writes(const struct spw_launch_class *set, unsigned hit)
{
    return !set || hit >= SPW_CLASS_HITS || set->writes >> hit & 1;
}

/* Returns true if the kernel's type says that it only reads there. */
static inline bool spw_launch_class_is_constant(const struct spw_launch_class *set, unsigned hit)
{
    return set && set->is_declared && hit < SPW_CLASS_HITS && set->declared.constant >> hit & 1;
}

/* Returns true if nothing is left to learn about launches of the class on the device: they were observed, and were tried or
 * refused. */
bool spw_probed_is_complete(const struct spw_probed *it);

/* Puts what is known about all classes into the profile (kernel_profile.h). A class that is looked up for the first time
 * starts with what the profile knows about it. */
void spw_launch_classes_note_locked(void);

/* Returns true if no further observation is needed: each hit was seen to change, or was seen unchanged often enough. */
bool spw_launch_class_is_learned(const struct spw_launch_class *set);

/* Records one observed launch. `changed`: the hits whose contents changed. `telling`: the hits of which it means something
 * that they did not change, because a write would hardly have left such contents as they were (not blank; all ones where
 * that is not known). Hits of one allocation change together. Returns true if a hit changed that had been believed to be
 * only read; whatever relied on that is wrong, and the caller has to raise the epoch. */
bool spw_launch_class_observed_locked(struct spw_launch_class *set, uint64_t changed, uint64_t telling);

/* What a launch writes may depend on its scalar arguments: normalizing kernels update statistics or leave them alone,
 * depending on one number. This records the numbers of an observed launch. If there is no memory for the first ones, no
 * launch of the class is believed. */
void spw_launch_class_note_numbers_locked(struct spw_launch_class *set, const uint32_t *numbers, unsigned count);

/* Returns true if an observed launch had these numbers, but for those in which observed launches differed. Otherwise
 * nothing may be believed of the launch. */
bool spw_launch_class_covers(const struct spw_launch_class *set, const uint32_t *numbers, unsigned count);

/* Returns true if the function's name tells that its launches wait for other devices. */
bool spw_function_is_collective(CUfunction function);

/* A replay of the function was wrong: it is never replayed again, whatever a comparison under way may show, even after its
 * module was unloaded. Once there was no memory to note a function, all functions count as condemned. NULL has no effect. */
void spw_function_condemn_locked(CUfunction function);
bool spw_function_is_condemned_locked(CUfunction function); /* NULL: false */

/* Forgets the functions that layout.h no longer remembers, since their modules were unloaded. */
void spw_launch_classes_sweep_locked(void);

/* One of these functions (the or-ed bits of spw_launch_class_bit_of()) changed something that it was believed to only read,
 * and it is not known which. From now on they are taken to write everything that they are given. Warns of it. */
void spw_launch_classes_refuted_locked(int device, uint64_t functions);

extern uint64_t spw_launch_classes_refuted_count SPW_OURS; /* how often that was called */
extern bool spw_launch_classes_doubted SPW_OURS;           /* a belief was wrong, and the epoch is not raised yet */

void spw_launch_classes_reset(void);
#endif
