/* programs.c - what the training programs of programs.h do. */
#include "programs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    SITE_INPUT = 1,
    SITE_FORWARD,
    SITE_BACKWARD,
    SITE_UPDATE,
    SITE_LOG,
    SITE_GRAD,
    SITE_SETUP,
    SITE_LOSS,
    SITE_READ,
    SITE_MARK,
    SITE_KEEP
};
enum { SITE_SHIFT = 40 };

static uint64_t label_of(uint64_t site, uint64_t layer, uint64_t time, uint64_t micro)
{
    return micro << PROGRAM_MICRO_SHIFT | site << SITE_SHIFT | layer << 24 | (time + 1);
}

struct program *program_create(size_t max_operations, uint64_t seed)
{
    struct program *program = calloc(1, sizeof(*program));
    assert(program);
    program->seed = seed;
    program->random = seed * 2 + 1;
    program->found_op = UINT64_MAX;
    const int r = spw_iteration_create(max_operations, &program->detector);
    assert(r == 0);
    (void)r;
    return program;
}

void program_destroy(struct program *program)
{
    for (uint32_t i = 0; i < program->map_count; i++) {
        free(program->maps[i].op);
        free(program->maps[i].alloc);
    }
    spw_iteration_destroy(program->detector);
    free(program);
}

uint64_t program_random(struct program *program, uint64_t below)
{
    program->random = program->random * 6364136223846793005u + 1442695040888963407u;
    return (program->random >> 33) % below;
}

void program_step(struct program *program)
{
    program->steps++;
    program->step_op = program->ops;
    program->step_begins = 0;
}

static struct map *map_of(struct program *program, uint32_t shape)
{
    for (uint32_t i = program->map_count; i-- > 0;)
        if (program->maps[i].shape == shape)
            return &program->maps[i];
    assert(program->map_count < PROGRAM_SHAPES);
    struct spw_iteration_shape known = {0};
    for (size_t i = 0; spw_iteration_shape_at(program->detector, i, &known) && known.id != shape; i++)
        ;
    assert(known.id == shape);
    struct map *map = &program->maps[program->map_count++];
    *map = (struct map){.shape = shape,
                        .op = calloc(known.length + 1, sizeof(uint64_t)),
                        .alloc = calloc(known.allocs + 1, sizeof(uint64_t)),
                        .length = known.length,
                        .allocs = known.allocs};
    return map;
}

/* False when the ordinal stood for another label before. Sure answers say what it stands for. */
static bool stands_for(const struct program *program, const struct map *map, uint64_t *labels, uint32_t ordinal,
                       uint64_t label, bool sure)
{
    if (map->length < program->whole_length)
        label &= ((uint64_t)1 << PROGRAM_MICRO_SHIFT) - 1;
    if (labels[ordinal] == 0 && sure)
        labels[ordinal] = label;
    return labels[ordinal] == 0 || labels[ordinal] == label;
}

uint64_t program_alloc(struct program *program, uint64_t bytes, uint64_t label)
{
    const uint64_t id = ++program->next_id;
    const int r = spw_iteration_alloc(program->detector, id, bytes, 0);
    assert(r == 0);
    (void)r;
    program->labels[id % PROGRAM_LIVE] = label;
    if (program->watcher)
        program->watcher->alloc(program->watcher->context, id, bytes);
    return id;
}

void program_free(struct program *program, uint64_t id)
{
    const int r = spw_iteration_free(program->detector, id);
    assert(r == 0);
    (void)r;
    if (program->watcher)
        program->watcher->free(program->watcher->context, id);
}

static void judge_touched(struct program *program, const struct object *touched, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct spw_iteration_allocation allocation;
        if (!spw_iteration_find_alloc(program->detector, touched[i].id, &allocation) || !allocation.has_ordinal ||
            allocation.shape != program->place.shape)
            continue;
        struct map *map = map_of(program, allocation.shape);
        assert(allocation.ordinal < map->allocs);
        if (stands_for(program, map, map->alloc, allocation.ordinal, program->labels[touched[i].id % PROGRAM_LIVE],
                       allocation.sure))
            program->right_allocs++;
        else if (allocation.sure)
            program->wrong_allocs++;
        else
            program->wrong_likely++;
    }
}

