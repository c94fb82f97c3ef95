/* test-callgraph.c - of the kernels of a cubin, those that may print are told from the others; where that cannot be done,
 * all of them count. */
#include "globals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <string.h>

#include "damaged.h"

/* ---- a cubin: the kernels f, ff, which begins as f does, and g, and the function says, each in a section of its own ----
 */

enum section {
    NONE,
    SECTION_NAMES,
    NAMES,
    SYMBOLS,
    CODE_F,
    CODE_FF,
    CODE_G,
    CODE_SAYS,
    INFO_F,
    INFO_FF,
    INFO_G,
    INFO_SAYS,
    INFO_OF_ALL,
    CALLS,
    ADDRESSES,
    IN_ADDRESSES, /* relocations of the former, as are the other IN_ */
    IN_F,
    OWN_OF_G,
    IN_OWN_OF_G,
    VALUES,
    IN_VALUES,
    OTHER_FORM,
    OTHER_INFO,
    OTHER_SYMBOLS,
    IN_OTHER_FORM,
    SECTIONS
};
enum symbol { F = 1, FF, G, SAYS, VPRINTF, SYMBOLS_COUNT };
enum { ROOM = 256, CODE = SHF_ALLOC | SHF_EXECINSTR };
enum { INFO = 0x70000000, CALLGRAPH, OTHER_RELA = 0x70000082, MERC_INFO, MERC_SYMBOLS = 0x70000085, MERC_CODE = 0x70000016 };

static const struct {
    const char *name;
    uint32_t type, flags, link, info;
} kinds[SECTIONS] = {
    [SECTION_NAMES] = {".shstrtab", SHT_STRTAB, 0, 0, 0},
    [NAMES] = {".strtab", SHT_STRTAB, 0, 0, 0},
    [SYMBOLS] = {".symtab", SHT_SYMTAB, 0, NAMES, 0},
    [CODE_F] = {".text.f", SHT_PROGBITS, CODE, SYMBOLS, 0},
    [CODE_FF] = {".text.ff", SHT_PROGBITS, CODE, SYMBOLS, 0},
    [CODE_G] = {".text.g", SHT_PROGBITS, CODE, SYMBOLS, 0},
    [CODE_SAYS] = {".text.says", SHT_PROGBITS, CODE, SYMBOLS, 0},
    [INFO_F] = {".nv.info.f", INFO, SHF_INFO_LINK, SYMBOLS, CODE_F},
    [INFO_FF] = {".nv.info.ff", INFO, SHF_INFO_LINK, SYMBOLS, CODE_FF},
    [INFO_G] = {".nv.info.g", INFO, SHF_INFO_LINK, SYMBOLS, CODE_G},
    [INFO_SAYS] = {".nv.info.says", INFO, SHF_INFO_LINK, SYMBOLS, CODE_SAYS},
    [INFO_OF_ALL] = {".nv.info", INFO, 0, SYMBOLS, 0},
    [CALLS] = {".nv.callgraph", CALLGRAPH, 0, SYMBOLS, 0},
    [ADDRESSES] = {".nv.constant4", SHT_PROGBITS, SHF_ALLOC, 0, 0},
    [IN_ADDRESSES] = {".rela.nv.constant4", SHT_RELA, SHF_INFO_LINK, SYMBOLS, ADDRESSES},
    [IN_F] = {".rel.text.f", SHT_REL, SHF_INFO_LINK, SYMBOLS, CODE_F},
    [OWN_OF_G] = {".nv.constant2.g", SHT_PROGBITS, SHF_ALLOC | SHF_INFO_LINK, 0, CODE_G},
    [IN_OWN_OF_G] = {".rela.nv.constant2.g", SHT_RELA, SHF_INFO_LINK, SYMBOLS, OWN_OF_G},
    [VALUES] = {".nv.constant3", SHT_PROGBITS, SHF_ALLOC, 0, 0},
    [IN_VALUES] = {".rela.nv.constant3", SHT_RELA, SHF_INFO_LINK, SYMBOLS, VALUES},
    [OTHER_FORM] = {".nv.capmerc.text.g", MERC_CODE, 0, OTHER_SYMBOLS, 0},
    [OTHER_INFO] = {".nv.merc.nv.info.g", MERC_INFO, SHF_INFO_LINK, OTHER_SYMBOLS, OTHER_FORM},
    [OTHER_SYMBOLS] = {".nv.merc.symtab", MERC_SYMBOLS, 0, NAMES, 0},
    [IN_OTHER_FORM] = {".nv.merc.rela.text.g", OTHER_RELA, SHF_INFO_LINK, OTHER_SYMBOLS, OTHER_FORM},
};

