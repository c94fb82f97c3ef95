/* test-globals.c - variables are listed from images of each form, and from damaged ones nothing is read that is not there.
 */
#include "globals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "architectures.h"
#include "damaged.h"
#include "unpack.h"

/* ---- a cubin ---- */

enum section {
    NONE,
    SECTION_NAMES,
    NAMES,
    SYMBOLS,
    GLOBALS,
    FIRST_VALUES,
    CONSTANTS,
    SHARED,
    CODE,
    STRANGE,
    REPEATED,
    SECTIONS
};

static const char section_names[] =
    "\0.shstrtab\0.strtab\0.symtab\0.nv.global\0.nv.global.init\0.nv.constant3\0.nv.shared.f\0"
    ".text.f\0.strange\0.nv.merc.nv.global.init\0.nv.merc.nv.shared.reserved.0";
enum { OTHER_SHARED = 122 };
static const uint32_t name_at[SECTIONS] = {0, 1, 11, 19, 27, 38, 54, 68, 81, 89, 98};
static const char names[] = "\0count\0table\0factor\0scratch\0f\0malloc\0outside\0assertFile_7";
enum name { COUNT = 1, TABLE = 7, FACTOR = 13, SCRATCH = 20, KERNEL = 28, MALLOC = 30, OUTSIDE = 37, FILE_NAME = 45 };
enum { SYMBOLS_MAX = 8, PART_HEADER = 64, FAT_HEADER = 16 };

static struct cubin {
    Elf64_Ehdr header;
    Elf64_Shdr sections[SECTIONS];
    Elf64_Sym symbols[SYMBOLS_MAX];
    char section_names[sizeof(section_names)], names[sizeof(names)];
} cubin;

static void add_symbol(unsigned at, enum name name, unsigned type, unsigned section, uint64_t bytes)
{
    cubin.symbols[at] =
        (Elf64_Sym){.st_name = name, .st_info = (unsigned char)type, .st_shndx = (uint16_t)section, .st_size = bytes};
    cubin.sections[SYMBOLS].sh_size = (at + 1) * sizeof(Elf64_Sym);
}

static void add_section(enum section number, uint32_t type, uint64_t flags, size_t offset, size_t bytes)
{
    cubin.sections[number] =
        (Elf64_Shdr){.sh_name = name_at[number], .sh_type = type, .sh_flags = flags, .sh_offset = offset, .sh_size = bytes};
}

/* A variable, one with a first value, a constant, an array in shared memory, a kernel. */
static int make_cubin(void **state)
{
    (void)state;
    memset(&cubin, 0, sizeof(cubin));
    memcpy(cubin.header.e_ident, ELFMAG "\2\1\1\x41\x08", 9);
    cubin.header.e_machine = 190;
    cubin.header.e_shoff = offsetof(struct cubin, sections);
    cubin.header.e_shentsize = sizeof(Elf64_Shdr);
    cubin.header.e_shnum = SECTIONS;
    cubin.header.e_shstrndx = SECTION_NAMES;
    memcpy(cubin.section_names, section_names, sizeof(section_names));
    memcpy(cubin.names, names, sizeof(names));
    add_section(SECTION_NAMES, SHT_STRTAB, 0, offsetof(struct cubin, section_names), sizeof(section_names));
    add_section(NAMES, SHT_STRTAB, 0, offsetof(struct cubin, names), sizeof(names));
    add_section(SYMBOLS, SHT_SYMTAB, 0, offsetof(struct cubin, symbols), 0);
    cubin.sections[SYMBOLS].sh_link = NAMES;
    cubin.sections[SYMBOLS].sh_entsize = sizeof(Elf64_Sym);
    add_section(GLOBALS, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0, 4);
    add_section(FIRST_VALUES, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, sizeof(Elf64_Ehdr), 16);
    add_section(CONSTANTS, SHT_PROGBITS, SHF_ALLOC, sizeof(Elf64_Ehdr), 32);
    add_section(SHARED, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0, 64);
    add_section(CODE, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, sizeof(Elf64_Ehdr), 32);
    add_section(STRANGE, SHT_PROGBITS, 0, sizeof(Elf64_Ehdr), 32);
    add_symbol(1, COUNT, STT_OBJECT, GLOBALS, 4);
    add_symbol(2, TABLE, 13 /* as it is in code that is linked later */, FIRST_VALUES, 16);
    add_symbol(3, FACTOR, STT_OBJECT, CONSTANTS, 32);
    add_symbol(4, SCRATCH, STT_OBJECT, SHARED, 64);
    add_symbol(5, KERNEL, STT_FUNC, CODE, 32);
    return 0;
}

