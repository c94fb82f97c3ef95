/* random-program.c - straight stretches, loops over layers, loops that save what a later loop frees, loops that repeat
 * exactly, and an update at the end. Loops are unrolled when the program is made, so that every operation has a label of its
 * own. */
#include "random-program.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { EXTRA_LABEL = 1 << 20, EVERY_SHORT = 6, EVERY_EVALUATION = 5, WARM_STEPS = 2, FEW_KEPT = 5 };

static struct instruction *add(struct random_program *made, struct instruction instruction)
{
    if (made->count == made->capacity) {
        made->capacity = made->capacity ? 2 * made->capacity : 64;
        made->code = realloc(made->code, made->capacity * sizeof(*made->code));
        assert(made->code);
    }
    made->ops += instruction.what == INSTRUCTION_OP;
    made->code[made->count] = instruction;
    return &made->code[made->count++];
}

static uint64_t some_bytes(struct program *program)
{
    return 512 * (1 + program_random(program, 12));
}

static void add_op(struct random_program *made, struct program *program, uint64_t function, const uint32_t *slots,
                   uint32_t count)
{
    struct instruction op = {.what = INSTRUCTION_OP,
                             .kind = SPW_ITERATION_LAUNCH,
                             .function = function,
                             .geometry = program_random(program, 3),
                             .slot_count = count};
    memcpy(op.slots, slots, count * sizeof(*slots));
    add(made, op);
}

static uint32_t new_slot(struct random_program *made, struct program *program)
{
    assert(made->used_slots < RANDOM_OBJECTS);
    const uint32_t slot = made->used_slots++;
    add(made, (struct instruction){.what = INSTRUCTION_ALLOC, .slots = {slot}, .bytes = some_bytes(program)});
    return slot;
}

static void drop_slot(struct random_program *made, uint32_t slot)
{
    add(made, (struct instruction){.what = INSTRUCTION_FREE, .slots = {slot}});
}

static uint64_t function(struct random_program *made, struct program *program)
{
    return 1 + program_random(program, made->functions);
}

/* Operations on kept objects and on one temporary. */
static void add_straight(struct random_program *made, struct program *program)
{
    const uint32_t count = 1 + (uint32_t)program_random(program, 8);
    const uint32_t temporary = new_slot(made, program);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t slots[] = {(uint32_t)program_random(program, made->kept), temporary};
        add_op(made, program, function(made, program), slots, 1 + (uint32_t)program_random(program, 2));
    }
    drop_slot(made, temporary);
}

/* Each pass does the same to another kept object. */
static void add_layers(struct random_program *made, struct program *program)
{
    const uint32_t passes = 2 + (uint32_t)program_random(program, made->kept - 1),
                   ops = 1 + (uint32_t)program_random(program, 4);
    const uint64_t first = function(made, program), start = program_random(program, made->kept);
    const uint32_t temporary = new_slot(made, program);
    for (uint32_t pass = 0; pass < passes; pass++)
        for (uint32_t i = 0; i < ops; i++) {
            const uint32_t slots[] = {(uint32_t)((start + pass) % made->kept), temporary};
            struct instruction op = {
                .what = INSTRUCTION_OP, .function = first + i, .slot_count = 2, .slots = {slots[0], slots[1]}};
            add(made, op);
        }
    drop_slot(made, temporary);
}

/* Exactly the same several times, on little of what is kept. */
static void add_exact(struct random_program *made, struct program *program)
{
    const uint32_t passes = 2 + (uint32_t)program_random(program, 20), ops = 1 + (uint32_t)program_random(program, 4);
    const uint64_t first = function(made, program), bytes = some_bytes(program);
    const uint32_t kept = (uint32_t)program_random(program, made->kept);
    assert(made->used_slots < RANDOM_OBJECTS);
    const uint32_t slot = made->used_slots++;
    for (uint32_t pass = 0; pass < passes; pass++) {
        add(made, (struct instruction){.what = INSTRUCTION_ALLOC, .slots = {slot}, .bytes = bytes});
        for (uint32_t i = 0; i < ops; i++)
            add(made,
                (struct instruction){.what = INSTRUCTION_OP, .function = first + i, .slot_count = 2, .slots = {kept, slot}});
        drop_slot(made, slot);
    }
}

