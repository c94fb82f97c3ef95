/* test-images.c - what a module was loaded from is loaded again as it was, whatever the program has done with it since, or
 * not at all. */
#include "images.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fatbinary_section.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask.h"
#include "driver.h"
#include "failing-memory.h"
#include "log.h"
#include "result.h"
#include "unlocked.h"

static const char strange[64] = "\x7f of no form that is known";
static const char ptx[] = "// a comment\n.version 8.0\n.target sm_75\n";

/* ---- the driver notes what it is told last ---- */

static struct {
    enum spw_image_call call;
    const void *image;
    char path[256];
    unsigned count, library_count;
    CUjit_option options[4];
    void *values[4];
    CUlibraryOption library_option;
    unsigned loads, unloads;
    void *unloaded;
} told;
static CUresult answer;

static CUresult note(void *handle, enum spw_image_call call, const void *image, unsigned count, CUjit_option *options,
                     void **values)
{
    told.call = call;
    told.image = image;
    told.count = count;
    told.loads++;
    for (unsigned i = 0; i < count; i++) {
        told.options[i] = options[i];
        told.values[i] = values[i];
        values[i] = (void *)0xbad; /* it may write there */
    }
    *(uintptr_t *)handle = 0x500;
    return answer;
}

static CUresult module_load(CUmodule *module, const char *path)
{
    (void)snprintf(told.path, sizeof(told.path), "%s", path);
    return note(module, SPW_IMAGE_MODULE_FILE, NULL, 0, NULL, NULL);
}

static CUresult module_load_data(CUmodule *module, const void *image)
{
    return note(module, SPW_IMAGE_MODULE_DATA, image, 0, NULL, NULL);
}

static CUresult module_load_data_ex(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                                    void **values)
{
    return note(module, SPW_IMAGE_MODULE_DATA, image, count, options, values);
}

static CUresult module_load_fat(CUmodule *module, const void *image)
{
    return note(module, SPW_IMAGE_MODULE_FAT, image, 0, NULL, NULL);
}

static CUresult library_load(CUlibrary *library, const void *image, CUjit_option *options, void **values, unsigned count,
                             CUlibraryOption *library_options, void **library_values, unsigned library_count)
{
    told.library_count = library_count;
    if (library_count)
        told.library_option = library_options[0];
    (void)library_values;
    return note(library, SPW_IMAGE_LIBRARY_DATA, image, count, options, values);
}

static CUresult library_load_file(CUlibrary *library, const char *path, CUjit_option *options, void **values, unsigned count,
                                  CUlibraryOption *library_options, void **library_values, unsigned library_count)
{
    (void)snprintf(told.path, sizeof(told.path), "%s", path);
    (void)library_options;
    (void)library_values;
    told.library_count = library_count;
    return note(library, SPW_IMAGE_LIBRARY_FILE, NULL, count, options, values);
}

static CUresult unload_module(CUmodule module)
{
    told.unloads++;
    told.unloaded = module;
    return CUDA_SUCCESS;
}

static CUresult unload_library(CUlibrary library)
{
    told.unloads += 100;
    told.unloaded = library;
    return CUDA_SUCCESS;
}

static int setup(void **state)
{
    (void)state;
    spw_log_setup(SPW_LOG_QUIET, NULL);
    memset(&told, 0, sizeof(told));
    answer = CUDA_SUCCESS;
    spw_driver.cuModuleLoad = module_load;
    spw_driver.cuModuleLoadData = module_load_data;
    spw_driver.cuModuleLoadDataEx = module_load_data_ex;
    spw_driver.cuModuleLoadFatBinary = module_load_fat;
    spw_driver.cuLibraryLoadData = library_load;
    spw_driver.cuLibraryLoadFromFile = library_load_file;
    spw_driver.cuModuleUnload = unload_module;
    spw_driver.cuLibraryUnload = unload_library;
    return 0;
}

