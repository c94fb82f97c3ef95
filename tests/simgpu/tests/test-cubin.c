/* test-cubin.c - machine code that a program makes while it runs, as Triton does: files of our own making, with what a
 * driver reads of them. */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../program.h"
#include "device.h"

enum { BYTES = 3 * 4096, RESERVED = 1024 };

/* ---- a file ---- */

struct param_info { /* as ptxas writes it, with the size in the upper 14 bits or, in the second form, as it is */
    unsigned char form, kind;
    unsigned short bytes;
    unsigned index;
    unsigned short ordinal, offset;
    unsigned size;
};

struct bytes_info {
    unsigned char form, kind;
    unsigned short bytes;
};

struct cubin {
    Elf64_Ehdr header;
    Elf64_Shdr sections[10];
    char names[160];
    Elf64_Sym symbols[5];
    char symbol_names[32];
    unsigned char first[16]; /* of .nv.global.init */
    struct {
        struct param_info params[3];
        struct bytes_info bytes;
    } info;
    unsigned char code[20]; /* up to the last byte of the whole */
};

enum { SYMBOLS = 6, SYMBOL_NAMES, INITIAL, ZERO }; /* as they are added */

static void add_section(struct cubin *c, const char *name, unsigned type, size_t offset, size_t size)
{
    size_t at = 1;
    while (c->names[at])
        at += strlen(c->names + at) + 1;
    assert_true(at + strlen(name) + 2 < sizeof c->names);
    strcpy(c->names + at, name);
    c->sections[c->header.e_shnum++] =
        (Elf64_Shdr){.sh_name = (unsigned)at, .sh_type = type, .sh_offset = offset, .sh_size = size, .sh_addralign = 1};
}

/* f(to, from, number): two addresses, and four bytes. `code` makes it another image. */
static struct cubin cubin(unsigned char code)
{
    struct cubin c = {.header = {.e_ident = ELFMAG, .e_ehsize = sizeof c.header, .e_shentsize = sizeof c.sections[0]},
                      .info = {.params = {{4, 0x17, 12, 0, 2, 16, 4 << 18 | 0x1f000},
                                          {4, 0x45, 12, 0, 1, 8, 8},
                                          {4, 0x17, 12, 0, 0, 0, 8 << 18 | 0x1f000}},
                               .bytes = {3, 0x19, 20}},
                      .symbols = {{0},
                                  {1, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, INITIAL, 8, 4},
                                  {6, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, ZERO, 0, BYTES},
                                  {12, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, INITIAL, 12, 8}, /* too long */
                                  {1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0, 20}},
                      .symbol_names = "\0four\0zero\0beyond",
                      .first = {0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4},
                      .code = {code}};
    c.header.e_ident[EI_CLASS] = ELFCLASS64;
    c.header.e_shoff = offsetof(struct cubin, sections);
    c.header.e_shstrndx = 0;
    add_section(&c, ".shstrtab", SHT_STRTAB, offsetof(struct cubin, names), sizeof c.names);
    add_section(&c, ".text.f", SHT_PROGBITS, offsetof(struct cubin, code), sizeof c.code);
    add_section(&c, ".nv.info.f", SHT_PROGBITS, offsetof(struct cubin, info), sizeof c.info);
    add_section(&c, ".nv.info.no_code", SHT_PROGBITS, offsetof(struct cubin, info), sizeof c.info);
    add_section(&c, ".nv.shared.f", SHT_NOBITS, 1 << 20, RESERVED + 40);
    add_section(&c, ".nv.shared.reserved.0", SHT_NOBITS, 1 << 20, RESERVED);
    add_section(&c, ".symtab", SHT_SYMTAB, offsetof(struct cubin, symbols), sizeof c.symbols);
    add_section(&c, ".strtab", SHT_STRTAB, offsetof(struct cubin, symbol_names), sizeof c.symbol_names);
    add_section(&c, ".nv.global.init", SHT_PROGBITS, offsetof(struct cubin, first), sizeof c.first);
    add_section(&c, ".nv.global", SHT_NOBITS, 1 << 20, BYTES);
    c.sections[SYMBOLS].sh_link = SYMBOL_NAMES;
    return c;
}

static unsigned long long hash_of(const struct cubin *c)
{
    unsigned long long hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < sizeof *c; i++)
        hash = (hash ^ ((const unsigned char *)c)[i]) * 0x100000001b3u;
    return hash;
}

