/* tables.h - uthash's tables for a library in someone else's process: where there is no memory an element is not added, and
 * nobody is ended. An element has the members `bool lost` and `UT_hash_handle hh`, is of malloc(), and its key has no gaps.
 */
#ifndef SPILLWAY_SHIM_TABLES_H
#define SPILLWAY_SHIM_TABLES_H
#include <stdbool.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM            1
#define uthash_nonfatal_oom(element) ((element)->lost = true)
#include <uthash.h>

/* Adds `element`, a variable, by its member `key`. Without memory it is freed, and the variable NULL. */
#define SPW_TABLE_ADD(table, key, element) \
    do { \
        HASH_ADD(hh, table, key, sizeof((element)->key), element); \
        if ((element)->lost) { \
            free(element); \
            (element) = NULL; \
        } \
    } while (0)

/* The same with a new element, whose members are given as in an initialiser. */
#define SPW_TABLE_NEW(table, key, element, ...) \
    do { \
        (element) = calloc(1, sizeof(*(element))); \
        if (element) { \
            *(element) = (__typeof__(*(element))){__VA_ARGS__}; \
            SPW_TABLE_ADD(table, key, element); \
        } \
    } while (0)

/* Takes `element` off the table and frees it; the same with all of them. */
#define SPW_TABLE_REMOVE(table, element) \
    do { \
        HASH_DEL(table, element); \
        free(element); \
    } while (0)
#define SPW_TABLE_FREE(table) \
    while (table) { \
        __typeof__(table) first_ = (table); \
        SPW_TABLE_REMOVE(table, first_); \
    }
#endif
