/* twins.h - loads each module whose kernels are run again a second time, so that a replay changes none of the program's
 * variables.
 *
 * A kernel may count its calls in a variable of its module, or keep random number states there, or a table that the program
 * writes. So only the program's own launches run in the modules that it loaded. Probes and replays launch the kernel of the
 * same name in the module's twin. The twin is loaded from the same image (images.h) into the same context by the first
 * operation that is to be kept, and unloaded with the module.
 *
 *     variables    are listed from the image (globals.h). Those that kernels can write are inputs of each launch: their
 *                  contents are saved before it, and copied to the twin before it is run again (variables.h)
 *     constants    that the program asked for by name and wrote by a copy or set are copied to the twin before anything
 *                  runs in it after such a write; variables likewise
 *     attributes   of a function are copied from the program's whenever the program may have changed some
 *     no twin      for a module whose image is not known or cannot be loaded again, or whose variables are accessible
 *                  from elsewhere (managed ones, textures): its kernels are not replayable
 *     no state     is known of a module whose variables cannot be listed, are too large, or hold addresses (of tensors,
 *                  or of memory that is not ours), or whose kernels allocate memory by themselves: the same
 *     no printing  a kernel that may print is not replayable, whatever the others of its module are
 *
 * With SPILLWAY_RECOMPUTE=off nothing of this is kept. */
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

/* ---- called by hooks; no lock held ---- */

/* Describes an image before the driver is asked to load it. Returns NULL if it is not to be kept. */
struct spw_image *spw_twins_loading(const struct spw_image_told *told);

/* The driver has returned `owner`, a module or library, for the image. Takes ownership of `image`, which may be NULL. */
void spw_twins_loaded(const void *owner, struct spw_image *image);
void spw_twins_not_loaded(struct spw_image *image); /* the driver refused the image */

/* The module or library will have no twin from now on; `why` is as in images.h. The caller has had everything made again
 * that a twin made (spw_versions_break()). */
void spw_twins_refuse(const void *owner, const char *why);

/* The driver has told the program the address of a variable. */
void spw_twins_variable(const void *owner, const char *name, CUdeviceptr address, size_t bytes);

/* The range in which all variables lie that the program has asked for; both 0: there are none. */
extern CUdeviceptr spw_twins_low SPW_OURS, spw_twins_high SPW_OURS;

/* A copy or set is about to write there; called before the epoch is raised for it. Returns true if it writes to a variable;
 * then spw_twins_written() has to be called after the driver call. It is not known whether a launch that another thread
 * submits meanwhile reads the old or the new content, so such launches are not kept. */
bool spw_twins_write(CUdeviceptr address, size_t bytes);

/* The driver has taken the write for the stream, or refused it: from now on twins are updated in an order behind it. Called
 * once for each call of spw_twins_write() that returned true. */
void spw_twins_written(CUstream stream);

/* The program copies host memory to that address. If that is a constant, and addresses are in the copied bytes or may be by
 * the time of the copy, it is no longer known what kernels of the module can reach. Variables that kernels can write are
 * searched when they are saved. */
void spw_twins_look(CUdeviceptr address, const void *from, size_t bytes);

/* The same for a copy from device memory, whose contents are not known, and for a word that a stream or a graph writes. */
void spw_twins_copied(CUdeviceptr address, size_t bytes);

/* The program may have changed attributes that twins copy. */
void spw_twins_changed(void);

/* The module or library is about to be unloaded: waits for what runs in its twins, and unloads them. Called before the
 * driver is. */
void spw_twins_unload(const void *owner);

/* The context is about to be destroyed with the modules in it. It is current and synchronised. */
void spw_twins_context_gone(CUcontext context);

struct spw_twin_counts { /* all twins that were ever loaded */
    uint64_t count, image_bytes;
};
extern struct spw_twin_counts spw_twin_counts SPW_OURS; /* guarded by the engine lock */

/* ---- engine lock held; the context is that of the launch ---- */

/* Returns SPW_REPLAYABLE if the function has a twin or may have one, else the reason. */
enum spw_replay_verdict spw_twin_verdict_locked(CUfunction f, CUcontext context);

/* Reads the hash of the image of the function's module. Returns false if it is not known. */
bool spw_twin_image_hash_locked(CUfunction f, struct spw_hash *ret_hash);

/* Makes the twin if there is none. A negative result means that there cannot be one, which is logged at level info. */
int spw_twin_make_locked(CUfunction f, CUcontext context);

/* True once some module has variables that are to be saved (saved_variables.h). */
extern bool spw_twins_have_variables SPW_OURS;

/* Returns true if a variable of the function's module is being written, or if a submitted write may execute only after what
 * is submitted to `s` next. The function has a twin. */
bool spw_twin_is_being_written_locked(CUfunction f, CUcontext context, const struct spw_stream *s);

/* The saved variables of the function's module were found to hold addresses: no state is known of the module from now on.
 * The function has a twin. */
void spw_twin_holds_addresses_locked(CUfunction f, CUcontext context);

/* Returns the variables of the function's module, or NULL if its kernels can write none. The function has a twin. */
const struct spw_variables *spw_twin_variables_locked(CUfunction f, CUcontext context);

/* Orders what is submitted to `s` next behind all that ran in the module's twin, and behind writes that the twin has not
 * copied yet. Returns as spw_uses_order_locked(). */
int spw_twin_order_locked(CUfunction f, CUcontext context, struct spw_stream *s);

/* Returns in *ret_twin the function to launch instead, as an operation of `s` that is numbered already. Updates the twin
 * first, in the stream's order, if anything has changed. The context is current. */
int spw_twin_use_locked(CUfunction f, CUcontext context, struct spw_stream *s, CUfunction *ret_twin);

void spw_twins_reset(void); /* forgets everything without a driver call: for tests, and in a forked child */
#endif