void program_op(struct program *program, enum spw_iteration_kind kind, uint64_t function, uint64_t geometry, uint64_t label,
                const struct object *touched, uint32_t count)
{
    struct spw_iteration_touch touches[16];
    for (uint32_t i = 0; i < count; i++)
        touches[i] = (struct spw_iteration_touch){.alloc = touched[i].id, .bytes = touched[i].bytes};
    const struct spw_iteration_op op = {.kind = kind,
                                        .function = function,
                                        .geometry = geometry,
                                        .touch_count = count,
                                        .loose_count = program->loose < count ? program->loose : count,
                                        .touches = touches};
    struct spw_iteration_place *place = &program->place;
    const int r = spw_iteration_add(program->detector, &op, place);
    assert(r == 0);
    (void)r;
    if (program->watcher)
        program->watcher->op(program->watcher->context, &op, place, label);
    program->ops++;
    program->bones += kind < SPW_ITERATION_COPY_H2D;
    program->begins += place->begins;
    program->step_begins += place->begins;
    program->sure += place->sure == SPW_ITERATION_SURE;
    program->likely += place->sure == SPW_ITERATION_LIKELY;
    program->off += place->sure == SPW_ITERATION_NO;
    if (place->sure == SPW_ITERATION_NO)
        return;
    if (program->found_op == UINT64_MAX)
        program->found_op = program->ops - 1;
    if (place->extra)
        return;
    struct map *map = map_of(program, place->shape);
    assert(place->ordinal < map->length);
    if (!stands_for(program, map, map->op, place->ordinal, label, place->sure == SPW_ITERATION_SURE)) {
        program->wrong_sure += place->sure == SPW_ITERATION_SURE;
        program->wrong_likely += place->sure == SPW_ITERATION_LIKELY;
    }
    if (kind < SPW_ITERATION_COPY_H2D)
        judge_touched(program, touched, count);
}

struct spw_iteration_shape program_shape(const struct program *program)
{
    struct spw_iteration_shape shape = {0};
    for (size_t i = 0; program->place.sure != SPW_ITERATION_NO && spw_iteration_shape_at(program->detector, i, &shape); i++)
        if (shape.id == program->place.shape)
            return shape;
    return (struct spw_iteration_shape){0};
}

uint32_t program_followed(const struct program *program)
{
    return program_shape(program).length;
}

/* --------------------------------------------------------------------------------------------------- a training loop */
struct model model_plain(void)
{
    return (struct model){.layers = 6, .seed = 3, .batch = 8, .times = 1, .momentum = true, .input = true};
}

uint32_t model_length(const struct model *model)
{
    return model->input + model->layers * model->times * 3 + 1 + model->layers;
}

static struct object make(struct program *program, uint64_t bytes, uint64_t label)
{
    return (struct object){.id = program_alloc(program, bytes, label), .bytes = bytes};
}

static void drop(struct program *program, struct object *object)
{
    program_free(program, object->id);
    object->id = 0;
}

static void launch(struct program *program, uint64_t function, uint64_t geometry, uint64_t label, struct object a,
                   struct object b, struct object c)
{
    struct object touched[3];
    uint32_t count = 0;
    for (int i = 0; i < 3; i++) {
        const struct object object = i == 0 ? a : i == 1 ? b : c;
        if (object.id)
            touched[count++] = object;
    }
    program_op(program, SPW_ITERATION_LAUNCH, function, geometry, label, touched, count);
}

static uint64_t weight_bytes(const struct model *model, uint32_t layer)
{
    return model->equal ? 4096 * (1 + model->seed % 7) : 512 * (1 + (model->seed * 31 + layer * layer * 7 + layer) % 97);
}