static const bool *architectures; /* NULL: all */

/* "name name(c)": all that are listed, or in its place why there are none. */
static const char *listed(const void *image, size_t bytes)
{
    static char text[4096];
    struct spw_globals g;
    const char *why = spw_globals_list(image, bytes, architectures, &g);
    text[0] = 0;
    assert_true(!why || (!g.count && !g.list));
    for (uint32_t i = 0; i < g.count; i++) {
        strcat(strcat(text, *text ? " " : ""), g.list[i].name);
        strcat(text, g.list[i].is_constant ? "(c)" : "");
    }
    spw_globals_finish(&g);
    return why ? why : text;
}

static const char *listed_cubin(void)
{
    return listed(&cubin, sizeof(cubin));
}

static void a_cubin_lists_variables_and_constants_by_its_symbols(void **state)
{
    (void)state;
    assert_string_equal(listed_cubin(), "count table factor(c)");
    add_symbol(6, OUTSIDE, STT_OBJECT, SHN_UNDEF, 0); /* another module's, for the driver to find */
    assert_string_equal(listed_cubin(), "count table factor(c) outside");
}

static void a_cubin_whose_kernels_allocate_has_a_state_without_a_name(void **state)
{
    (void)state;
    add_symbol(6, MALLOC, STT_FUNC, SHN_UNDEF, 0);
    assert_string_equal(listed_cubin(), "its kernels allocate memory by themselves");
    add_symbol(6, MALLOC, STT_FUNC, CODE, 32); /* its own */
    assert_string_equal(listed_cubin(), "count table factor(c)");
}

/* In code for later architectures. */
static void first_values_that_are_there_twice_need_names_once(void **state)
{
    (void)state;
    cubin.sections[REPEATED] = cubin.sections[FIRST_VALUES];
    cubin.sections[REPEATED].sh_name = name_at[REPEATED];
    cubin.sections[REPEATED].sh_type = 0x70000008;
    assert_string_equal(listed_cubin(), "count table factor(c)");
    cubin.sections[REPEATED].sh_offset += sizeof(Elf64_Shdr); /* other values */
    assert_string_equal(listed_cubin(), "they have no names");
    cubin.sections[REPEATED].sh_offset -= sizeof(Elf64_Shdr);
    cubin.sections[REPEATED].sh_size--;
    assert_string_equal(listed_cubin(), "they have no names");
    cubin.sections[REPEATED].sh_size++;
    cubin.sections[REPEATED].sh_offset = sizeof(cubin) - 8; /* behind the end */
    assert_string_equal(listed_cubin(), "they have no names");
    cubin.sections[REPEATED].sh_offset = cubin.sections[FIRST_VALUES].sh_offset;
    cubin.sections[REPEATED].sh_name = name_at[STRANGE];
    cubin.sections[STRANGE].sh_flags = 0;
    assert_string_equal(listed_cubin(), "they have no names");
    cubin.sections[REPEATED].sh_name = OTHER_SHARED; /* what blocks share with nobody needs none */
    assert_string_equal(listed_cubin(), "count table factor(c)");
}

