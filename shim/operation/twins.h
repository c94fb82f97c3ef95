/* twins.h - a second instance of each module whose kernels are run again: whatever runs in it changes none of the program's
 * variables.
 *
 * A kernel may count its calls in a variable of its module, keep states of random numbers there, or a table that the program
 * writes. So nothing that the program did not launch itself runs in the modules
 * that it loaded: probes and replays are launches of the kernel of the same name in the module's twin, which is loaded from
 * the same image (images.h) by the first operation that is to be kept, in the same context, and unloaded with the module.
 *
 *     variables    are listed from the image (globals.h). Those that kernels can write are inputs of each launch: what they
 *                  hold before it is saved, and copied to the twin before it is run again (variables.h)
 *     constants    that the program asked for by name, and that a copy or set of its wrote, are copied to the twin before
 *                  anything runs in it after such a write, variables likewise
 *     attributes   of a function are those of the program's: compared whenever the program has told it something
 *     no twin      for a module whose image is not known or cannot be loaded again, or whose variables are seen from
 *                  elsewhere (managed ones, textures): its kernels are not replayable
 *     no state     either of one whose variables cannot be listed, are too large, or hold addresses (of tensors, or
 *                  of memory that is not ours), or whose kernels allocate memory by themselves: the same
 *     no printing  a kernel that may print is not replayable, whatever the others of its module are
 *
 * Nothing of this is kept with SPILLWAY_RECOMPUTE=off. */
#ifndef SPILLWAY_SHIM_TWINS_H
#define SPILLWAY_SHIM_TWINS_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "images.h"
#include "ours.h"
#include "verdicts.h"

struct spw_stream;
struct spw_variables;

/* ---- what hooks tell; no lock held ---- */

/* Before the driver is asked to load something. NULL: nothing is to be kept of it. */
struct spw_image *spw_twins_loading(const struct spw_image_told *told);

/* The driver handed `owner` out, a module or library. `image` (which may be NULL) is taken over. */
void spw_twins_loaded(const void *owner, struct spw_image *image);
void spw_twins_not_loaded(struct spw_image *image); /* the driver refused */

/* The module or library will have no twin from now on; `why` as in images.h. What was made with one is to be made again
 * before (spw_versions_break). */
void spw_twins_refuse(const void *owner, const char *why);

/* The program was told where a variable is. */
void spw_twins_variable(const void *owner, const char *name, CUdeviceptr address, size_t bytes);

/* All such variables lie in here; both 0: there are none. */
extern CUdeviceptr spw_twins_low SPW_OURS, spw_twins_high SPW_OURS;

/* A copy or set is about to write there, before the epoch is raised for it. True: to a variable, and spw_twins_written() has
 * to be called when the driver has been told. Whether what another thread launches meanwhile reads what the variable held
 * before nobody can tell, so that is not kept for being run again. */
bool spw_twins_write(CUdeviceptr address, size_t bytes);

/* It was given to the stream, or refused: twins are made alike behind it. Once for each that was true. */
void spw_twins_written(CUstream stream);

/* The program copies from memory of the host to there. Where that is a constant, and addresses are among it, or may be by
 * the time that it is copied, what kernels of the module reach is not known any more. What kernels can write is searched
 * when it matters. */
void spw_twins_look(CUdeviceptr address, const void *from, size_t bytes);

/* The same of memory of a device: what that is, nobody sees; or of a word that a stream or a graph writes. */
void spw_twins_copied(CUdeviceptr address, size_t bytes);

/* Attributes that a twin has to have alike may be others from now on. */
void spw_twins_changed(void);

/* Its end: waits for what runs in the twins, and unloads them. Before the driver is told. */
void spw_twins_unload(const void *owner);

/* The context, which is current and synchronised, is about to go, with the modules in it. */
void spw_twins_context_gone(CUcontext context);

struct spw_twin_counts { /* what has been loaded, whether it is still there or not */
    uint64_t count, image_bytes;
};
extern struct spw_twin_counts spw_twin_counts SPW_OURS; /* guarded by the engine lock */

/* ---- engine lock held; the context is that of the launch ---- */

/* SPW_REPLAYABLE where the function has a twin, or may have one; else why not. */
enum spw_replay_verdict spw_twin_verdict_locked(CUfunction f, CUcontext context);

/* Of the image of the function's module. False: it is not known. */
bool spw_twin_image_hash_locked(CUfunction f, struct spw_hash *ret_hash);

/* Makes it, if there is none yet. Negative: there cannot be one, which is said at level info. */
int spw_twin_make_locked(CUfunction f, CUcontext context);

/* True once there is a module with variables that are to be saved (saved_variables.h). */
extern bool spw_twins_have_variables SPW_OURS;

/* A variable of the module that a function with a twin is in is being written, or what was submitted to write it may come
 * behind what `s` is given next. */
bool spw_twin_is_being_written_locked(CUfunction f, CUcontext context, const struct spw_stream *s);

/* The variables of the module of a function with a twin were found to hold addresses: it has no state from now on. */
void spw_twin_holds_addresses_locked(CUfunction f, CUcontext context);

/* The variables of the module that a function with a twin is in. NULL: kernels of it can write none. */
const struct spw_variables *spw_twin_variables_locked(CUfunction f, CUcontext context);

/* Orders what is submitted to `s` next behind all that ran in the module's twin, and behind writes that it is not alike
 * after. As spw_uses_order_locked(). */
int spw_twin_order_locked(CUfunction f, CUcontext context, struct spw_stream *s);

/* What is to be launched in its place, as an operation of `s` that is numbered already. What has changed is made alike
 * first, in the stream's order. The context is current. */
int spw_twin_use_locked(CUfunction f, CUcontext context, struct spw_stream *s, CUfunction *ret_twin);

void spw_twins_reset(void); /* forgets everything without a driver call: for tests, and in a forked child */
#endif