static uint64_t activation_bytes(const struct model *model, uint32_t layer)
{
    return model->batch * (model->equal ? 2048 : 512 * (1 + (model->seed * 17 + layer * 13) % 23));
}

static const struct object NONE = {0};

void model_setup(struct program *program, struct model *model)
{
    for (uint32_t l = 0; l < model->layers; l++) {
        model->weight[l] = make(program, weight_bytes(model, l), label_of(SITE_SETUP, l, 0, 0));
        launch(program, 900, model->weight[l].bytes, label_of(SITE_SETUP, l, 1, 0), model->weight[l], NONE, NONE);
    }
    for (uint32_t l = 0; l < model->layers && model->grads_stay; l++)
        model->grad[l] = make(program, weight_bytes(model, l), label_of(SITE_SETUP, l, 2, 0));
    for (uint32_t l = 0; l < model->layers && model->momentum && !model->lazy_states; l++)
        model->state[l] = make(program, weight_bytes(model, l), label_of(SITE_SETUP, l, 3, 0));
    model->steps = calloc((size_t)model->layers * model->times, sizeof(*model->steps));
    assert(model->steps);
    for (uint32_t i = 0; i < model->layers * model->times && model->in_place; i++)
        model->steps[i] = make(program, activation_bytes(model, i / model->times), label_of(SITE_SETUP, i, 4, 0));
    if (model->in_place)
        model->data = make(program, model->batch * 768, label_of(SITE_SETUP, 0, 5, 0));
}

void model_free(struct program *program, struct model *model)
{
    for (uint32_t l = 0; l < model->layers; l++) {
        drop(program, &model->weight[l]);
        if (model->grad[l].id)
            drop(program, &model->grad[l]);
        if (model->state[l].id)
            drop(program, &model->state[l]);
    }
    if (model->next.id)
        drop(program, &model->next);
    for (uint32_t i = 0; i < model->layers * model->times && model->in_place; i++)
        drop(program, &model->steps[i]);
    if (model->in_place)
        drop(program, &model->data);
    free(model->steps);
    model->steps = NULL;
}

/* The loader's thread: its allocation and copy come between any two calls of the step. */
static void load(struct program *program, struct model *model)
{
    if (!model->loader || model->calls++ != model->load_at)
        return;
    model->next = make(program, model->batch * 768, label_of(SITE_INPUT, 0, 0, 0));
    program_op(program, SPW_ITERATION_COPY_H2D, 0, model->next.bytes, label_of(SITE_INPUT, 0, 1, 0), &model->next, 1);
}

static void take_input(struct program *program, struct model *model, uint64_t batch, uint32_t micro)
{
    if (model->loader && model->next.id) {
        model->data = model->next;
        model->calls = 0;
        model->load_at = (uint32_t)program_random(program, 2 * model->layers * model->times);
        return;
    }
    if (!model->in_place)
        model->data = make(program, batch * 768, label_of(SITE_INPUT, 0, 0, micro));
    if (model->input)
        program_op(program, SPW_ITERATION_COPY_H2D, 0, model->data.bytes, label_of(SITE_INPUT, 0, 1, micro), &model->data,
                   1);
}

static void forward(struct program *program, struct model *model, uint32_t layer, uint32_t time, uint64_t batch,
                    uint32_t micro)
{
    const uint32_t i = layer * model->times + time;
    load(program, model);
    struct object *out = &model->steps[i], in = i ? model->steps[i - 1] : model->data;
    const uint64_t which = model->equal ? 0 : (model->seed + layer) % 5;
    if (!model->in_place)
        *out = make(program, activation_bytes(model, layer) / model->batch * batch,
                    label_of(SITE_FORWARD, layer, 3 * time, micro));
    launch(program, 100 + which, batch, label_of(SITE_FORWARD, layer, 3 * time, micro), in, model->weight[layer], *out);
    launch(program, 110, batch, label_of(SITE_FORWARD, layer, 3 * time + 1, micro), *out, NONE, NONE);
}

