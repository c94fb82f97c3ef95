/* tables.h - adapts uthash's tables to a library in someone else's process: if there is no memory, an element is not added,
 * and the process is not ended. An element has the members `bool lost` and `UT_hash_handle hh`, comes from malloc(), and
 * its key has no padding. */
#ifndef SPILLWAY_SHIM_TABLES_H
#define SPILLWAY_SHIM_TABLES_H
#include <stdbool.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM            1
#define uthash_nonfatal_oom(element) ((element)->lost = true)
#include <uthash.h>

/* Adds `element`, a variable, by its member `key`. If there is no memory, the element is freed and the variable set to
 * NULL. */
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

/* Removes `element` from the table and frees it. SPW_TABLE_FREE does so with all elements. */
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