/* Time steps: each saves what a loop back frees; in between something else. */
static void add_saving(struct random_program *made, struct program *program, uint32_t depth);

static void add_something(struct random_program *made, struct program *program, uint32_t depth)
{
    const uint64_t which = program_random(program, 10);
    if (made->used_slots + 200 > RANDOM_OBJECTS || which < 5 || made->kept < FEW_KEPT)
        add_straight(made, program);
    else if (which < 7)
        add_layers(made, program);
    else if (which < 8)
        add_exact(made, program);
    else
        add_saving(made, program, depth);
}

static void add_saving(struct random_program *made, struct program *program, uint32_t depth)
{
    const uint32_t passes = 2 + (uint32_t)program_random(program, 30), ops = 1 + (uint32_t)program_random(program, 3);
    const uint32_t kept = (uint32_t)program_random(program, made->kept), first = made->used_slots;
    const uint64_t forward = function(made, program), backward = function(made, program), bytes = some_bytes(program);
    for (uint32_t pass = 0; pass < passes; pass++) {
        const uint32_t slot = new_slot(made, program);
        made->code[made->count - 1].bytes = bytes;
        for (uint32_t i = 0; i < ops; i++)
            add(made, (struct instruction){
                          .what = INSTRUCTION_OP, .function = forward + i, .slot_count = 2, .slots = {kept, slot}});
    }
    for (uint32_t i = 0; i < 2 && depth < 2; i++)
        add_something(made, program, depth + 1);
    for (uint32_t pass = passes; pass-- > 0;) {
        add(made, (struct instruction){
                      .what = INSTRUCTION_OP, .function = backward, .slot_count = 2, .slots = {kept, first + pass}});
        drop_slot(made, first + pass);
    }
}

void random_program_make(struct random_program *made, struct program *program, uint32_t ops)
{
    *made = (struct random_program){.functions = 2 + (uint32_t)program_random(program, 20),
                                    .warm_up = program_random(program, 2),
                                    .logging = program_random(program, 2),
                                    .evaluation = program_random(program, 3) == 0,
                                    .short_batch = program_random(program, 3) == 0};
    made->kept = 1 + (uint32_t)program_random(program, ops / 4 < RANDOM_KEPT - 1 ? ops / 4 + 1 : RANDOM_KEPT - 1);
    made->used_slots = RANDOM_KEPT;
    if (program_random(program, 2))
        add(made,
            (struct instruction){.what = INSTRUCTION_OP, .kind = SPW_ITERATION_COPY_H2D, .slots = {0}, .slot_count = 1});
    if (program_random(program, 2)) /* a result that lives until the next one is made */
        add(made,
            (struct instruction){.what = INSTRUCTION_RENEW, .slots = {made->used_slots++}, .bytes = some_bytes(program)});
    while (made->ops + made->kept < ops && made->used_slots + 200 < RANDOM_OBJECTS)
        add_something(made, program, 0);
    made->update = made->count;
    made->micro = program_random(program, 4) == 0 ? 2 + (uint32_t)program_random(program, 5) : 1;
    made->length = made->micro * made->ops;
    for (uint32_t k = 0; k < made->kept; k++)
        add_op(made, program, 1000 + program_random(program, 2), &k, 1);
    made->length += made->kept;
    program->whole_length = made->micro > 1 ? made->length : 0;
    made->label = ++program->programs << 24;
}

