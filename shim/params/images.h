/* images.h - keeps what modules and libraries were loaded from, so that each can be loaded again.
 *
 *     a file                     its path; whether it is still the same file is checked before it is loaded again
 *     memory of a loaded object  (an executable's or shared library's .nv_fatbin, say) its address; whether the object is
 *                                still there is checked as well
 *     preserved memory           (CU_LIBRARY_BINARY_IS_PRESERVED) its address
 *     any other memory           a copy, whose size follows from the image's form; 64 MiB of copies at most
 *
 * Options are kept by value, without those that only say where the driver writes messages. For an image that cannot be
 * loaded again, the reason is kept. The caller holds the engine lock for functions that end in _locked. */
#ifndef SPILLWAY_SHIM_IMAGES_H
#define SPILLWAY_SHIM_IMAGES_H
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

#include "hash.h"

/* Programs that compile kernels at run time load some hundreds of them, of some tens of KiB each. Larger images come with
 * libraries, and lie in their memory. */
#define SPW_IMAGES_MAX_BYTES ((size_t)64 << 20) /* of all copies together; no larger image is copied or hashed */

enum spw_image_call { /* cuModuleLoad, cuModuleLoadData (with options or without), ... */
                      SPW_IMAGE_MODULE_FILE,
                      SPW_IMAGE_MODULE_DATA,
                      SPW_IMAGE_MODULE_FAT,
                      SPW_IMAGE_LIBRARY_FILE,
                      SPW_IMAGE_LIBRARY_DATA
};

struct spw_image_told { /* the arguments of such a call */
    enum spw_image_call call;
    const void *what; /* the image, or the file name */
    unsigned option_count, library_option_count;
    const CUjit_option *options;
    void *const *values;
    const CUlibraryOption *library_options;
    void *const *library_values;
};

struct spw_image;

/* Describes an image before the driver is called, which may write to the options and to what they point to. Returns NULL if
 * there is no memory. */
struct spw_image *spw_image_describe(const struct spw_image_told *told);

/* The driver has accepted the image, so what the image says of its size can be trusted. Called before the program's call
 * returns. */
void spw_image_keep_locked(struct spw_image *image);
void spw_image_free_locked(struct spw_image *image); /* NULL is fine */

/* Returns NULL if, as far as is known, it can be loaded again. Otherwise returns the reason, which completes "it cannot be
 * loaded a second time: ". */
const char *spw_image_lacks(const struct spw_image *image);

/* Returns the size of the file or image, with all parts for other devices; 0: unknown. */
size_t spw_image_bytes(const struct spw_image *image);

bool spw_image_is_library(const struct spw_image *image);

/* Repeats the driver call in the current context. *ret_handle is a CUmodule or a CUlibrary. Returns 0, -ESTALE if what it
 * was loaded from is gone or has changed, or a failure of the driver. */
int spw_image_load_locked(const struct spw_image *image, void **ret_handle);

/* Unloads what was loaded in this way; its context is current. */
void spw_image_unload_locked(const struct spw_image *image, void *handle);

/* Hashes all its bytes, for a file its contents. Returns false if they are gone, their form is not known, or they are more
 * than SPW_IMAGES_MAX_BYTES. */
bool spw_image_hash_locked(struct spw_image *image, struct spw_hash *ret_hash);

size_t spw_images_copied_bytes_locked(void);

/* Returns what spw_globals_list() (globals.h) says about the image, for a file about its contents. */
struct spw_globals;
const char *spw_image_globals_locked(const struct spw_image *image, struct spw_globals *ret_globals);
#endif