/* As the hooks do. */
static struct spw_image *keep_told(const struct spw_image_told *what)
{
    struct spw_image *image = spw_image_describe(what);
    assert_non_null(image);
    spw_image_keep_locked(image);
    return image;
}

static struct spw_image *keep(enum spw_image_call call, const void *what)
{
    return keep_told(&(struct spw_image_told){.call = call, .what = what});
}

static int load(const struct spw_image *image)
{
    void *handle = NULL;
    const int r = spw_image_load_locked(image, &handle);
    assert_int_equal(handle != NULL, r == 0);
    return r;
}

static void lacks(const struct spw_image *image, const char *words)
{
    assert_non_null(spw_image_lacks(image));
    assert_non_null(strstr(spw_image_lacks(image), words));
    assert_int_equal(load(image), -ESTALE);
    assert_int_equal(told.loads, 0);
}

static void *on_the_heap(const void *from, size_t bytes)
{
    void *copy = malloc(bytes);
    assert_non_null(copy);
    return memcpy(copy, from, bytes);
}

/* What was loaded is what `bytes` were, in memory of its own, when the program's have changed. */
static void is_loaded_as_it_was(enum spw_image_call call, const void *bytes, size_t count)
{
    void *program = on_the_heap(bytes, count);
    struct spw_image *image = keep(call, program);
    assert_null(spw_image_lacks(image));
    assert_int_equal(spw_images_copied_bytes_locked(), count);
    memset(program, 0xee, count);
    assert_int_equal(load(image), 0);
    assert_int_equal(told.call, call);
    assert_ptr_not_equal(told.image, program);
    assert_memory_equal(told.image, bytes, count);
    spw_image_free_locked(image);
    assert_int_equal(spw_images_copied_bytes_locked(), 0);
    free(program);
}

/* ---- forms ---- */

static void text_is_copied_to_its_end(void **state)
{
    is_loaded_as_it_was(SPW_IMAGE_MODULE_DATA, ptx, sizeof(ptx));
    is_loaded_as_it_was(SPW_IMAGE_LIBRARY_DATA, "\n\t.version 7.0\n", sizeof("\n\t.version 7.0\n"));
}

/* An object file stands for machine code: this very program, whose last headers lie at its end. */
static void machine_code_is_copied_to_the_end_of_its_last_part(void **state)
{
    FILE *file = fopen("/proc/self/exe", "rb");
    struct stat self;
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &self), 0);
    char *bytes = malloc((size_t)self.st_size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)self.st_size, file), self.st_size);
    is_loaded_as_it_was(SPW_IMAGE_MODULE_DATA, bytes, (size_t)self.st_size);
    ((Elf64_Ehdr *)bytes)->e_ident[EI_CLASS] = ELFCLASS32;
    struct spw_image *image = keep(SPW_IMAGE_MODULE_DATA, bytes);
    told.loads = 0;
    lacks(image, "form");
    spw_image_free_locked(image);
    free(bytes);
    (void)fclose(file);
}

/* Many sections are counted by the first of them. */
static void machine_code_of_many_sections_is_copied_as_well(void **state)
{
    enum { SECTIONS = 70000, LAST = 512 };
    const size_t at = sizeof(Elf64_Ehdr), end = at + SECTIONS * sizeof(Elf64_Shdr), count = end + LAST;
    char *bytes = calloc(1, count);
    assert_non_null(bytes);
    const Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64}, .e_shoff = at, .e_shentsize = sizeof(Elf64_Shdr)};
    const Elf64_Shdr first = {.sh_size = SECTIONS}, last = {.sh_type = SHT_PROGBITS, .sh_offset = end, .sh_size = LAST};
    memcpy(bytes, &header, sizeof(header));
    memcpy(bytes + at, &first, sizeof(first));
    memcpy(bytes + end - sizeof(last), &last, sizeof(last));
    is_loaded_as_it_was(SPW_IMAGE_MODULE_DATA, bytes, count);
    free(bytes);
}