static struct cubin {
    Elf64_Ehdr header;
    Elf64_Shdr sections[SECTIONS];
    uint64_t contents[SECTIONS][ROOM / 8];
    char section_names[1024];
} cubin;

static void append(enum section to, const void *bytes, size_t count)
{
    Elf64_Shdr *section = &cubin.sections[to];
    assert_true(section->sh_size + count <= ROOM);
    memcpy((char *)cubin.contents[to] + section->sh_size, bytes, count);
    section->sh_size += count;
}

static void add_symbols(enum section table, enum section g_lies_in)
{
    static const char names[] = "\0f\0ff\0g\0says\0vprintf";
    const uint32_t name[SYMBOLS_COUNT] = {0, 1, 3, 6, 8, 13}, kernel = 0x10;
    const uint16_t in[SYMBOLS_COUNT] = {0, CODE_F, CODE_FF, (uint16_t)g_lies_in, CODE_SAYS, SHN_UNDEF};
    cubin.sections[table].sh_entsize = sizeof(Elf64_Sym);
    for (unsigned i = 0; i < SYMBOLS_COUNT; i++) {
        const Elf64_Sym symbol = {.st_name = name[i],
                                  .st_info = i ? STT_FUNC : 0,
                                  .st_other = (unsigned char)(i && i <= G ? kernel : 0),
                                  .st_shndx = in[i]};
        append(table, &symbol, sizeof(symbol));
    }
    if (table == SYMBOLS)
        append(NAMES, names, sizeof(names));
}

/* Nothing is said of calls yet. */
static int make_cubin(void **state)
{
    size_t names = 1;
    (void)state;
    memset(&cubin, 0, sizeof(cubin));
    memcpy(cubin.header.e_ident, ELFMAG "\2\1\1\x41\x08", 9);
    cubin.header.e_machine = 190;
    cubin.header.e_shoff = offsetof(struct cubin, sections);
    cubin.header.e_shentsize = sizeof(Elf64_Shdr);
    cubin.header.e_shnum = SECTIONS;
    cubin.header.e_shstrndx = SECTION_NAMES;
    for (unsigned i = SECTION_NAMES; i < SECTIONS; i++) {
        cubin.sections[i] = (Elf64_Shdr){.sh_name = (uint32_t)names,
                                         .sh_type = kinds[i].type,
                                         .sh_flags = kinds[i].flags,
                                         .sh_offset = offsetof(struct cubin, contents) + (size_t)i * ROOM,
                                         .sh_link = kinds[i].link,
                                         .sh_info = kinds[i].info};
        cubin.sections[i].sh_entsize = kinds[i].type == SHT_REL                                   ? sizeof(Elf64_Rel)
                                       : kinds[i].type == SHT_RELA || kinds[i].type == OTHER_RELA ? sizeof(Elf64_Rela)
                                                                                                  : 0;
        names += strlen(strcpy(cubin.section_names + names, kinds[i].name)) + 1;
        assert_true(names < sizeof(cubin.section_names) - 64);
    }
    cubin.sections[SECTION_NAMES].sh_offset = offsetof(struct cubin, section_names);
    cubin.sections[SECTION_NAMES].sh_size = sizeof(cubin.section_names);
    add_symbols(SYMBOLS, CODE_G);
    add_symbols(OTHER_SYMBOLS, OTHER_FORM);
    return 0;
}

#define PART(n) UINT32_MAX - (n) /* of .nv.callgraph: 0: calls, 1: targets, 2: through pointers, 3: taken addresses */

static void add_pair(uint32_t caller, uint32_t callee)
{
    const uint32_t pair[] = {caller, callee};
    append(CALLS, pair, sizeof(pair));
}

static void add_attribute(enum section to, uint8_t format, uint8_t attribute, uint16_t bytes, uint32_t value)
{
    const uint16_t words[] = {(uint16_t)(format | attribute << 8), bytes};
    append(to, words, sizeof(words));
    if (format == 4)
        append(to, &value, bytes);
}