static void a_cubin_that_may_hide_variables_is_refused(void **state)
{
    (void)state;
    add_symbol(6, OUTSIDE, 10, STRANGE, 4);
    assert_string_equal(listed_cubin(), "it has textures or surfaces");
    add_symbol(6, OUTSIDE, STT_OBJECT, STRANGE, 4);
    assert_string_equal(listed_cubin(), "count table factor(c)"); /* nobody writes there */
    cubin.sections[STRANGE].sh_flags = SHF_ALLOC | SHF_WRITE;
    assert_string_equal(listed_cubin(), "it has variables in places that are not known");
    (void)make_cubin(NULL);
    cubin.symbols[2].st_shndx = GLOBALS;
    assert_string_equal(listed_cubin(), "they have no names"); /* what is in .nv.global.init */
    (void)make_cubin(NULL);
    cubin.sections[GLOBALS].sh_size = 8; /* half of it */
    assert_string_equal(listed_cubin(), "they have no names");
    (void)make_cubin(NULL);
    cubin.symbols[3].st_shndx = CODE; /* a constant that nobody can change */
    assert_string_equal(listed_cubin(), "count table");
    (void)make_cubin(NULL);
    cubin.sections[SYMBOLS].sh_type = SHT_PROGBITS;
    assert_string_equal(listed_cubin(), "they have no names");
    (void)make_cubin(NULL);
    cubin.header.e_machine = EM_X86_64;
    assert_string_equal(listed_cubin(), "a cubin is not as such are");
}

/* ---- PTX ---- */

static const char *listed_text(const char *text)
{
    return listed(text, strlen(text) + 1);
}

static void ptx_lists_what_it_declares(void **state)
{
    (void)state;
    assert_string_equal(
        listed_text("// .global .u32 no;\n.version 9.0\n.target sm_80\n/* .global .u32 no; */\n"
                    ".global .align 4 .u32 count;\n"
                    ".visible .global .align 8 .b8 table[24] = {0, 1, {2, 3}, count};\n"
                    ".const .align 4 .b8 c[32];\n.weak .global .v4 .f32 _ZN1a$bE = generic(count)+4, other;\n"
                    ".global .attribute(.managed) .align 4 .u32 m = -5;\n.file 1 \".global .u32 no;\"\n"
                    ".visible .entry f(.param .u64 .ptr .global .align 4 to, .param .u64 b)\n"
                    "{ .reg .b32 %r<2>; .shared .align 4 .b8 s[64]; ld.global.u32 %r1, [to];\n"
                    "st.global.u32 [to], %r1; .global .u32 inner; ret; }"),
        "count table c(c) _ZN1a$bE other m inner");
    assert_string_equal(listed_text(".version 9.0\n.target sm_80"), "");
}

static bool calls_pointers(const char *text)
{
    struct spw_globals g;
    assert_null(spw_globals_list(text, strlen(text), NULL, &g));
    const bool calls = g.calls_pointers;
    spw_globals_finish(&g);
    return calls;
}

static void ptx_tells_that_functions_are_called_through_pointers(void **state)
{
    (void)state;
    assert_false(calls_pointers(
        ".version 9.0\n.func (.param .b32 r) f(.param .b32 x) { ret; }\n"
        ".entry k() { .param .b32 a, r; call.uni (r), f, (a); call f, (a); // call (r), %p, (a), to;\n ret; }"));
    assert_true(calls_pointers(".version 9.0\n.entry k() { .param .b32 a, r;\n"
                               "to : .callprototype (.param .b32 _) _ (.param .b32 _);\n call (r), %rd1, (a), to; ret; }"));
    assert_true(calls_pointers(".version 9.0\n.entry k() { of: .calltargets f, g; call.uni %rd1, of; ret; }"));
}