/* ---- around a test ---- */

static char folder[64], table[96];

/* The table has the kernel of image 2, which it says only reads what comes second. */
static int make_folder(void **state)
{
    const struct cubin known = cubin(2);
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/simgpu-cubins-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(table, sizeof table, "%s/table", folder);
    FILE *file = fopen(table, "we");
    if (!file)
        return -1;
    fprintf(file,
            "simgpu-layouts 1 for a test\n"
            "f@%016llx bytes=20 shared=40 registers=32 params=0:8,8:8,16:4 uses=0:8:writes,8:8:reads,16:4:value\n",
            hash_of(&known));
    return fclose(file);
}

static int remove_folder(void **state)
{
    char path[128];
    (void)state;
    for (unsigned char code = 1; code < 4; code++) {
        const struct cubin c = cubin(code);
        snprintf(path, sizeof path, "%s/%016llx.cubin", folder, hash_of(&c));
        (void)unlink(path);
    }
    snprintf(path, sizeof path, "%s/image", folder);
    (void)unlink(path);
    return unlink(table) < 0 || rmdir(folder) < 0;
}

static CUdeviceptr memory(int byte)
{
    CUdeviceptr p;
    OK(cuMemAlloc(&p, BYTES));
    OK(cuMemsetD8(p, (unsigned char)byte, BYTES));
    return p;
}

/* Whether anything of it is not that byte any more. */
static bool is_changed(CUdeviceptr p, int byte)
{
    static unsigned char copy[BYTES];
    size_t same = 0;
    OK(cuMemcpyDtoH(copy, p, BYTES));
    while (same < BYTES && copy[same] == byte)
        same++;
    return same < BYTES;
}

static uint64_t first_word(CUdeviceptr p)
{
    uint64_t word;
    OK(cuMemcpyDtoH(&word, p, sizeof word));
    return word;
}

static CUfunction load(const struct cubin *c)
{
    struct cubin copy = *c; /* which the driver has no more when it runs */
    CUmodule m;
    CUfunction f;
    OK(cuModuleLoadData(&m, &copy));
    memset(&copy, 0xff, sizeof copy);
    OK(cuModuleGetFunction(&f, m, "f"));
    return f;
}

static void launch(CUfunction f, CUdeviceptr to, CUdeviceptr from, int number)
{
    OK(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&to, &from, &number}, NULL));
    OK(cuCtxSynchronize());
}