static void add_extern(enum section to, enum symbol symbol)
{
    add_attribute(to, 4, 0x0f, sizeof(uint32_t), symbol);
}

static void add_relocation(enum section to, enum symbol symbol)
{
    const Elf64_Rela relocation = {.r_info = ELF64_R_INFO((uint64_t)symbol, 2)};
    append(to, &relocation, cubin.sections[to].sh_entsize);
}

/* Those of the four that may print; or in their place why that is not known. */
static const char *read_printing(const void *image, size_t bytes)
{
    static const char *const names[] = {"f", "ff", "g", "says"};
    static char text[64];
    struct spw_globals g;
    const char *why = spw_globals_list(image, bytes, NULL, &g);
    text[0] = 0;
    assert_true(!why || !g.printing);
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (spw_globals_may_print(&g, names[i], strlen(names[i])))
            strcat(strcat(text, *text ? " " : ""), names[i]);
    spw_globals_finish(&g);
    return why ? why : text;
}

static const char *printing(void)
{
    return read_printing(&cubin, sizeof(cubin));
}

#define ASSERT_PRINTING(names) assert_string_equal(printing(), names)
#define ASSERT_UNKNOWN()       assert_string_equal(printing(), spw_globals_unknown_printing)
#define ASSERT_DAMAGED()       assert_string_equal(printing(), "a cubin is not as such are")

/* ---- what is said of calls ---- */

static void a_kernel_that_calls_it_prints_and_others_do_not(void **state)
{
    (void)state;
    add_pair(0, PART(0));
    add_pair(FF, VPRINTF);
    ASSERT_PRINTING("ff");
    (void)make_cubin(NULL);
    add_pair(0, PART(0));
    add_pair(F, VPRINTF);
    add_pair(G, SAYS);
    add_pair(0, PART(1));
    ASSERT_PRINTING("f");
}

/* The callers come first, so that each is found a round later. */
static void a_function_in_another_section_prints_for_its_callers(void **state)
{
    (void)state;
    add_pair(0, PART(0));
    add_pair(FF, G);
    add_pair(G, SAYS);
    add_pair(SAYS, VPRINTF);
    ASSERT_PRINTING("ff g says");
}

static void whoever_calls_through_a_pointer_may_print(void **state)
{
    (void)state;
    add_pair(0, PART(0));
    add_pair(SAYS, VPRINTF);
    add_pair(0, PART(1));
    add_pair(SAYS, 1000 /* a type */);
    add_pair(0, PART(2));
    add_pair(F, 1000);
    ASSERT_PRINTING("f says");
    add_pair(0, PART(3));
    add_pair(G, SAYS); /* only hands the address out, as far as that is known */
    ASSERT_PRINTING("f g says");
}

static bool calls_pointers(void)
{
    struct spw_globals g;
    assert_null(spw_globals_list(&cubin, sizeof(cubin), NULL, &g));
    const bool calls = g.calls_pointers;
    spw_globals_finish(&g);
    return calls;
}

/* Whether it prints or not. */
static void that_functions_are_called_through_pointers_is_told(void **state)
{
    (void)state;
    for (unsigned part = 0; part < 4; part++) {
        (void)make_cubin(NULL);
        add_pair(0, PART(0));
        add_pair(SAYS, VPRINTF);
        for (unsigned i = 1; i < 4; i++) {
            add_pair(0, PART(i));
            if (i == part)
                add_pair(F, SAYS);
        }
        assert_int_equal(calls_pointers(), part != 0);
    }
}

/* None of the other attributes and formats is taken for it. */
static void functions_of_others_that_a_kernel_may_come_to_call_count(void **state)
{
    (void)state;
    add_attribute(INFO_G, 1, 0x0f, 0, 0);
    add_attribute(INFO_G, 2, 0x0f, VPRINTF, 0);
    add_attribute(INFO_G, 3, 0x0f, VPRINTF, 0);
    add_attribute(INFO_G, 4, 0x10, 4, VPRINTF);
    add_attribute(INFO_FF, 3, 0x1b, 0xff, 0);
    add_attribute(INFO_FF, 4, 0x36, 2, 0);
    add_extern(INFO_FF, SAYS);
    add_extern(INFO_SAYS, VPRINTF);
    ASSERT_PRINTING("ff says");
    add_extern(INFO_OF_ALL, F);
    ASSERT_PRINTING("ff says");
    add_extern(INFO_OF_ALL, VPRINTF);
    ASSERT_UNKNOWN();
}

