/* layouts.c - finds a kernel's line in the tables of layouts, and reads it when it is asked for. */
#include "layouts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "opaque.h"
#include "settings.h"

enum { MOST_IMAGE_BYTES = 32764 };

struct line { /* of a table, and what was made of it */
    const char *text;
    size_t name_length;
    struct layout *layout; /* NULL: not read yet */
    bool told;             /* that it can't be read */
};

/* By name once sorted; a name that is there twice counts as it was added last. */
static struct line *lines;
static size_t line_count, line_room;
static bool sorted, file_is_read;

/* Names that were asked for in vain. */
static char **unknown;
static size_t unknown_count;

static size_t length_of_line(const char *text)
{
    return strcspn(text, "\n");
}

static bool add_line(const char *text)
{
    if (line_count == line_room) {
        size_t room = line_room ? 2 * line_room : 1024;
        struct line *grown = realloc(lines, room * sizeof *lines);
        if (!grown)
            return false;
        lines = grown;
        line_room = room;
    }
    lines[line_count++] = (struct line){.text = text, .name_length = strcspn(text, " \n")};
    sorted = false;
    return true;
}

static bool is_there(const char *text)
{
    for (size_t i = 0; i < line_count; i++)
        if (lines[i].text == text)
            return true;
    return false;
}

bool layouts_add(const char *text)
{
    if (strncmp(text, LAYOUTS_HEADING, strlen(LAYOUTS_HEADING)) != 0) {
        fprintf(stderr, "simgpu: a table of kernel layouts begins with \"%s\", this one with \"%.*s\"\n", LAYOUTS_HEADING,
                (int)(length_of_line(text) < 40 ? length_of_line(text) : 40), text);
        return false;
    }
    const char *at = text + length_of_line(text);
    if (*at && is_there(at + 1))
        return true;
    for (; *at; at += length_of_line(at))
        if (*++at && *at != '\n' && !add_line(at))
            return false;
    return true;
}

static void read_named_file(void)
{
    const char *path = settings.layouts_path;
    if (file_is_read || !path)
        return;
    file_is_read = true;
    const char *text = file_read(path);
    if (!text)
        fprintf(stderr, "simgpu: SIMGPU_LAYOUTS=%s: %s\n", path, strerror(errno));
    else
        (void)layouts_add(text);
}

/* ---- order ---- */

static int compare_names(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int r = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return r ? r : (a_length > b_length) - (a_length < b_length);
}

static int by_name(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return compare_names(x->text, x->name_length, y->text, y->name_length);
}

