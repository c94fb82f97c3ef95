/* user_object.h - objects of the program that graphs keep alive: counted references, and a destructor for the last one. */
#ifndef SIMGPU_DRIVER_USER_OBJECT_H
#define SIMGPU_DRIVER_USER_OBJECT_H
#include <cuda.h>
#include <stdbool.h>

struct user_object;

struct user_ref { /* references that a graph owns; one entry for each object */
    struct user_object *object;
    unsigned long long count;
    struct user_ref *next;
};

/* Adds references. `moved`: they belonged to the program. CUDA_ERROR_INVALID_VALUE: it has fewer. */
CUresult user_refs_add(struct user_ref **refs, struct user_object *object, unsigned count, bool moved);
/* Removes references. CUDA_ERROR_INVALID_VALUE: there are fewer. */
CUresult user_refs_remove(struct user_ref **refs, struct user_object *object, unsigned count);
CUresult user_refs_copy(const struct user_ref *refs, struct user_ref **ret_refs);
/* Moves all of `from` to `to`, which may then have several entries for an object. */
void user_refs_move(struct user_ref **to, struct user_ref **from);
void user_refs_drop(struct user_ref **refs);
#endif