static void relocations_count_for_the_code_that_they_belong_to(void **state)
{
    (void)state;
    add_relocation(IN_F, VPRINTF);
    ASSERT_PRINTING("f");
    add_relocation(IN_OWN_OF_G, F);
    ASSERT_PRINTING("f g");
}

/* Kernels take the addresses of others' functions from there. Who does, is said elsewhere. */
static void an_address_that_is_there_for_all_says_nothing(void **state)
{
    (void)state;
    add_relocation(IN_ADDRESSES, VPRINTF);
    ASSERT_UNKNOWN();
    add_extern(INFO_F, VPRINTF);
    ASSERT_PRINTING("f");
    add_relocation(IN_VALUES, F); /* to be followed through a pointer alone */
    ASSERT_PRINTING("f");
    add_relocation(IN_VALUES, VPRINTF);
    ASSERT_UNKNOWN();
    cubin.sections[VALUES].sh_flags = 0; /* not loaded */
    ASSERT_PRINTING("f");
}

static void the_other_form_of_code_counts_too(void **state)
{
    (void)state;
    add_extern(OTHER_INFO, VPRINTF);
    ASSERT_PRINTING("g");
    cubin.sections[OTHER_INFO].sh_size = 0;
    add_relocation(IN_OTHER_FORM, VPRINTF);
    ASSERT_PRINTING("g");
}

/* ---- where it is not known ---- */

static void a_kernel_of_which_nothing_is_said_may_print(void **state)
{
    (void)state;
    add_pair(0, PART(0));
    add_pair(F, VPRINTF);
    add_pair(FF, G);
    cubin.sections[INFO_G].sh_info = CODE_F;
    ASSERT_PRINTING("f ff g");
}

static void kernels_are_not_told_apart_where_something_is_not_as_it_is_known(void **state)
{
    (void)state;
    ASSERT_UNKNOWN(); /* nobody uses it */
    add_pair(0, PART(0));
    ASSERT_UNKNOWN();
    add_pair(F, VPRINTF);
    ASSERT_PRINTING("f");
    cubin.sections[VALUES].sh_type = 0x70000042;
    ASSERT_UNKNOWN();
    cubin.sections[VALUES].sh_type = SHT_PROGBITS;
    cubin.sections[CALLS].sh_type = SHT_PROGBITS;
    add_extern(INFO_F, VPRINTF);
    ASSERT_UNKNOWN(); /* without .nv.callgraph */
    cubin.sections[CALLS].sh_type = CALLGRAPH;
    ASSERT_PRINTING("f");
    add_pair(0, PART(4));
    ASSERT_DAMAGED();
}

static void a_cubin_that_is_damaged_there_is_refused(void **state)
{
    static const uint32_t pairs[][2] = {{0, VPRINTF}, {VPRINTF, SAYS}, {F, SYMBOLS_COUNT}, {SYMBOLS_COUNT, F}};
    (void)state;
    add_pair(F, VPRINTF); /* in no part */
    ASSERT_DAMAGED();
    for (unsigned i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        (void)make_cubin(NULL);
        add_pair(0, PART(0));
        add_pair(pairs[i][0], pairs[i][1]);
        ASSERT_DAMAGED();
    }
    for (unsigned i = 0; i < 6; i++) {
        (void)make_cubin(NULL);
        add_pair(0, PART(0));
        add_pair(F, VPRINTF);
        if (i == 0)
            cubin.sections[CALLS].sh_size--;
        else if (i == 1)
            add_attribute(INFO_G, 5, 0x0f, 0, 0);
        else if (i == 2)
            add_attribute(INFO_G, 4, 0x0f, 2, VPRINTF);
        else if (i == 3)
            add_extern(INFO_G, SYMBOLS_COUNT);
        else if (i == 4)
            add_relocation(IN_F, SYMBOLS_COUNT);
        else
            cubin.sections[IN_F].sh_info = SECTIONS;
        ASSERT_DAMAGED();
    }
}

/* ---- PTX ---- */

static const char *printing_text(const char *text)
{
    return read_printing(text, strlen(text) + 1);
}