static void told_body(void)
{
    const struct cubin c = cubin(1);
    size_t offset, size;
    const char *name;
    unsigned count;
    int shared;
    device_start();
    for (int twice = 0; twice < 2; twice++) {
        CUfunction f = load(&c), wanted;
        CUmodule m;
        static const size_t expected[][2] = {{0, 8}, {8, 8}, {16, 4}};
        for (size_t i = 0; i < 3; i++) {
            OK(cuFuncGetParamInfo(f, i, &offset, &size));
            assert_int_equal(offset, expected[i][0]);
            assert_int_equal(size, expected[i][1]);
        }
        assert_int_equal(cuFuncGetParamInfo(f, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
        OK(cuFuncGetName(&name, f));
        assert_string_equal(name, "f");
        OK(cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
        assert_int_equal(shared, 40);
        OK(cuFuncGetModule(&m, f));
        OK(cuModuleGetFunctionCount(&count, m));
        assert_int_equal(count, 1);
        assert_int_equal(cuModuleGetFunction(&wanted, m, "no_code"), CUDA_ERROR_NOT_FOUND);
    }
}

static void what_the_file_says_of_a_kernel_is_told(void **state)
{
    (void)state;
    assert_true(in_child(told_body, "SIMGPU_LAYOUTS", table, NULL));
    const char *said = strstr(child_stderr(), "simgpu: kernel f@");
    assert_non_null(said);
    assert_non_null(strstr(said, "is taken to write all that it is given"));
    assert_null(strstr(said + 1, "simgpu: kernel f@"));
}

static void writes_all_body(void)
{
    const struct cubin c = cubin(1);
    device_start();
    CUdeviceptr to = memory(1), from = memory(2), neither = memory(3);
    CUfunction f = load(&c);
    launch(f, to, from, 7);
    assert_true(is_changed(to, 1));
    assert_true(is_changed(from, 2));
    assert_false(is_changed(neither, 3));
    const uint64_t before = first_word(to);
    OK(cuMemsetD8(to, 1, BYTES));
    OK(cuMemsetD8(from, 2, BYTES));
    launch(f, to, from, 8);
    assert_int_not_equal(first_word(to), before); /* a number counts */
}

static void without_a_layout_it_writes_all_that_it_is_given(void **state)
{
    (void)state;
    assert_true(in_child(writes_all_body, "SIMGPU_LAYOUTS", table, NULL));
}

static void known_body(void)
{
    const struct cubin c = cubin(2), other = cubin(3);
    device_start();
    CUdeviceptr to = memory(1), from = memory(2);
    launch(load(&c), to, from, 7);
    assert_true(is_changed(to, 1));
    assert_false(is_changed(from, 2));
    launch(load(&other), to, from, 7); /* the same name, which the table knows of another image */
    assert_true(is_changed(from, 2));
}

static void a_kernel_has_the_layout_of_its_name_and_image(void **state)
{
    (void)state;
    assert_true(in_child(known_body, "SIMGPU_LAYOUTS", table, NULL));
}

/* Its address; all of it is what it is at first. */
static CUdeviceptr fresh_variable(CUmodule m, const char *name, const void *first, size_t bytes)
{
    static unsigned char copy[BYTES];
    CUdeviceptr p;
    size_t size;
    OK(cuModuleGetGlobal(&p, &size, m, name));
    assert_int_equal(size, bytes);
    assert_int_equal(p % 256, 0);
    OK(cuMemcpyDtoH(copy, p, bytes));
    assert_memory_equal(copy, first, bytes);
    return p;
}

static void variables_body(void)
{
    static const unsigned char zero[BYTES], four[] = {1, 2, 3, 4};
    const struct cubin c = cubin(1);
    CUmodule m[2];
    CUdeviceptr p;
    device_start();
    for (int twice = 0; twice < 2; twice++) {
        for (int i = 0; i < 2; i++) {
            OK(cuModuleLoadData(&m[i], &c));
            OK(cuMemsetD8(fresh_variable(m[i], "four", four, sizeof four), 9, sizeof four));
            OK(cuMemsetD8(fresh_variable(m[i], "zero", zero, sizeof zero), 9, sizeof zero));
        }
        assert_int_equal(cuModuleGetGlobal(&p, NULL, m[0], "beyond"), CUDA_ERROR_NOT_FOUND);
        OK(cuCtxSynchronize());
        OK(cuModuleUnload(m[0]));
        OK(cuModuleUnload(m[1]));
    }
}

static void each_module_has_the_variables_of_its_file(void **state)
{
    (void)state;
    assert_true(in_child(variables_body, "SIMGPU_LAYOUTS", table, NULL));
}

/* A program whose tensors are known gives a kernel the address of what is none. */
static void given_a_variable_body(void)
{
    const struct cubin c = cubin(2);
    CUdriverProcAddressQueryResult status;
    simgpu_tensor_made *made;
    CUdeviceptr to[2], variable;
    CUmodule m;
    CUfunction f;
    device_start();
    OK(cuGetProcAddress("simgpu_tensor_made", (void **)&made, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    for (int i = 0; i < 2; i++) {
        OK(cuModuleLoadData(&m, &c));
        OK(cuModuleGetFunction(&f, m, "f"));
        OK(cuModuleGetGlobal(&variable, NULL, m, "zero"));
        to[i] = memory(1);
        assert_int_equal(made(to[i], BYTES), 0);
        launch(f, to[i], variable, 7);
    }
    assert_int_equal(first_word(to[0]), first_word(to[1])); /* wherever the variable is */
    OK(cuMemsetD8(variable, 1, BYTES));
    launch(f, to[0], variable, 7);
    assert_int_not_equal(first_word(to[0]), first_word(to[1]));
}

static void a_kernel_that_is_given_a_variable_reads_it(void **state)
{
    (void)state;
    assert_true(in_child(given_a_variable_body, "SIMGPU_LAYOUTS", table, NULL));
}

static void put_aside_body(void)
{
    const struct cubin c = cubin(3);
    device_start();
    for (int twice = 0; twice < 2; twice++)
        (void)load(&c);
}

static void an_image_is_put_aside_under_its_hash(void **state)
{
    const struct cubin c = cubin(3);
    struct cubin read_back;
    char path[128];
    (void)state;
    assert_true(in_child(put_aside_body, "SIMGPU_LAYOUTS", table, "SIMGPU_IMAGES", folder, NULL));
    assert_null(strstr(child_stderr(), "simgpu: kernel"));
    snprintf(path, sizeof path, "%s/%016llx.cubin", folder, hash_of(&c));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, &read_back, sizeof read_back), sizeof read_back);
    assert_int_equal(read(fd, &read_back, 1), 0);
    close(fd);
    assert_memory_equal(&read_back, &c, sizeof c);
}

static void from_a_file_body(void)
{
    const struct cubin c = cubin(2);
    char path[128];
    CUmodule m;
    CUfunction f;
    device_start();
    snprintf(path, sizeof path, "%s/image", folder);
    assert_int_equal(cuModuleLoad(&m, path), CUDA_ERROR_FILE_NOT_FOUND);
    assert_int_equal(cuModuleLoad(&m, NULL), CUDA_ERROR_INVALID_VALUE);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, &c, sizeof c), sizeof c);
    close(fd);
    OK(cuModuleLoad(&m, path));
    OK(cuModuleGetFunction(&f, m, "f"));
    CUdeviceptr to = memory(1), from = memory(2);
    launch(f, to, from, 7);
    assert_true(is_changed(to, 1) && !is_changed(from, 2));
    OK(cuModuleUnload(m));
    assert_int_equal(truncate(path, sizeof(Elf64_Ehdr) - 1), 0);
    assert_int_equal(cuModuleLoad(&m, path), CUDA_ERROR_INVALID_IMAGE);
    fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, &module_image, sizeof module_image),
                     sizeof module_image); /* of addresses that mean nothing in it */
    close(fd);
    assert_int_equal(cuModuleLoad(&m, path), CUDA_ERROR_INVALID_IMAGE);
}