static void *fat_of(uint64_t bytes, size_t real)
{
    const struct {
        uint32_t magic;
        uint16_t version, header;
        uint64_t bytes;
    } header = {0xba55ed50, 1, 16, bytes};
    char *fat = malloc(real);
    assert_non_null(fat);
    memset(fat, 0x3c, real);
    return memcpy(fat, &header, sizeof(header));
}

static void a_fat_binary_says_how_long_it_is(void **state)
{
    char *fat = fat_of(984, 1000);
    is_loaded_as_it_was(SPW_IMAGE_MODULE_FAT, fat, 1000);
    free(fat);
}

static void a_wrapper_leads_to_it(void **state)
{
    char *fat = fat_of(984, 1000), *before = on_the_heap(fat, 1000);
    __fatBinC_Wrapper_t wrapper = {FATBINC_MAGIC, FATBINC_VERSION, (const void *)fat, NULL};
    struct spw_image *image = keep(SPW_IMAGE_LIBRARY_DATA, &wrapper);
    assert_null(spw_image_lacks(image));
    memset(&wrapper, 0xee, sizeof(wrapper));
    memset(fat, 0xee, 1000);
    assert_int_equal(load(image), 0);
    const __fatBinC_Wrapper_t *seen = told.image;
    assert_int_equal(seen->magic, FATBINC_MAGIC);
    assert_memory_equal(seen->data, before, 1000);
    spw_image_free_locked(image);
    wrapper = (__fatBinC_Wrapper_t){FATBINC_MAGIC, FATBINC_LINK_VERSION, (const void *)before, NULL};
    image = keep(SPW_IMAGE_LIBRARY_DATA, &wrapper);
    told.loads = 0;
    lacks(image, "several images");
    spw_image_free_locked(image);
    free(fat);
    free(before);
}

static void what_is_of_no_known_form_is_not_guessed_at(void **state)
{
    char *bytes = on_the_heap(strange, sizeof(strange));
    struct spw_image *image = keep(SPW_IMAGE_MODULE_DATA, bytes);
    lacks(image, "form is not known");
    spw_image_free_locked(image);
    free(bytes);
}

/* ---- where it lies ---- */

static const unsigned char constant[64] = "1 of no known form, in memory that nobody writes";
static unsigned char changing[64] = "2 of no known form, in memory that the program writes";

static void what_lies_in_an_object_is_not_copied(void **state)
{
    struct spw_image *image = keep(SPW_IMAGE_MODULE_DATA, constant), *text = keep(SPW_IMAGE_MODULE_DATA, ptx);
    assert_int_equal(spw_images_copied_bytes_locked(), 0);
    assert_int_equal(load(image), 0);
    assert_ptr_equal(told.image, constant);
    assert_int_equal(load(text), 0);
    assert_ptr_equal(told.image, ptx);
    spw_image_free_locked(image);
    spw_image_free_locked(text);
}

static void what_is_another_by_now_is_not_loaded(void **state)
{
    struct spw_image *image = keep(SPW_IMAGE_MODULE_DATA, changing);
    assert_int_equal(load(image), 0);
    changing[1] ^= 1;
    assert_int_equal(load(image), -ESTALE);
    changing[1] ^= 1;
    assert_int_equal(load(image), 0);
    assert_int_equal(told.loads, 2);
    spw_image_free_locked(image);
}

/* The program may write there: where its length is known it is copied. */
static void text_in_memory_that_the_program_writes_is_copied(void **state)
{
    static char text[] = ".version 8.0\n";
    is_loaded_as_it_was(SPW_IMAGE_MODULE_DATA, text, sizeof(text));
    struct spw_image *image = keep(SPW_IMAGE_MODULE_DATA, text);
    assert_int_equal(spw_images_copied_bytes_locked(), sizeof(text));
    assert_int_equal(spw_image_bytes(image), sizeof(text));
    spw_image_free_locked(image);
}

