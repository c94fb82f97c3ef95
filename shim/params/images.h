/* images.h - what modules and libraries were loaded from, kept such that each can be loaded once more.
 *
 *     a file                     its path; that it is still the same file is looked at when it is loaded again
 *     memory of a loaded object  (an executable's or shared library's .nv_fatbin, say) its address; that the object is still
 *                                there is looked at as well
 *     memory said to be kept     (CU_LIBRARY_BINARY_IS_PRESERVED) its address
 *     any other memory           a copy, whose size the image's form tells; 64 MiB of copies at most
 *
 * Options are kept by value; those that only say where the driver is to write messages are left out. What cannot be loaded
 * again has a reason. One lock, the caller's: the engine lock. */
#ifndef SPILLWAY_SHIM_IMAGES_H
#define SPILLWAY_SHIM_IMAGES_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

#include "hash.h"

/* Programs that compile kernels while they run load some hundred of them, of some tens of KiB; larger images come with
 * libraries, and lie in these. */
#define SPW_IMAGES_MAX_BYTES ((size_t)64 << 20) /* of all copies together */

enum spw_image_call { /* cuModuleLoad, cuModuleLoadData (with options or without), ... */
                      SPW_IMAGE_MODULE_FILE,
                      SPW_IMAGE_MODULE_DATA,
                      SPW_IMAGE_MODULE_FAT,
                      SPW_IMAGE_LIBRARY_FILE,
                      SPW_IMAGE_LIBRARY_DATA
};

struct spw_image_told { /* what such a call is given */
    enum spw_image_call call;
    const void *what; /* the image, or the name of the file */
    unsigned option_count, library_option_count;
    const CUjit_option *options;
    void *const *values;
    const CUlibraryOption *library_options;
    void *const *library_values;
};

struct spw_image;

/* Before the driver is asked, which may write to options and to where they lead. NULL: no memory. */
struct spw_image *spw_image_describe(const struct spw_image_told *told);

/* The driver has taken it, so that it can be believed what it says of its size; the call is not over yet. */
void spw_image_keep_locked(struct spw_image *image);
void spw_image_free_locked(struct spw_image *image); /* NULL is fine */

/* NULL: it can be loaded again, as far as is known now. Else why not; completes "it cannot be loaded a second time: ". */
const char *spw_image_lacks(const struct spw_image *image);

/* Of the file or the image, with all that it holds for other devices; 0: not known. */
size_t spw_image_bytes(const struct spw_image *image);

bool spw_image_is_library(const struct spw_image *image);

/* The driver's call once more, into the current context; *ret_handle is a CUmodule or a CUlibrary. 0; -ESTALE: it is not
 * what it was, or not there; or a failure of the driver. */
int spw_image_load_locked(const struct spw_image *image, void **ret_handle);

/* Of what was loaded so; its context is current. */
void spw_image_unload_locked(const struct spw_image *image, void *handle);

/* Of all its bytes, a file's contents included. False: they are not there any more, their form is not known, or they are
 * more than SPW_IMAGES_MAX_BYTES. */
bool spw_image_hash_locked(struct spw_image *image, struct spw_hash *ret_hash);

size_t spw_images_copied_bytes_locked(void);

/* What spw_globals_list() (globals.h) says of the image, a file's contents included. */
struct spw_globals;
const char *spw_image_globals_locked(const struct spw_image *image, struct spw_globals *ret_globals);
#endif
