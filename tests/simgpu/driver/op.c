/* op.c - operations as they are made, copied, ordered behind each other and let go of. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "sim.h"
#include "variables.h"

static struct op *spare; /* of operations that are gone */

struct op *op_create(enum op_kind kind, struct context *context, const char *name)
{
    struct op *op = spare;
    if (op)
        spare = op->next;
    else if (!(op = malloc(sizeof *op)))
        return NULL;
    memset(op, 0, offsetof(struct op, u));
    if (kind == OP_KERNEL) {
        op->u.run.image = op->u.run.image_inline;
        op->u.run.variables = NULL;
    } else
        memset(&op->u, 0, sizeof op->u);
    op->kind = kind;
    op->refs = 1;
    op->context = context;
    op->name = name;
    op->waiters = op->waiters_inline;
    op->waiter_room = sizeof op->waiters_inline / sizeof op->waiters_inline[0];
    op->accesses = op->accesses_inline;
    op->access_room = sizeof op->accesses_inline / sizeof op->accesses_inline[0];
    return op;
}

struct op *op_keep(struct op *op)
{
    if (op)
        op->refs++;
    return op;
}

void op_release_payload(struct op *op)
{
    if (op->kind == OP_KERNEL) {
        if (op->u.run.image != op->u.run.image_inline)
            free(op->u.run.image);
        op->u.run.image = op->u.run.image_inline;
        variables_let_go(op->u.run.variables);
        op->u.run.variables = NULL;
    } else if (op->kind == OP_COPY) {
        free(op->u.copy.staged);
        op->u.copy.staged = NULL;
    }
    if (op->accesses != op->accesses_inline)
        free(op->accesses);
    op->accesses = op->accesses_inline;
    op->access_count = 0;
}

void op_drop(struct op *op)
{
    if (!op || --op->refs > 0)
        return;
    op_release_payload(op);
    if (op->waiters != op->waiters_inline)
        free(op->waiters);
    when_drop(&op->when);
    op->next = spare;
    spare = op;
}

int op_touch(struct op *op, uint64_t address, uint64_t bytes, unsigned how)
{
    if (bytes == 0)
        return 0;
    if (op->access_count == op->access_room) {
        unsigned room = 4 * op->access_room;
        struct access *more = malloc(room * sizeof *more);
        if (!more)
            return -ENOMEM;
        memcpy(more, op->accesses, op->access_count * sizeof *more);
        if (op->accesses != op->accesses_inline)
            free(op->accesses);
        op->accesses = more;
        op->access_room = room;
    }
    op->accesses[op->access_count++] = (struct access){address, bytes, how};
    return 0;
}

int op_after(struct op *op, struct op *earlier)
{
    if (!earlier || earlier->state == OP_DONE)
        return 0;
    if (earlier->waiter_count == earlier->waiter_room) {
        unsigned room = 4 * earlier->waiter_room;
        struct op **more = malloc(room * sizeof *more);
        if (!more)
            return -ENOMEM;
        memcpy(more, earlier->waiters, earlier->waiter_count * sizeof *more);
        if (earlier->waiters != earlier->waiters_inline)
            free(earlier->waiters);
        earlier->waiters = more;
        earlier->waiter_room = room;
    }
    earlier->waiters[earlier->waiter_count++] = op;
    op->unmet++;
    return 0;
}

struct op *op_clone(const struct op *from)
{
    struct op *op = op_create(from->kind, from->context, from->name);
    int r = op ? 0 : -ENOMEM;
    if (!op)
        return NULL;
    op->declared = from->declared;
    op->lane = from->lane;
    op->work_ns = from->work_ns;
    op->u = from->u;
    if (op->kind == OP_COPY)
        op->u.copy.staged = NULL;
    if (op->kind == OP_KERNEL) {
        size_t bytes = op->u.run.kernel->param_bytes;
        (void)variables_hold(op->u.run.variables);
        op->u.run.image = op->u.run.image_inline;
        if (from->u.run.image != from->u.run.image_inline) {
            void *image = malloc(bytes);
            r = image ? 0 : -ENOMEM;
            op->u.run.image = image ? memcpy(image, from->u.run.image, bytes) : op->u.run.image_inline;
        }
    }
    for (unsigned i = 0; r == 0 && i < from->access_count; i++)
        r = op_touch(op, from->accesses[i].address, from->accesses[i].bytes, from->accesses[i].how);
    if (r < 0) {
        op_drop(op);
        return NULL;
    }
    return op;
}