static void an_image_may_come_from_a_file(void **state)
{
    (void)state;
    assert_true(in_child(from_a_file_body, "SIMGPU_LAYOUTS", table, NULL));
}

/* Each is refused, or read as something. */
static void damaged_body(void)
{
    const struct cubin whole = cubin(1);
    const size_t page = 4096;
    CUmodule m;
    device_start();
    CUdeviceptr last; /* the file ends where memory does */
    OK(cuMemAlloc(&last, GRANULE));
    unsigned char *end = (unsigned char *)(uintptr_t)last + GRANULE, *at = end - sizeof whole;
    memcpy(at, &whole, sizeof whole);
    OK(cuModuleLoadData(&m, at));
    for (size_t missing = 1; missing < sizeof whole && missing < page; missing++) {
        memmove(at + 1, at, sizeof whole - missing);
        at++;
        assert_int_equal(cuModuleLoadData(&m, at), CUDA_ERROR_INVALID_IMAGE);
    }
    for (size_t byte = 0; byte < sizeof whole; byte++) {
        static const unsigned char other[] = {0, 1, 0x7f, 0x80, 0xff};
        for (size_t i = 0; i < sizeof other; i++) {
            struct cubin damaged = whole;
            ((unsigned char *)&damaged)[byte] = other[i];
            CUresult r = cuModuleLoadData(&m, &damaged);
            assert_true(r == CUDA_SUCCESS || r == CUDA_ERROR_INVALID_IMAGE);
        }
    }
}

static void what_is_damaged_or_cut_off_does_no_harm(void **state)
{
    (void)state;
    assert_true(in_child(damaged_body, "SIMGPU_LAYOUTS", table, NULL));
}

CHILD_TEST(without_a_table_it_is_no_image)
{
    const struct cubin c = cubin(1);
    CUmodule m;
    device_start();
    assert_int_equal(cuModuleLoadData(&m, &c), CUDA_ERROR_INVALID_IMAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_file_says_of_a_kernel_is_told),
        cmocka_unit_test(without_a_layout_it_writes_all_that_it_is_given),
        cmocka_unit_test(a_kernel_has_the_layout_of_its_name_and_image),
        cmocka_unit_test(each_module_has_the_variables_of_its_file),
        cmocka_unit_test(a_kernel_that_is_given_a_variable_reads_it),
        cmocka_unit_test(an_image_is_put_aside_under_its_hash),
        cmocka_unit_test(an_image_may_come_from_a_file),
        cmocka_unit_test(what_is_damaged_or_cut_off_does_no_harm),
        cmocka_unit_test(without_a_table_it_is_no_image),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