#define DECLARED ".version 9.0 .extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"

static void ptx_tells_by_function_who_prints(void **state)
{
    (void)state;
    assert_string_equal(printing_text(DECLARED ".entry f() { ret; }"), "");
    assert_string_equal(printing_text(DECLARED ".visible .entry ff(.param .u64 .ptr .global p) .maxntid 1 .pragma \"x\";\n"
                                               "{ { call.uni (r), vprintf, (a, b); } ret; } .entry f() { ret; }"),
                        "ff");
    assert_string_equal(printing_text(DECLARED ".func g(); .entry f() { call g, (a); } .entry ff() { call other; }\n"
                                               ".func g() { call says; } .func (.reg .b32 r) says() { call vprintf; }"),
                        "f g says");
    assert_string_equal(printing_text(DECLARED ".func says() { call (r), vprintf, (a, b); } .entry f() { ret; }\n"
                                               ".global .u64 table[2] = {says, 0};\n"
                                               ".entry ff() { call (r), %rd1, (a), prototype; }\n"
                                               ".entry g() { call %rd1, (a), says_or_not; }"),
                        "ff g says");
    assert_string_equal(printing_text(DECLARED ".func says() { call vprintf; } .entry g() { mov.u64 %rd1, says; }"),
                        "g says");
    assert_string_equal(printing_text(DECLARED ".func says() { call vprintf; } .extern .func calm(.param .b64 a);\n"
                                               ".global .u64 table[1] = {says}; .entry f() { call calm, (a); }"),
                        "says");
    assert_string_equal(printing_text(DECLARED "// .entry f() { call vprintf; }\n.entry ff() { call vprintf2; /* vprintf "
                                               "*/ } .entry g() { call recall, (vprint); }"),
                        "");
}

static void ptx_that_hides_who_prints_is_refused(void **state)
{
    (void)state;
    assert_string_equal(printing_text(DECLARED ".alias g, says; .func says() { call vprintf; }"),
                        spw_globals_unknown_printing);
    assert_string_equal(printing_text(DECLARED ".entry f() { } }"), "a text is not as PTX is");
    assert_string_equal(printing_text(DECLARED ".entry f("), "a text is not as PTX is");
    assert_string_equal(printing_text(".version 9.0 .alias g, says; .entry f() { } }"), ""); /* of no interest there */
}

/* ---- damage ---- */

static void nothing_is_read_outside_of_a_damaged_image(void **state)
{
    static const char text[] = DECLARED ".func says() { call (r), vprintf, (a, b); } .entry f() { call says, (); }\n"
                                        ".entry g() .pragma \"x\"; { call (r), %rd1, (a), prototype; }";
    (void)state;
    add_pair(0, PART(0));
    add_pair(FF, SAYS);
    add_pair(SAYS, VPRINTF);
    add_pair(0, PART(2));
    add_pair(G, 7);
    add_extern(INFO_F, SAYS);
    add_relocation(IN_F, VPRINTF);
    add_relocation(IN_ADDRESSES, VPRINTF);
    add_extern(OTHER_INFO, SAYS);
    ASSERT_PRINTING("f ff g says");
    for (unsigned i = 0; i < 8; i++)
        damage(&cubin, sizeof(cubin), read_printing);
    damage(text, sizeof(text), read_printing);
}

#define TEST(name) cmocka_unit_test_setup(name, make_cubin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_kernel_that_calls_it_prints_and_others_do_not),
        TEST(a_function_in_another_section_prints_for_its_callers),
        TEST(whoever_calls_through_a_pointer_may_print),
        TEST(that_functions_are_called_through_pointers_is_told),
        TEST(functions_of_others_that_a_kernel_may_come_to_call_count),
        TEST(relocations_count_for_the_code_that_they_belong_to),
        TEST(an_address_that_is_there_for_all_says_nothing),
        TEST(the_other_form_of_code_counts_too),
        TEST(a_kernel_of_which_nothing_is_said_may_print),
        TEST(kernels_are_not_told_apart_where_something_is_not_as_it_is_known),
        TEST(a_cubin_that_is_damaged_there_is_refused),
        TEST(ptx_tells_by_function_who_prints),
        TEST(ptx_that_hides_who_prints_is_refused),
        TEST(nothing_is_read_outside_of_a_damaged_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