static void what_the_program_says_it_keeps_is_not_copied(void **state)
{
    static const CUlibraryOption preserved[] = {CU_LIBRARY_BINARY_IS_PRESERVED,
                                                CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE};
    void *values[2] = {(void *)1, NULL};
    char *program = on_the_heap(strange, sizeof(strange));
    struct spw_image_told what = {.call = SPW_IMAGE_LIBRARY_DATA,
                                  .what = program,
                                  .library_option_count = 1,
                                  .library_options = preserved,
                                  .library_values = values};
    struct spw_image *image = keep_told(&what);
    assert_null(spw_image_lacks(image));
    assert_int_equal(load(image), 0);
    assert_ptr_equal(told.image, program);
    assert_int_equal(told.library_count, 1);
    assert_int_equal(told.library_option, CU_LIBRARY_BINARY_IS_PRESERVED);
    spw_image_free_locked(image);
    what.library_option_count = 2;
    image = keep_told(&what);
    told.loads = 0;
    lacks(image, "tables of the program's");
    spw_image_free_locked(image);
    free(program);
}

static void copies_take_so_much_and_no_more(void **state)
{
    const size_t each = (size_t)40 << 20;
    char *fat = fat_of(each - 16, each), *endless = fat_of(UINT64_MAX, 64);
    struct spw_image *one = keep(SPW_IMAGE_MODULE_DATA, fat), *two = keep(SPW_IMAGE_MODULE_DATA, fat),
                     *three = keep(SPW_IMAGE_MODULE_DATA, endless);
    assert_null(spw_image_lacks(one));
    lacks(two, "no room");
    lacks(three, "no room");
    assert_int_equal(spw_images_copied_bytes_locked(), each);
    spw_image_free_locked(one);
    spw_image_free_locked(two);
    spw_image_free_locked(three);
    two = keep(SPW_IMAGE_MODULE_DATA, fat);
    assert_null(spw_image_lacks(two));
    spw_image_free_locked(two);
    free(fat);
    free(endless);
}

static void without_memory_nothing_is_kept(void **state)
{
    const struct spw_image_told what = {.call = SPW_IMAGE_MODULE_DATA, .what = on_the_heap(ptx, sizeof(ptx))};
    memory_fails_after(0);
    struct spw_image *image = spw_image_describe(&what);
    assert_true(memory_is_back());
    assert_null(image);
    image = spw_image_describe(&what);
    memory_fails_after(0);
    spw_image_keep_locked(image);
    assert_true(memory_is_back());
    lacks(image, "no memory");
    spw_image_free_locked(image);
    image = keep_told(&what);
    memory_fails_after(0);
    assert_int_equal(load(image), -ENOMEM);
    assert_true(memory_is_back());
    assert_int_equal(load(image), 0);
    spw_image_free_locked(image);
    spw_image_free_locked(NULL);
    free((void *)(uintptr_t)what.what);
}

/* ---- options ---- */

static void options_are_as_they_were_before_the_driver_wrote_to_them(void **state)
{
    CUjit_option options[] = {CU_JIT_MAX_REGISTERS, CU_JIT_INFO_LOG_BUFFER, CU_JIT_THREADS_PER_BLOCK, CU_JIT_WALL_TIME};
    void *values[] = {(void *)32, changing, (void *)128, NULL};
    const struct spw_image_told what = {
        .call = SPW_IMAGE_MODULE_DATA, .what = ptx, .option_count = 4, .options = options, .values = values};
    struct spw_image *image = spw_image_describe(&what);
    memset(values, 0xee, sizeof(values));
    spw_image_keep_locked(image);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(load(image), 0);
        assert_int_equal(told.count, 2);
        assert_int_equal(told.options[0], CU_JIT_MAX_REGISTERS);
        assert_ptr_equal(told.values[0], (void *)32);
        assert_int_equal(told.options[1], CU_JIT_THREADS_PER_BLOCK);
        assert_ptr_equal(told.values[1], (void *)128);
    }
    spw_image_free_locked(image);
}