/* Literals, tables of CUDA's libraries, objects of its C++ libraries; and names that are hardly others. */
static void what_no_kernel_writes_is_a_constant(void **state)
{
    (void)state;
    assert_string_equal(listed_text(".version 9.0\n.target sm_80\n"
                                    ".global .b8 __unnamed_12[9];\n.global .b8 $str[9];\n.global .b8 $str$3[9];\n"
                                    ".global .b32 precalc_xorwow_matrix[800];\n.global .b32 __cudart_i2opi_f[6];\n"
                                    ".global .b8 _ZN37_INTERNAL_828df8ec_7_Copy_cu_f4c3a6974cuda3std3__45__cpo5beginE;\n"
                                    ".global .b8 _ZN6thrust12placeholders2_1E;\n"),
                        "__unnamed_12(c) $str(c) $str$3(c) precalc_xorwow_matrix(c) __cudart_i2opi_f(c) "
                        "_ZN37_INTERNAL_828df8ec_7_Copy_cu_f4c3a6974cuda3std3__45__cpo5beginE(c) "
                        "_ZN6thrust12placeholders2_1E(c)");
    assert_string_equal(listed_text(".version 9.0\n.target sm_80\n"
                                    ".global .b8 __unnamed_[9];\n.global .b8 __unnamed_1x[9];\n.global .b8 $string[9];\n"
                                    ".global .b8 $str$[9];\n.global .b32 precalc_xorwow_matrix_[800];\n"
                                    ".global .b8 n4cuda3std;\n.global .b8 _ZN4mine4cudaE;\n"
                                    ".global .b8 _ZN4mine16thrust_vector_xyE;\n.global .b8 _ZN4mine6thrust1aE;\n"
                                    ".global .b8 _ZN4cuda4mineE;\n.global .b8 _ZN99thrustE;\n.global .b8 _ZN;\n"),
                        "__unnamed_ __unnamed_1x $string $str$ precalc_xorwow_matrix_ n4cuda3std _ZN4mine4cudaE "
                        "_ZN4mine16thrust_vector_xyE _ZN4mine6thrust1aE _ZN4cuda4mineE _ZN99thrustE _ZN");
}

static void the_literals_of_llvm_and_triton_are_constants(void **state)
{
    (void)state;
    assert_string_equal(
        listed_text(".version 9.0\n.target sm_80\n.global .b8 _$_str[11];\n.global .b8 _$_str_$_1[11];\n"
                    ".global .b8 assertMessage_0[3] = {1, 2, 0};\n.global .b8 assertFunc_12[2] = {1, 0}, x;\n"
                    ".global .b8 assertFile_0[9], y[1] = {1};\n.global .b8 assertMessage[1] = {0};\n"
                    ".global .b8 assertMessage_x[1] = {0};\n.global .b8 _$_strings[4];"),
        "_$_str(c) _$_str_$_1(c) assertMessage_0(c) assertFunc_12(c) x assertFile_0 y assertMessage assertMessage_x "
        "_$_strings");
    add_symbol(6, FILE_NAME, STT_OBJECT, FIRST_VALUES, 16);
    assert_string_equal(listed_cubin(), "count table factor(c) assertFile_7(c)");
    add_symbol(6, FILE_NAME, STT_OBJECT, GLOBALS, 16); /* a variable of the program with that name */
    assert_string_equal(listed_cubin(), "count table factor(c) assertFile_7");
}

static void ptx_that_may_hide_variables_is_refused(void **state)
{
    (void)state;
    assert_string_equal(listed_text(".target sm_80 .global .u32 a;"), "its form is not known");
    assert_string_equal(listed_text(""), "its form is not known");
    assert_string_equal(listed_text(".version 9.0 .global .u32 a<4>;"), "a text is not as PTX is");
    assert_string_equal(listed_text(".version 9.0 .global .u32 a[4"), "a text is not as PTX is");
    assert_string_equal(listed_text(".version 9.0 .global .u32 a"), "a text is not as PTX is");
    assert_string_equal(listed_text(".version 9.0 .global .texref t;"), "it has textures or surfaces");
    assert_string_equal(listed_text(".version 9.0 .extern .func (.param .b64 r) malloc (.param .b64 n);"),
                        "its kernels allocate memory by themselves");
    assert_string_equal(listed_text(".version 9.0 .extern .func __assertfail (.param .b64 n);"), "");
}

/* ---- fat binaries ---- */

static struct fat {
    unsigned char bytes[64 << 10];
    size_t count;
} fat;

static void begin_fat(void)
{
    static const uint16_t start[] = {0xed50, 0xba55, 1, FAT_HEADER};
    memset(&fat, 0, sizeof(fat));
    memcpy(fat.bytes, start, sizeof(start));
    fat.count = FAT_HEADER;
}