void random_program_setup(struct random_program *made, struct program *program)
{
    for (uint32_t k = 0; k < made->kept; k++) {
        made->objects[k].bytes = some_bytes(program);
        made->objects[k].id = program_alloc(program, made->objects[k].bytes, EXTRA_LABEL + k);
        program_op(program, SPW_ITERATION_SET, 0, made->objects[k].bytes, EXTRA_LABEL + k, &made->objects[k], 1);
    }
}

static void drop(struct random_program *made, struct program *program, uint32_t slot)
{
    if (made->objects[slot].id)
        program_free(program, made->objects[slot].id);
    made->objects[slot].id = 0;
}

static void carry_out(struct random_program *made, struct program *program, uint32_t i, uint64_t scale, uint64_t micro)
{
    const uint64_t label = (micro << PROGRAM_MICRO_SHIFT) + made->label + i + 1;
    const struct instruction *code = &made->code[i];
    struct object *object = &made->objects[code->slots[0]], touched[RANDOM_TOUCHES];
    const struct object old = *object;
    const uint64_t changed = i >= made->update ? 1 : scale;
    switch (code->what) {
    case INSTRUCTION_RENEW:
    case INSTRUCTION_ALLOC:
        *object = (struct object){program_alloc(program, code->bytes * changed, label), code->bytes * changed};
        if (code->what == INSTRUCTION_RENEW && old.id)
            program_free(program, old.id);
        return;
    case INSTRUCTION_FREE:
        drop(made, program, code->slots[0]);
        return;
    case INSTRUCTION_OP:
        for (uint32_t t = 0; t < code->slot_count; t++)
            touched[t] = made->objects[code->slots[t]];
        program_op(program, code->kind, code->function, code->geometry * 4 + changed, label, touched, code->slot_count);
    }
}

static void add_noise(struct program *program, uint32_t kernels)
{
    const struct object extra = {program_alloc(program, 333, EXTRA_LABEL), 333};
    for (uint32_t k = 0; k < kernels; k++)
        program_op(program, SPW_ITERATION_LAUNCH, 2000 + k, 1, EXTRA_LABEL + k, &extra, 1);
    program_op(program, SPW_ITERATION_COPY_D2H, 0, 333, EXTRA_LABEL, &extra, 1);
    program_free(program, extra.id);
}

/* The first part of the code, on a batch of another size, and everything given back. */
static void evaluate(struct random_program *made, struct program *program)
{
    for (uint32_t i = 0; i < made->update / 2; i++)
        if (made->code[i].what != INSTRUCTION_RENEW)
            carry_out(made, program, i, 2, 0);
    for (uint32_t slot = RANDOM_KEPT; slot < made->used_slots; slot++)
        if (made->code[0].what != INSTRUCTION_RENEW && made->code[1].what != INSTRUCTION_RENEW)
            drop(made, program, slot);
        else if (slot > RANDOM_KEPT)
            drop(made, program, slot);
}

void random_program_step(struct random_program *made, struct program *program, uint32_t step)
{
    const uint32_t strange =
        made->warm_up && step < WARM_STEPS ? (uint32_t)program_random(program, made->count) : UINT32_MAX;
    const bool shorter = made->short_batch && step % EVERY_SHORT == EVERY_SHORT - 1;
    program_step(program);
    for (uint32_t micro = 0; micro < made->micro; micro++)
        for (uint32_t i = 0; i < (micro + 1 == made->micro ? made->count : made->update); i++) {
            if (i == strange)
                add_noise(program, 1 + step);
            carry_out(made, program, i, shorter ? 3 : 1, micro);
        }
    if (made->logging && program_random(program, 4) == 0)
        add_noise(program, (uint32_t)program_random(program, 3));
    if (made->evaluation && step % EVERY_EVALUATION == EVERY_EVALUATION - 1)
        evaluate(made, program);
}

void random_program_finish(struct random_program *made, struct program *program)
{
    for (uint32_t slot = 0; slot < RANDOM_OBJECTS; slot++)
        drop(made, program, slot);
    free(made->code);
    made->code = NULL;
}
