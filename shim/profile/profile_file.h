/* profile_file.h - finds, reads and replaces the file of a profile, which several processes may do at once. */
#ifndef SPILLWAY_SHIM_PROFILE_FILE_H
#define SPILLWAY_SHIM_PROFILE_FILE_H
#include "profile.h"

/* Stores the path of the file: the one that the setting names, or the one in the user's cache folder
 * ($XDG_CACHE_HOME/spillway or ~/.cache/spillway) whose name is made from the identity. Returns 0; -ENOENT if neither
 * variable is set; or -ENAMETOOLONG. */
int spw_profile_path(const char *setting, const char *identity, char *ret_path, size_t size);

/* Puts into the table what the file holds. Returns 0; -ENOENT if there is no file; a failure of spw_profile_decode(); or
 * the reason why it cannot be read. */
int spw_profile_load(struct spw_profile *profile, const char *path, const char *identity, char *ret_identity);

/* Replaces the file by what it holds at that moment together with what the table holds; makes missing folders. Returns 0,
 * or the reason why it cannot be written. */
int spw_profile_save(const struct spw_profile *profile, const char *path, const char *identity);
#endif