static void add_part(uint16_t kind, uint64_t flags, const void *packed, size_t packed_bytes, size_t bytes)
{
    const uint32_t header_bytes = PART_HEADER, packed_words = flags ? (uint32_t)packed_bytes : 0;
    const uint64_t rounded = (packed_bytes + 7) / 8 * 8, size = bytes;
    unsigned char *header = fat.bytes + fat.count;
    memcpy(header, &kind, sizeof(kind));
    memcpy(header + 4, &header_bytes, sizeof(header_bytes));
    memcpy(header + 8, &rounded, sizeof(rounded));
    memcpy(header + 16, &packed_words, sizeof(packed_words));
    memcpy(header + 40, &flags, sizeof(flags));
    memcpy(header + 56, &size, sizeof(size));
    memcpy(header + PART_HEADER, packed, packed_bytes);
    fat.count += PART_HEADER + rounded;
    const uint64_t all = fat.count - FAT_HEADER;
    memcpy(fat.bytes + 8, &all, sizeof(all));
}

/* Literals only, but for one match of 8 equal bytes where `text` ends with nine. */
static size_t pack_lz4(const char *text, size_t bytes, unsigned char *to)
{
    size_t at = 0, literals = bytes - 16;
    assert_true(literals > 15 + 255 && literals < 15 + 2 * 255);
    to[at++] = 0xf0 | 4;
    to[at++] = 255;
    to[at++] = (unsigned char)(literals - 15 - 255);
    memcpy(to + at, text, literals);
    at += literals;
    to[at++] = 1;
    to[at++] = 0;
    to[at++] = 8 << 4;
    memcpy(to + at, text + literals + 8, 8);
    return at + 8;
}

static const char text[] =
    ".version 9.0\n.target sm_80\n.global .align 4 .u32 count;\n.global .f32 late;\n// "
    "a comment that makes the text long enough for a length that goes on in a byte of 255, and then in "
    "another one, as lengths of literals do where there are many of them in one sequence; after that "
    "there are nine spaces, the last eight of which are a match, and eight more characters        "
    "         // end\n";

static void a_fat_binary_lists_what_its_parts_do(void **state)
{
    (void)state;
    unsigned char packed[4096];
    begin_fat();
    assert_string_equal(listed(fat.bytes, fat.count), "");
    add_part(2, 0, &cubin, sizeof(cubin), 0);
    add_part(1, 0, text, sizeof(text), 0);
    assert_string_equal(listed(fat.bytes, fat.count), "count table factor(c) late");
    begin_fat();
    add_part(1, 0x8000, packed, ZSTD_compress(packed, sizeof(packed), text, sizeof(text), 3), sizeof(text));
    add_part(2, 0x8000, packed, ZSTD_compress(packed, sizeof(packed), &cubin, sizeof(cubin), 3), sizeof(cubin));
    assert_string_equal(listed(fat.bytes, fat.count), "count late table factor(c)");
}

/* For architecture 75, as the fat binary says and the cubin itself, by either ABI. */
static void add_cubin_for_75(unsigned char abi, uint32_t flags, uint32_t architecture)
{
    cubin.header.e_ident[EI_ABIVERSION] = abi;
    cubin.header.e_flags = flags;
    add_part(2, 0, &cubin, sizeof(cubin), 0);
    memcpy(fat.bytes + fat.count - (sizeof(cubin) + 7) / 8 * 8 - PART_HEADER + 28, &architecture, sizeof(architecture));
}

static void parts_that_no_device_takes_are_left_out(void **state)
{
    static const uint32_t flags[] = {0x6004b04, 0x500054b};
    bool taken[SPW_ARCHITECTURES] = {[80] = true};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        const unsigned char abi = (unsigned char)(8 - i);
        begin_fat();
        add_cubin_for_75(abi, flags[i], 75);
        add_part(1, 0, text, sizeof(text), 0);
        architectures = taken;
        assert_string_equal(listed(fat.bytes, fat.count), "count late");
        architectures = NULL;
        assert_string_equal(listed(fat.bytes, fat.count), "count table factor(c) late");
        taken[75] = true;
        architectures = taken;
        assert_string_equal(listed(fat.bytes, fat.count), "count table factor(c) late");
        taken[75] = false;
        begin_fat();
        add_cubin_for_75(abi, flags[1 - i], 75); /* they do not say the same */
        assert_string_equal(listed(fat.bytes, fat.count), "count table factor(c)");
        begin_fat();
        add_cubin_for_75(abi, flags[i], SPW_ARCHITECTURES);
        assert_string_equal(listed(fat.bytes, fat.count), "count table factor(c)");
        architectures = NULL;
    }
}