static struct line *find_line(const char *name, size_t length)
{
    size_t from = 0, to = line_count;
    if (!sorted && line_count > 0)
        qsort(lines, line_count, sizeof *lines, by_name);
    sorted = true;
    while (from < to) {
        size_t middle = (from + to) / 2;
        int r = compare_names(lines[middle].text, lines[middle].name_length, name, length);
        if (r == 0)
            return &lines[middle];
        if (r < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

/* ---- one line ---- */

/* The field's value, and its length; NULL: there is none. */
static const char *field(const char *line, const char *name, size_t *ret_length)
{
    const char *end = line + length_of_line(line);
    size_t length = strlen(name);
    for (const char *at = line; at < end; at++)
        if (*at == ' ' && strncmp(at + 1, name, length) == 0 && at[1 + length] == '=') {
            *ret_length = strcspn(at + length + 2, " \n");
            return at + length + 2;
        }
    return NULL;
}

static bool number_field(const char *line, const char *name, uint32_t most, uint32_t *ret)
{
    size_t length;
    char *end;
    const char *value = field(line, name, &length);
    if (!value || length == 0)
        return false;
    unsigned long number = strtoul(value, &end, 10);
    *ret = (uint32_t)number;
    return end == value + length && number <= most;
}

/* How many parts a list of them has, "-" being the empty one. */
static uint32_t parts(const char *value, size_t length)
{
    if (length == 0 || (length == 1 && *value == '-'))
        return 0;
    uint32_t count = 1;
    for (size_t i = 0; i < length; i++)
        count += value[i] == ',';
    return count;
}

static bool is_inside(const struct layout *l, uint32_t offset, uint32_t bytes)
{
    return bytes > 0 && offset <= l->kernel.param_bytes && bytes <= l->kernel.param_bytes - offset;
}

static bool read_params(struct layout *l, const char *value, size_t length)
{
    uint32_t count = parts(value, length);
    struct simgpu_param *params = calloc(count + 1, sizeof *params);
    l->kernel.params = params;
    if (!params)
        return false;
    for (; l->kernel.param_count < count; l->kernel.param_count++, value = strchr(value, ',') + 1) {
        struct simgpu_param *p = &params[l->kernel.param_count];
        if (sscanf(value, "%u:%u", &p->offset_bytes, &p->size_bytes) != 2 || !is_inside(l, p->offset_bytes, p->size_bytes))
            return false;
        if (l->kernel.param_count + 1 == count)
            return l->kernel.param_count++, true;
    }
    return true;
}

static bool read_how(struct use *u, const char *how)
{
    static const struct {
        const char *name;
        enum how how;
    } plain[] = {{"value", USE_VALUE}, {"flops", USE_FLOPS}, {"reads", USE_READS}, {"writes", USE_WRITES}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(how, plain[i].name) == 0) {
            u->how = plain[i].how;
            return u->how == USE_VALUE || u->bytes == 8;
        }
    if (sscanf(how, "reads/%u", &u->region) == 1 || sscanf(how, "overwrites/%u", &u->region) == 1) {
        u->how = *how == 'r' ? USE_READS : USE_OVERWRITES;
        u->is_part = true;
        return u->bytes == 8;
    }
    if (sscanf(how, "table/%u/%u", &u->table_end, &u->written) == 2) {
        u->how = USE_TABLE;
        return u->bytes == 8 && u->written <= 1;
    }
    if (sscanf(how, "words/%u", &u->first_written) == 1) {
        u->how = USE_WORDS;
        return true;
    }
    if (sscanf(how, "addresses/%u", &u->first_written) == 1) {
        u->how = USE_ADDRESSES;
        return true;
    }
    u->how = USE_TENSORS;
    if (sscanf(how, "tensors/%u/%u/%u/%c", &u->lists, &u->most, &u->written, &u->along) != 4 || u->lists > 32 ||
        u->most > LAYOUT_MOST_TENSORS || u->bytes != u->lists * u->most * 8)
        return false;
    if (u->along == 'x' || u->along == 'y')
        return true;
    u->along = 0;
    return sscanf(how, "tensors/%*u/%*u/%*u/%u/%u", &u->blocks, &u->block_bytes) == 2 &&
           (u->block_bytes == 1 || u->block_bytes == 2);
}

static bool read_use(const struct layout *l, struct use *u, const char *value)
{
    char how[64];
    return sscanf(value, "%u:%u:%63[a-z0-9/]", &u->offset, &u->bytes, how) == 3 && is_inside(l, u->offset, u->bytes) &&
           read_how(u, how) && (u->how != USE_TENSORS || u->blocks < l->kernel.param_bytes) &&
           (!u->is_part || is_inside(l, u->region, 5 * 8)) && (u->how != USE_TABLE || is_inside(l, u->table_end, 8));
}

static bool read_uses(struct layout *l, const char *value, size_t length)
{
    uint32_t count = parts(value, length);
    struct use *uses = calloc(count + 1, sizeof *uses);
    l->uses = uses;
    if (!uses)
        return false;
    for (; l->use_count < count; l->use_count++) {
        if (!read_use(l, &uses[l->use_count], value))
            return false;
        value += strcspn(value, ", \n") + 1;
    }
    return true;
}

uint64_t layouts_hash(const void *bytes, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const unsigned char *at = bytes; count > 0; at++, count--)
        hash = (hash ^ *at) * 0x100000001b3u;
    return hash;
}

static void layout_free(struct layout *l)
{
    if (l) {
        free((void *)l->kernel.name);
        free((void *)l->kernel.params);
        free((void *)l->uses);
    }
    free(l);
}

/* *ret_bad is the field that can't be read. */
static struct layout *read_line(const struct line *line, const char **ret_bad)
{
    struct layout *l = calloc(1, sizeof *l);
    uint32_t registers;
    size_t length;
    const char *value;
    *ret_bad = "memory";
    if (!l || !(l->kernel.name = strndup(line->text, strcspn(line->text, "@ \n"))))
        return layout_free(l), NULL;
    l->name_hash = layouts_hash(line->text, line->name_length);
    *ret_bad = "bytes";
    bool good = number_field(line->text, "bytes", MOST_IMAGE_BYTES, &l->kernel.param_bytes);
    if (good && (*ret_bad = "shared"))
        good = number_field(line->text, "shared", 1u << 20, &l->kernel.static_shared_bytes);
    if (good && (*ret_bad = "registers"))
        good = number_field(line->text, "registers", 255, &registers);
    if (good && (*ret_bad = "params"))
        good = (value = field(line->text, "params", &length)) && read_params(l, value, length);
    if (good && (*ret_bad = "uses"))
        good = (value = field(line->text, "uses", &length)) && read_uses(l, value, length);
    if (!good)
        return layout_free(l), NULL;
    opaque_prepare(l);
    return l;
}

static void tell_unknown(const char *name)
{
    for (size_t i = 0; i < unknown_count; i++)
        if (strcmp(unknown[i], name) == 0)
            return;
    char **grown = realloc(unknown, (unknown_count + 1) * sizeof *unknown), *copy = strdup(name);
    if (grown)
        unknown = grown;
    if (grown && copy)
        unknown[unknown_count++] = copy;
    else
        free(copy);
    const char *path = settings.layouts_path;
    fprintf(stderr, "simgpu: kernel %s has no layout%s%s, so that it can't be launched\n", name,
            path ? " in " : " (SIMGPU_LAYOUTS names no table)", path ? path : "");
}

/* As it was read once; NULL: it can't be. */
static const struct layout *layout_of(struct line *line)
{
    if (!line->layout && !line->told) {
        const char *bad;
        line->layout = read_line(line, &bad);
        line->told = !line->layout;
        if (line->told)
            fprintf(stderr, "simgpu: the layout of kernel %.*s can't be read: its %s are wrong or missing\n",
                    (int)line->name_length, line->text, bad);
    }
    return line->layout;
}

const struct layout *layouts_find(const char *name)
{
    read_named_file();
    struct line *line = find_line(name, strlen(name));
    if (!line)
        tell_unknown(name);
    return line ? layout_of(line) : NULL;
}

const struct layout *layouts_find_or_add(char *text, bool say)
{
    read_named_file();
    const size_t length = strcspn(text, " \n");
    struct line *line = find_line(text, length);
    const bool is_there = line;
    if (!line && add_line(text))
        line = find_line(text, length);
    if (line && !is_there && say)
        fprintf(stderr, "simgpu: kernel %.*s has no layout in %s, so that it is taken to write all that it is given\n",
                (int)length, text, settings.layouts_path ? settings.layouts_path : "any table");
    if (is_there || !line)
        free(text);
    return line ? layout_of(line) : NULL;
}