static void options_that_lead_elsewhere_are_refused(void **state)
{
    static CUjit_option options[] = {CU_JIT_GLOBAL_SYMBOL_ADDRESSES, (CUjit_option)99};
    void *value = changing;
    for (unsigned i = 0; i < 2; i++) {
        struct spw_image *image = keep_told(&(struct spw_image_told){
            .call = SPW_IMAGE_LIBRARY_DATA, .what = ptx, .option_count = 1, .options = &options[i], .values = &value});
        lacks(image, "options that are not known");
        spw_image_free_locked(image);
    }
    struct spw_image *image =
        keep_told(&(struct spw_image_told){.call = SPW_IMAGE_MODULE_DATA, .what = ptx, .option_count = 9});
    lacks(image, "options that are not told");
    spw_image_free_locked(image);
}

/* ---- files ---- */

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_file_is_loaded_again_unless_it_has_changed(void **state)
{
    char folder[] = "/tmp/test-images-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/kernels.ptx", folder);
    write_file(path, ptx);
    for (int library = 0; library < 2; library++) {
        struct spw_image *image = keep(library ? SPW_IMAGE_LIBRARY_FILE : SPW_IMAGE_MODULE_FILE, path);
        assert_null(spw_image_lacks(image));
        assert_int_equal(spw_image_is_library(image), library);
        assert_int_equal(load(image), 0);
        assert_string_equal(told.path, path);
        assert_int_equal(told.call, library ? SPW_IMAGE_LIBRARY_FILE : SPW_IMAGE_MODULE_FILE);
        write_file(path, "// another\n");
        assert_int_equal(load(image), -ESTALE);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(load(image), -ESTALE);
        spw_image_free_locked(image);
        write_file(path, ptx);
    }
    assert_int_equal(unlink(path), 0);
    told.loads = 0;
    struct spw_image *image = keep(SPW_IMAGE_MODULE_FILE, path);
    lacks(image, "file");
    spw_image_free_locked(image);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- what is in it ---- */

/* Of memory that the program may free or change: it is a copy that is hashed. False: it has no hash. */
static bool hash_of(enum spw_image_call call, const void *bytes, struct spw_hash *ret)
{
    struct spw_image *image = keep(call, bytes);
    const bool is_known = spw_image_hash_locked(image, ret);
    spw_image_free_locked(image);
    return is_known;
}

static bool has_same_hash(const void *a, const void *b)
{
    struct spw_hash of_a, of_b;
    assert_true(hash_of(SPW_IMAGE_MODULE_DATA, a, &of_a));
    assert_true(hash_of(SPW_IMAGE_MODULE_DATA, b, &of_b));
    return spw_hash_equal(of_a, of_b);
}

static void the_same_bytes_have_the_same_hash_wherever_they_lie(void **state)
{
    char folder[] = "/tmp/test-images-XXXXXX", path[64], text[sizeof(ptx)];
    struct spw_hash hash, other;
    memcpy(text, ptx, sizeof(text));
    assert_true(has_same_hash(ptx, text));
    text[3] ^= 1;
    assert_false(has_same_hash(ptx, text));

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/kernels.ptx", folder);
    write_file(path, ptx);
    assert_true(hash_of(SPW_IMAGE_MODULE_FILE, path, &hash));
    write_file(path, text);
    assert_true(hash_of(SPW_IMAGE_LIBRARY_FILE, path, &other));
    assert_false(spw_hash_equal(hash, other));
    struct spw_image *image = keep(SPW_IMAGE_MODULE_FILE, path);
    write_file(path, "// another\n");
    assert_false(spw_image_hash_locked(image, &hash));
    spw_image_free_locked(image);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

struct machine_code {
    Elf64_Ehdr header;
    void *between; /* of no section */
    Elf64_Shdr sections[2];
    char code[16];
};

static struct machine_code machine_code(void *between, const char *code)
{
    struct machine_code m = {.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
                                        .e_machine = 190,
                                        .e_shoff = offsetof(struct machine_code, sections),
                                        .e_shentsize = sizeof(Elf64_Shdr),
                                        .e_shnum = 2},
                             .between = between};
    m.sections[1] =
        (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_offset = offsetof(struct machine_code, code), .sh_size = sizeof(m.code)};
    memcpy(m.code, code, strlen(code));
    return m;
}

