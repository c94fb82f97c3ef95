/* test-call_args.c - what the driver was told of an operation is told again as it was, whatever the program did since. */
#include "call_args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "driver.h"
#include "fake-versions.h"
#include "hostpool.h"
#include "layout.h"
#include "result.h"

#define FUNCTION ((CUfunction)0x100)
#define TWIN     ((CUfunction)0x200) /* launched in its place */
#define STREAM   ((CUstream)0x77)
#define OUTSIDE  UINT64_C(0x123400000000) /* the only address outside of our arenas that the driver knows */

/* ---- the driver notes what it is told last ---- */

static struct {
    CUlaunchConfig config;
    CUlaunchAttribute attributes[4];
    unsigned char image[64];
    unsigned launches, launches_ex, others;
    CUdeviceptr to, from;
    size_t pitch, width, height;
    unsigned value;
    unsigned element;
    CUstream stream;
} told;
static CUresult answer;
static const struct spw_layout *image_layout; /* of the parameters that come apart; NULL: they come packed */

static void note_parameters(void **params, void **extra)
{
    for (unsigned i = 0; params && i < image_layout->param_count; i++)
        memcpy(told.image + image_layout->params[i].offset_bytes, params[i], image_layout->params[i].size_bytes);
    if (extra)
        memcpy(told.image, extra[1], *(size_t *)extra[3]);
}

static CUresult on_cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                  unsigned shared, CUstream stream, void **params, void **extra)
{
    assert_ptr_equal(f, TWIN);
    told.config = (CUlaunchConfig){gx, gy, gz, bx, by, bz, shared, stream, NULL, 0};
    told.launches++;
    note_parameters(params, extra);
    return answer;
}

static CUresult on_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
    assert_ptr_equal(f, TWIN);
    told.config = *config;
    told.launches_ex++;
    assert_true(config->numAttrs <= 4);
    memcpy(told.attributes, config->attrs, config->numAttrs * sizeof(*config->attrs));
    note_parameters(params, extra);
    return answer;
}

static CUresult note(CUdeviceptr to, CUdeviceptr from, size_t pitch, unsigned value, unsigned element, size_t width,
                     size_t height, CUstream stream)
{
    told.to = to;
    told.from = from;
    told.pitch = pitch;
    told.value = value;
    told.element = element;
    told.width = width;
    told.height = height;
    told.stream = stream;
    told.others++;
    return answer;
}

static CUresult on_cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return note(to, from, 0, 0, 0, bytes, 1, stream);
}

static CUresult on_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *p, CUstream stream)
{
    return note(p->dstDevice, p->srcDevice, p->dstPitch, 0, 0, p->WidthInBytes, p->Height, stream);
}

static CUresult on_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *p, CUstream stream)
{
    return note(p->dstDevice, p->srcDevice, p->dstPitch, 0, 0, p->WidthInBytes, p->Height * p->Depth, stream);
}

static CUresult on_cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    return note(to, 0, 0, value, 1, count, 1, stream);
}

static CUresult on_cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
    return note(to, 0, 0, value, 2, count, 1, stream);
}

static CUresult on_cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    return note(to, 0, 0, value, 4, count, 1, stream);
}

static CUresult on_cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                                     CUstream s)
{
    return note(to, 0, pitch, value, 1, width, height, s);
}

static CUresult on_cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                                      CUstream s)
{
    return note(to, 0, pitch, value, 2, width, height, s);
}

static CUresult on_cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, CUstream s)
{
    return note(to, 0, pitch, value, 4, width, height, s);
}