static void backward(struct program *program, struct model *model, uint32_t layer, uint32_t time, uint32_t micro)
{
    const uint32_t i = layer * model->times + time;
    const uint64_t which = model->equal ? 0 : (model->seed + layer) % 5;
    load(program, model);
    if (!model->grads_stay && time + 1 == model->times && !model->grad[layer].id)
        model->grad[layer] = make(program, model->weight[layer].bytes, label_of(SITE_GRAD, layer, 0, micro));
    launch(program, 120 + which, model->batch, label_of(SITE_BACKWARD, layer, 2 * time, micro), model->steps[i],
           model->weight[layer], model->grad[layer]);
    if (!model->in_place)
        drop(program, &model->steps[i]);
}

void model_micro_step(struct program *program, struct model *model, uint32_t micro)
{
    take_input(program, model, model->batch, micro);
    for (uint32_t l = 0; l < model->layers; l++)
        for (uint32_t t = 0; t < model->times; t++)
            forward(program, model, l, t, model->batch, micro);
    launch(program, 130, model->batch, label_of(SITE_LOSS, 0, 0, micro), model->steps[model->layers * model->times - 1],
           NONE, NONE);
    for (uint32_t l = model->layers; l-- > 0;)
        for (uint32_t t = model->times; t-- > 0;)
            backward(program, model, l, t, micro);
    if (!model->in_place)
        drop(program, &model->data);
}

void model_update(struct program *program, struct model *model)
{
    for (uint32_t l = 0; l < model->layers; l++) {
        if (model->momentum && !model->state[l].id) {
            model->state[l] = make(program, model->weight[l].bytes, label_of(SITE_SETUP, l, 6, 0));
            launch(program, 901, model->state[l].bytes, label_of(SITE_SETUP, l, 7, 0), model->state[l], NONE, NONE);
        }
        launch(program, 140, model->weight[l].bytes, label_of(SITE_UPDATE, l, 0, 0), model->weight[l], model->grad[l],
               model->state[l]);
        if (!model->grads_stay)
            drop(program, &model->grad[l]);
    }
}

void model_evaluate(struct program *program, struct model *model, uint64_t batch)
{
    take_input(program, model, batch, 0);
    for (uint32_t l = 0; l < model->layers; l++)
        for (uint32_t t = 0; t < model->times; t++) {
            forward(program, model, l, t, batch, 0);
            if (!model->in_place && (l || t))
                drop(program, &model->steps[l * model->times + t - 1]);
        }
    launch(program, 130, batch, label_of(SITE_LOSS, 0, 0, 0), model->steps[model->layers * model->times - 1], NONE, NONE);
    if (model->in_place)
        return;
    drop(program, &model->steps[model->layers * model->times - 1]);
    drop(program, &model->data);
}

void model_log(struct program *program, struct model *model, uint32_t kernels)
{
    const struct object loss = make(program, 777, label_of(SITE_LOG, 0, 0, 0));
    for (uint32_t k = 0; k < kernels; k++)
        launch(program, 950 + k, 1, label_of(SITE_LOG, k, 1, 0), loss, NONE, NONE);
    program_op(program, SPW_ITERATION_COPY_D2H, 0, 777, label_of(SITE_LOG, 0, 2, 0), &loss, 1);
    program_free(program, loss.id);
}

void model_keep(struct program *program, const struct model *model, uint64_t bytes)
{
    const struct object kept = make(program, bytes, label_of(SITE_KEEP, 0, 0, 0));
    launch(program, 160, 1, label_of(SITE_KEEP, 0, 1, 0), model->weight[0], kept, NONE);
}

void model_train(struct program *program, struct model *model)
{
    program_step(program);
    model_micro_step(program, model, 0);
    model_update(program, model);
}