static void of_machine_code_what_sections_hold_is_hashed(void **state)
{
    const struct machine_code one = machine_code(&told, "some code"), same = machine_code(&answer, "some code"),
                              other = machine_code(&told, "same code");
    struct machine_code longer = one;
    longer.sections[1].sh_size--;
    assert_true(has_same_hash(&one, &same));
    assert_false(has_same_hash(&one, &other));
    assert_false(has_same_hash(&one, &longer));
}

/* A fat binary that says that it is as long has not to be there to its end. */
static void what_is_too_long_or_of_no_known_form_has_no_hash(void **state)
{
    static const struct {
        uint32_t magic;
        uint16_t version, header;
        uint64_t bytes;
        char rest[32];
    } fat = {0xba55ed50, 1, 16, SPW_IMAGES_MAX_BYTES, ""};
    struct spw_hash hash;
    assert_false(hash_of(SPW_IMAGE_MODULE_FAT, &fat, &hash));
    assert_false(hash_of(SPW_IMAGE_MODULE_DATA, constant, &hash));
}

/* ---- the driver ---- */

static void what_the_driver_answers_is_passed_on_and_its_handle_unloaded(void **state)
{
    struct spw_image *image = keep(SPW_IMAGE_MODULE_DATA, ptx), *library = keep(SPW_IMAGE_LIBRARY_DATA, ptx);
    answer = CUDA_ERROR_OUT_OF_MEMORY;
    assert_int_equal(load(image), -ENOMEM);
    answer = CUDA_ERROR_INVALID_PTX;
    assert_int_equal(spw_cuda(load(library)), CUDA_ERROR_INVALID_PTX);
    spw_image_unload_locked(image, (void *)0x77);
    assert_int_equal(told.unloads, 1);
    assert_ptr_equal(told.unloaded, (void *)0x77);
    spw_image_unload_locked(library, (void *)0x88);
    assert_int_equal(told.unloads, 101);
    assert_ptr_equal(told.unloaded, (void *)0x88);
    spw_image_free_locked(image);
    spw_image_free_locked(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(text_is_copied_to_its_end, setup),
        cmocka_unit_test_setup(machine_code_is_copied_to_the_end_of_its_last_part, setup),
        cmocka_unit_test_setup(machine_code_of_many_sections_is_copied_as_well, setup),
        cmocka_unit_test_setup(a_fat_binary_says_how_long_it_is, setup),
        cmocka_unit_test_setup(a_wrapper_leads_to_it, setup),
        cmocka_unit_test_setup(what_is_of_no_known_form_is_not_guessed_at, setup),
        cmocka_unit_test_setup(what_lies_in_an_object_is_not_copied, setup),
        cmocka_unit_test_setup(what_is_another_by_now_is_not_loaded, setup),
        cmocka_unit_test_setup(text_in_memory_that_the_program_writes_is_copied, setup),
        cmocka_unit_test_setup(what_the_program_says_it_keeps_is_not_copied, setup),
        cmocka_unit_test_setup(copies_take_so_much_and_no_more, setup),
        cmocka_unit_test_setup(without_memory_nothing_is_kept, setup),
        cmocka_unit_test_setup(options_are_as_they_were_before_the_driver_wrote_to_them, setup),
        cmocka_unit_test_setup(options_that_lead_elsewhere_are_refused, setup),
        cmocka_unit_test_setup(a_file_is_loaded_again_unless_it_has_changed, setup),
        cmocka_unit_test_setup(the_same_bytes_have_the_same_hash_wherever_they_lie, setup),
        cmocka_unit_test_setup(of_machine_code_what_sections_hold_is_hashed, setup),
        cmocka_unit_test_setup(what_is_too_long_or_of_no_known_form_has_no_hash, setup),
        cmocka_unit_test_setup(what_the_driver_answers_is_passed_on_and_its_handle_unloaded, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