static void lz4_blocks_are_unpacked(void **state)
{
    (void)state;
    unsigned char packed[4096];
    char spaces[sizeof(text)], back[sizeof(text) + 1];
    memcpy(spaces, text, sizeof(text));
    memset(spaces + sizeof(text) - 17, ' ', 9); /* the literal that the match repeats, and the match */
    const size_t bytes = pack_lz4(spaces, sizeof(text), packed);
    assert_true(spw_unpack_lz4(packed, bytes, back, sizeof(text)));
    assert_memory_equal(back, spaces, sizeof(text));
    for (size_t cut = 0; cut < bytes; cut++)
        assert_false(spw_unpack_lz4(packed, cut, back, sizeof(text)));
    assert_false(spw_unpack_lz4(packed, bytes, back, sizeof(text) - 1));
    assert_false(spw_unpack_lz4(packed, bytes, back, sizeof(text) + 1));
    begin_fat();
    add_part(1, 0x2000, packed, bytes, sizeof(text));
    assert_string_equal(listed(fat.bytes, fat.count), "count late");
    fat.bytes[FAT_HEADER + 41] = 0x40; /* in a way that nobody knows */
    assert_string_equal(listed(fat.bytes, fat.count), "a fat binary is compressed in a way that is not known");
}

static void a_fat_binary_that_is_not_as_it_says_is_refused(void **state)
{
    (void)state;
    static const size_t places[] = {4, 6, FAT_HEADER + 4, FAT_HEADER + 9};
    for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++) {
        begin_fat();
        add_part(2, 0, &cubin, sizeof(cubin), 0);
        fat.bytes[places[i]]++;
        assert_string_not_equal(listed(fat.bytes, fat.count), "count table factor(c)");
    }
    begin_fat();
    add_part(8, 0, &cubin, sizeof(cubin), 0);
    assert_string_equal(listed(fat.bytes, fat.count), "a fat binary has parts of unknown kinds");
    begin_fat();
    add_part(2, 0, text, sizeof(text), 0);
    assert_string_equal(listed(fat.bytes, fat.count), "a fat binary is not as such are");
    add_part(2, 0, &cubin, sizeof(cubin), 0);
    assert_string_equal(listed(fat.bytes, fat.count - 1), "a fat binary is not as such are");
}

/* ---- damage ---- */

static void nothing_is_read_outside_of_a_damaged_image(void **state)
{
    (void)state;
    unsigned char packed[4096];
    damage(&cubin, sizeof(cubin), listed);
    damage(text, sizeof(text), listed);
    begin_fat();
    add_part(2, 0, &cubin, sizeof(cubin), 0);
    add_part(1, 0x8000, packed, ZSTD_compress(packed, sizeof(packed), text, sizeof(text), 3), sizeof(text));
    damage(fat.bytes, fat.count, listed);
    begin_fat();
    add_part(1, 0x2000, packed, pack_lz4(text, sizeof(text), packed), sizeof(text));
    damage(fat.bytes, fat.count, listed);
}

#define TEST(name) cmocka_unit_test_setup(name, make_cubin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_cubin_lists_variables_and_constants_by_its_symbols),
        TEST(a_cubin_whose_kernels_allocate_has_a_state_without_a_name),
        TEST(first_values_that_are_there_twice_need_names_once),
        TEST(a_cubin_that_may_hide_variables_is_refused),
        TEST(ptx_lists_what_it_declares),
        TEST(ptx_tells_that_functions_are_called_through_pointers),
        TEST(what_no_kernel_writes_is_a_constant),
        TEST(the_literals_of_llvm_and_triton_are_constants),
        TEST(ptx_that_may_hide_variables_is_refused),
        TEST(a_fat_binary_lists_what_its_parts_do),
        TEST(parts_that_no_device_takes_are_left_out),
        TEST(lz4_blocks_are_unpacked),
        TEST(a_fat_binary_that_is_not_as_it_says_is_refused),
        TEST(nothing_is_read_outside_of_a_damaged_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