static CUresult on_cuPointerGetAttribute(void *type, CUpointer_attribute attribute, CUdeviceptr address)
{
    *(CUmemorytype *)type = CU_MEMORYTYPE_DEVICE;
    assert_int_equal(attribute, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
    return address == OUTSIDE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static int begin(void **state)
{
    memset(&told, 0, sizeof(told));
    answer = CUDA_SUCCESS;
    spw_ask_reset();
#define USE(name) spw_driver.name = on_##name
    USE(cuLaunchKernel), USE(cuLaunchKernelEx), USE(cuMemcpyDtoDAsync_v2), USE(cuMemcpy2DAsync_v2);
    USE(cuMemcpy3DAsync_v2), USE(cuMemsetD8Async), USE(cuMemsetD16Async), USE(cuMemsetD32Async), USE(cuMemsetD2D8Async);
    USE(cuMemsetD2D16Async), USE(cuMemsetD2D32Async), USE(cuPointerGetAttribute);
#undef USE
    return 0;
}

/* Keeps it as it is now; the test frees that. */
static struct spw_kept_call_args *keep(const struct spw_call_args *s)
{
    const size_t bytes = spw_call_args_bytes(s);
    assert_int_equal(spw_call_args_verdict(s), SPW_REPLAYABLE);
    return spw_call_args_keep(s, malloc(bytes)); /* exactly so many, so that a sanitizer sees one too few */
}

static const char *function_name = "f";

static CUresult on_cuFuncGetName(const char **ret_name, CUfunction f)
{
    (void)f;
    *ret_name = function_name;
    return CUDA_SUCCESS;
}

/* ---- launches ---- */

/* A pointer, a number of four bytes, a struct with an address in its second word. */
static const struct spw_param params[] = {{0, 8}, {8, 4}, {16, 24}};
static const uint16_t words[] = {0}, spans[] = {2};
static const struct spw_layout layout = {.known = true,
                                         .param_count = 3,
                                         .word_count = 1,
                                         .span_count = 1,
                                         .image_bytes = 40,
                                         .words = words,
                                         .spans = spans,
                                         .params = params};

struct parameters {
    uint64_t pointer;
    uint32_t number;
    uint64_t words[3];
    void *list[3];
};

static void fill(struct parameters *p)
{
    *p = (struct parameters){LOW + 4096, 7, {1, LOW + 8192, 3}, {&p->pointer, &p->number, p->words}};
    image_layout = &layout;
}

static struct spw_call_args launch_of(struct parameters *p)
{
    return (struct spw_call_args){
        .kind = SPW_SUBMIT_LAUNCH,
        .launch = {FUNCTION, {1, 2, 3, 4, 5, 6, 700, (CUstream)0x55, NULL, 0}, &layout, p->list, NULL}};
}

static uint64_t word_at(size_t offset)
{
    uint64_t word;
    memcpy(&word, told.image + offset, sizeof(word));
    return word;
}

static void assert_told_as_filled(void)
{
    uint32_t number;
    memcpy(&number, told.image + 8, sizeof(number));
    assert_int_equal(word_at(0), LOW + 4096);
    assert_int_equal(number, 7);
    assert_int_equal(word_at(16), 1);
    assert_int_equal(word_at(24), LOW + 8192);
    assert_int_equal(word_at(32), 3);
}

static void a_launch_is_told_again_with_the_parameters_of_then(void **state)
{
    struct parameters p;
    fill(&p);
    struct spw_call_args s = launch_of(&p);
    struct spw_kept_call_args *kept = keep(&s);
    memset(&p, 0xee, sizeof(p));
    memset(&s, 0xee, sizeof(s));
    assert_int_equal(spw_call_args_send(kept, TWIN, STREAM), 0);
    assert_told_as_filled();
    assert_int_equal(told.launches, 1);
    assert_ptr_equal(told.config.hStream, STREAM);
    assert_int_equal(told.config.gridDimY, 2);
    assert_int_equal(told.config.blockDimZ, 6);
    assert_int_equal(told.config.sharedMemBytes, 700);
    free(kept);
}

static void parameters_packed_by_the_program_are_told_packed(void **state)
{
    const struct spw_layout unknown = {0};
    uint64_t buffer[5] = {LOW + 4096, 7, 1, LOW + 8192, 3};
    size_t bytes = sizeof(buffer);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    struct spw_call_args s = {.kind = SPW_SUBMIT_LAUNCH,
                              .launch = {FUNCTION, {1, 1, 1, 32, 1, 1, 0, NULL, NULL, 0}, &unknown, NULL, extra}};
    struct spw_kept_call_args *kept = keep(&s);
    memset(buffer, 0xee, sizeof(buffer));
    bytes = 0;
    memset(extra, 0, sizeof(extra));
    assert_int_equal(spw_call_args_send(kept, TWIN, STREAM), 0);
    assert_told_as_filled();
    free(kept);
}

static void attributes_go_with_a_launch_but_for_what_lets_it_overlap(void **state)
{
    struct parameters p;
    CUlaunchAttribute attributes[] = {
        {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, .value.programmaticStreamSerializationAllowed = 1},
        {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {2, 1, 1}},
        {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1}};
    fill(&p);
    struct spw_call_args s = launch_of(&p);
    s.launch.config.attrs = attributes;
    s.launch.config.numAttrs = 3;
    struct spw_kept_call_args *kept = keep(&s);
    memset(attributes, 0xee, sizeof(attributes));
    assert_int_equal(spw_call_args_send(kept, TWIN, STREAM), 0);
    assert_told_as_filled();
    assert_int_equal(told.launches_ex, 1);
    assert_int_equal(told.config.numAttrs, 2);
    assert_int_equal(told.attributes[0].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    assert_int_equal(told.attributes[0].value.clusterDim.x, 2);
    assert_int_equal(told.attributes[1].id, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    assert_ptr_equal(told.config.hStream, STREAM);
    free(kept);
}

static void launches_with_events_or_unheard_of_attributes_are_not_kept(void **state)
{
    static const CUlaunchAttributeID refused[] = {
        CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
        CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, (CUlaunchAttributeID)4711};
    struct parameters p;
    fill(&p);
    for (unsigned i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        CUlaunchAttribute attributes[] = {{.id = CU_LAUNCH_ATTRIBUTE_PRIORITY}, {.id = refused[i]}};
        struct spw_call_args s = launch_of(&p);
        s.launch.config.attrs = attributes;
        s.launch.config.numAttrs = 2;
        assert_int_equal(spw_call_args_verdict(&s), SPW_REPLAY_EVENTS);
    }
}

static void launches_whose_parameters_are_not_known_are_not_kept(void **state)
{
    struct spw_layout unknown = layout;
    struct parameters p;
    void *none[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, NULL, CU_LAUNCH_PARAM_END};
    fill(&p);
    struct spw_call_args s = launch_of(&p);
    unknown.known = false;
    s.launch.layout = &unknown;
    assert_int_equal(spw_call_args_verdict(&s), SPW_REPLAY_UNPARSED);
    s = launch_of(&p);
    s.launch.params = NULL;
    assert_int_equal(spw_call_args_verdict(&s), SPW_REPLAY_UNPARSED);
    s.launch.extra = none;
    assert_int_equal(spw_call_args_verdict(&s), SPW_REPLAY_UNPARSED);
}

static void launches_that_are_given_memory_of_others_are_not_kept(void **state)
{
    struct parameters p;
    fill(&p);
    struct spw_call_args s = launch_of(&p);
    p.words[2] = OUTSIDE;
    assert_int_equal(spw_call_args_verdict(&s), SPW_REPLAY_OUTSIDE_MEMORY);
    p.words[2] = OUTSIDE + 1; /* the driver knows nothing there */
    assert_int_equal(spw_call_args_verdict(&s), SPW_REPLAYABLE);
    p.pointer = OUTSIDE;
    assert_int_equal(spw_call_args_verdict(&s), SPW_REPLAY_OUTSIDE_MEMORY);
    uint64_t buffer[] = {LOW, OUTSIDE};
    size_t bytes = sizeof(buffer);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    s.launch.params = NULL;
    s.launch.extra = extra;
    assert_int_equal(spw_call_args_verdict(&s), SPW_REPLAY_OUTSIDE_MEMORY);
    bytes = sizeof(buffer[0]);
    assert_int_equal(spw_call_args_verdict(&s), SPW_REPLAYABLE);
}

static void *map_four_gib(void *context, size_t bytes)
{
    return (void *)(uintptr_t) * (CUdeviceptr *)context;
}

static void unmap_nothing(void *context, void *address, size_t bytes)
{
}

static int pin(void *context, void *address, size_t bytes)
{
    return 0;
}

/* Half of an old pointer to the heap, and a float beside it: wherever that points to in the window of 4 GiB. */
static void numbers_that_look_like_addresses_of_our_own_host_memory_are_numbers(void **state)
{
    static const struct spw_host_ops ops = {.map = map_four_gib, .unmap = unmap_nothing, .pin = pin, .unpin = pin};
    CUdeviceptr window = OUTSIDE >> 32 << 32;
    struct spw_hostpool *pool;
    void *memory;
    struct parameters p;
    fill(&p);
    struct spw_call_args s = launch_of(&p);
    p.words[2] = OUTSIDE;
    assert_int_equal(spw_hostpool_create(&ops, &window, (size_t)4 << 30, &pool), 0);
    assert_int_equal(spw_call_args_verdict(&s), SPW_REPLAY_OUTSIDE_MEMORY); /* a pool of nothing */
    assert_int_equal(spw_hostpool_take(pool, (size_t)4 << 30, &memory), 0);
    assert_int_equal(spw_call_args_verdict(&s), SPW_REPLAYABLE);
    spw_hostpool_destroy(pool);
    assert_int_equal(spw_call_args_verdict(&s), SPW_REPLAY_OUTSIDE_MEMORY);
}

static void where_addresses_are_tells_launches_of_a_function_apart(void **state)
{
    struct parameters p;
    fill(&p);
    struct spw_call_args s = launch_of(&p);
    const uint64_t places = spw_call_args_places(&s);
    p.pointer += 64;
    p.number = 9;
    p.words[0] = 12;
    assert_int_equal(spw_call_args_places(&s), places);
    p.words[1] = 0;
    p.words[2] = LOW + 8192;
    assert_int_not_equal(spw_call_args_places(&s), places);
}

static void what_is_no_address_tells_launches_of_a_kind_apart(void **state)
{
    struct parameters p;
    uint32_t before[SPW_CALL_ARGS_NUMBERS], now[SPW_CALL_ARGS_NUMBERS];
    fill(&p);
    struct spw_call_args s = launch_of(&p);
    const unsigned count = spw_call_args_numbers(&s, before);
    assert_true(count > SPW_CALL_ARGS_GEOMETRY);
    p.pointer += 64;
    assert_int_equal(spw_call_args_numbers(&s, now), count);
    assert_memory_equal(now, before, count * sizeof(*now));
    p.number++;
    assert_int_equal(spw_call_args_numbers(&s, now), count);
    assert_memory_not_equal(now, before, count * sizeof(*now));
    p.number--;
    s.launch.config.gridDimY++;
    assert_int_equal(spw_call_args_numbers(&s, now), count);
    assert_memory_not_equal(now, before, count * sizeof(*now));
}

/* What is there by chance is a number like any other, whatever it looks like. */
static void a_place_that_is_doubted_tells_no_launches_apart_by_being_an_address(void **state)
{
    struct parameters p;
    uint32_t before[SPW_CALL_ARGS_NUMBERS], now[SPW_CALL_ARGS_NUMBERS];
    fill(&p);
    struct spw_call_args s = launch_of(&p);
    const uint64_t without = spw_call_args_places(&s);
    const unsigned count = spw_call_args_numbers(&s, before);
    p.words[2] = LOW + 8192;
    assert_int_not_equal(spw_call_args_places(&s), without);
    assert_int_not_equal(spw_call_args_numbers(&s, now), count);

    const uint16_t doubted[] = {99, 4}; /* the last word of the image */
    s.launch.doubted = doubted;
    s.launch.doubted_count = 2;
    assert_int_equal(spw_call_args_places(&s), without);
    assert_int_equal(spw_call_args_numbers(&s, now), count);
    assert_memory_not_equal(now, before, count * sizeof(*now));
    p.words[0] = LOW + 64; /* one that is trusted */
    assert_int_not_equal(spw_call_args_places(&s), without);
}

/* ---- copies and sets ---- */

static void copies_are_told_again(void **state)
{
    CUDA_MEMCPY2D plane = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = LOW + 512,
                           .dstDevice = LOW + 1024,
                           .dstPitch = 256,
                           .WidthInBytes = 100,
                           .Height = 5};
    CUDA_MEMCPY3D volume = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                            .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                            .srcDevice = LOW + 512,
                            .dstDevice = LOW + 1024,
                            .dstPitch = 256,
                            .WidthInBytes = 100,
                            .Height = 5,
                            .Depth = 2};
    const struct spw_call_args submissions[] = {{.kind = SPW_SUBMIT_COPY, .copy = {LOW + 1024, LOW + 512, 100}},
                                                {.kind = SPW_SUBMIT_PLANE, .plane = &plane},
                                                {.kind = SPW_SUBMIT_VOLUME, .volume = &volume}};
    const size_t heights[] = {1, 5, 10};
    for (unsigned i = 0; i < 3; i++) {
        struct spw_kept_call_args *kept = keep(&submissions[i]);
        plane.Height = volume.Height = 77;
        assert_int_equal(spw_call_args_send(kept, TWIN, STREAM), 0);
        assert_int_equal(told.to, LOW + 1024);
        assert_int_equal(told.from, LOW + 512);
        assert_int_equal(told.width, 100);
        assert_int_equal(told.height, heights[i]);
        assert_ptr_equal(told.stream, STREAM);
        plane.Height = volume.Height = 5;
        free(kept);
    }
    assert_int_equal(told.others, 3);
    plane.srcMemoryType = CU_MEMORYTYPE_HOST;
    assert_int_equal(spw_call_args_verdict(&submissions[1]), SPW_REPLAY_OUTSIDE_MEMORY);
    volume.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    assert_int_equal(spw_call_args_verdict(&submissions[2]), SPW_REPLAY_OUTSIDE_MEMORY);
    const struct spw_call_args from_host = {.kind = SPW_SUBMIT_COPY, .copy = {LOW + 1024, 0x5555, 100}};
    assert_int_equal(spw_call_args_verdict(&from_host), SPW_REPLAY_OUTSIDE_MEMORY);
}

static void sets_are_told_again(void **state)
{
    for (unsigned element = 1; element <= 4; element *= 2) {
        for (size_t rows = 1; rows <= 3; rows += 2) {
            const uint32_t value = element == 4 ? 0xabcdef01 : element == 2 ? 0xabcd : 0xab;
            const struct spw_call_args s = {.kind = SPW_SUBMIT_SET, .set = {LOW, 512, 60, rows, value, element}};
            struct spw_kept_call_args *kept = keep(&s);
            assert_int_equal(spw_call_args_send(kept, TWIN, STREAM), 0);
            assert_int_equal(told.to, LOW);
            assert_int_equal(told.value, value);
            assert_int_equal(told.element, element);
            assert_int_equal(told.width, 60);
            assert_int_equal(told.height, rows);
            assert_int_equal(told.pitch, rows > 1 ? 512 : 0);
            free(kept);
        }
    }
}

/* Of PyTorch: a count, a function object that holds an address, and the result before the inputs. */
static void what_an_elementwise_kernel_writes_is_known_by_its_name(void **state)
{
    static const struct spw_param elementwise[] = {{0, 4}, {8, 8}, {16, 24}};
    static const uint16_t function_object[] = {1}, tensors[] = {2};
    static const struct spw_layout of_elementwise = {.known = true,
                                                     .param_count = 3,
                                                     .word_count = 1,
                                                     .span_count = 1,
                                                     .image_bytes = 40,
                                                     .words = function_object,
                                                     .spans = tensors,
                                                     .params = elementwise};
    uint32_t count = 100;
    uint64_t held = LOW + 4096, arrays[3] = {LOW + 8192, LOW + 12288, LOW + 16384};
    void *list[] = {&count, &held, arrays};
    const struct spw_call_args s = {.kind = SPW_SUBMIT_LAUNCH,
                                    .launch = {FUNCTION, {1, 1, 1, 1, 1, 1, 0, 0, NULL, 0}, &of_elementwise, list, NULL}};
    struct spw_declared declared;
    spw_driver.cuFuncGetName = on_cuFuncGetName;
    function_name = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_10AddFunctorIfEESt5arrayIPcLm3EELb0EEEviT0_T1_";
    spw_call_args_declared(&s, &declared);
    assert_int_equal(declared.mutable, 2); /* of what its function object holds nothing is known */
    assert_int_equal(declared.constant, 4 | 8);
    arrays[1] = 12345; /* no address of ours, and no hit */
    spw_call_args_declared(&s, &declared);
    assert_int_equal(declared.mutable, 2);
    assert_int_equal(declared.constant, 4);
    function_name = "_ZN2at6native18elementwise_kernelILi4ENS0_10AddFunctorIfEESt5arrayIPcLm3EEEEviT0_T1_";
    spw_call_args_declared(&s, &declared);
    assert_int_equal(declared.mutable | declared.constant, 0);
}

/* Two words, of which the second is known to be a number: what a launch is known by is as if it did not look like an
 * address. */
static void a_parameter_that_is_known_for_numbers_holds_no_address(void **state)
{
    static const struct spw_param two[] = {{0, 8}, {8, 8}, {16, 8}};
    static const uint16_t words[] = {0, 2};
    static const struct spw_layout with_number = {.known = true,
                                                  .plain = true,
                                                  .param_count = 3,
                                                  .word_count = 2,
                                                  .image_bytes = 24,
                                                  .numbers = 2,
                                                  .words = words,
                                                  .params = two};
    uint64_t to = LOW + 4096, number = 7, from = LOW + 8192;
    void *list[] = {&to, &number, &from};
    const struct spw_call_args s = {.kind = SPW_SUBMIT_LAUNCH,
                                    .launch = {FUNCTION, {1, 1, 1, 1, 1, 1, 0, 0, NULL, 0}, &with_number, list, NULL}};
    uint32_t before[SPW_CALL_ARGS_NUMBERS], now[SPW_CALL_ARGS_NUMBERS];
    struct spw_declared declared;
    const uint64_t places = spw_call_args_places(&s);
    const unsigned count = spw_call_args_numbers(&s, before);
    number = LOW + 12288;
    assert_int_equal(spw_call_args_places(&s), places);
    assert_int_equal(spw_call_args_numbers(&s, now), count);
    assert_memory_not_equal(now, before, count * sizeof(*now));
    spw_driver.cuFuncGetName = on_cuFuncGetName;
    function_name = "_Z7convertPfmPKf";
    spw_call_args_declared(&s, &declared);
    assert_int_equal(declared.mutable, 1);
    assert_int_equal(declared.constant, 2);
    number = OUTSIDE;
    assert_int_equal(spw_call_args_verdict(&s), SPW_REPLAYABLE);
}

static void what_is_no_copy_of_a_known_form_is_not_kept(void **state)
{
    assert_int_equal(spw_call_args_verdict(&(struct spw_call_args){.kind = SPW_SUBMIT_OTHER}), SPW_REPLAY_OTHER_CALL);
}

static void what_the_driver_answers_is_passed_on(void **state)
{
    struct parameters p;
    fill(&p);
    const struct spw_call_args launch = launch_of(&p), set = {.kind = SPW_SUBMIT_SET, .set = {LOW, 0, 60, 1, 0, 1}};
    struct spw_kept_call_args *a = keep(&launch), *b = keep(&set);
    answer = CUDA_ERROR_OUT_OF_MEMORY;
    assert_int_equal(spw_call_args_send(a, TWIN, STREAM), -ENOMEM);
    answer = CUDA_ERROR_LAUNCH_FAILED;
    assert_int_equal(spw_cuda(spw_call_args_send(b, TWIN, STREAM)), CUDA_ERROR_LAUNCH_FAILED);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_launch_is_told_again_with_the_parameters_of_then, begin),
        cmocka_unit_test_setup(parameters_packed_by_the_program_are_told_packed, begin),
        cmocka_unit_test_setup(attributes_go_with_a_launch_but_for_what_lets_it_overlap, begin),
        cmocka_unit_test_setup(launches_with_events_or_unheard_of_attributes_are_not_kept, begin),
        cmocka_unit_test_setup(launches_whose_parameters_are_not_known_are_not_kept, begin),
        cmocka_unit_test_setup(launches_that_are_given_memory_of_others_are_not_kept, begin),
        cmocka_unit_test_setup(numbers_that_look_like_addresses_of_our_own_host_memory_are_numbers, begin),
        cmocka_unit_test_setup(where_addresses_are_tells_launches_of_a_function_apart, begin),
        cmocka_unit_test_setup(a_place_that_is_doubted_tells_no_launches_apart_by_being_an_address, begin),
        cmocka_unit_test_setup(what_is_no_address_tells_launches_of_a_kind_apart, begin),
        cmocka_unit_test_setup(copies_are_told_again, begin),
        cmocka_unit_test_setup(sets_are_told_again, begin),
        cmocka_unit_test_setup(what_an_elementwise_kernel_writes_is_known_by_its_name, begin),
        cmocka_unit_test_setup(a_parameter_that_is_known_for_numbers_holds_no_address, begin),
        cmocka_unit_test_setup(what_is_no_copy_of_a_known_form_is_not_kept, begin),
        cmocka_unit_test_setup(what_the_driver_answers_is_passed_on, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
