/* profile_file.h - where a profile lies, and how it is read and replaced there by several processes at once. */
#ifndef SPILLWAY_SHIM_PROFILE_FILE_H
#define SPILLWAY_SHIM_PROFILE_FILE_H
#include "profile.h"

/* The file that the setting names, or the one in the cache folder of the user ($XDG_CACHE_HOME/spillway or
 * ~/.cache/spillway) whose name is made of the identity. -ENOENT: neither variable is set, -ENAMETOOLONG. */
int spw_profile_path(const char *setting, const char *identity, char *ret_path, size_t size);

/* Puts into the table what the file holds. 0; -ENOENT: there is none; as spw_profile_decode(), or why it cannot be read. */
int spw_profile_load(struct spw_profile *profile, const char *path, const char *identity, char *ret_identity);

/* Replaces the file by what it holds by now and what the table holds; folders are made. 0, or why it cannot be. */
int spw_profile_save(const struct spw_profile *profile, const char *path, const char *identity);
#endif
