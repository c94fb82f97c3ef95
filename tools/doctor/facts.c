/* facts.c - keeps facts in the order in which they were found, as JSON objects that can also be sent between processes. */
#include "facts.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "shown.h"

struct facts {
    json_t *found; /* an array: {section, key, value, label, text}, {section, problem} or {type, because} */
    FILE *stream;
};

struct facts *facts_create(FILE *stream)
{
    struct facts *facts = calloc(1, sizeof(*facts));
    if (!facts)
        return NULL;
    facts->found = json_array();
    facts->stream = stream;
    return facts;
}

void facts_destroy(struct facts *facts)
{
    if (facts)
        json_decref(facts->found);
    free(facts);
}

static json_t *format_string(const char *format, va_list arguments)
{
    char *text;
    if (vasprintf(&text, format, arguments) < 0)
        return NULL;
    json_t *string = shown_string(text);
    free(text);
    return string;
}

/* ---- adding ---- */

static void keep(struct facts *facts, json_t *one)
{
    if (!facts->stream) {
        (void)json_array_append_new(facts->found, one);
        return;
    }
    (void)json_dumpf(one, facts->stream, JSON_COMPACT);
    fputc('\n', facts->stream);
    fflush(facts->stream);
    json_decref(one);
}

void facts_add(struct facts *facts, const char *section, const char *key, json_t *value, const char *label,
               const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *one =
        json_pack("{s:s, s:s, s:o*}", "section", section, "label", label, "text", format_string(format, arguments));
    va_end(arguments);
    if (key) {
        (void)json_object_set_new(one, "key", json_string(key));
        (void)json_object_set_new(one, "value", value ? value : json_null());
    }
    keep(facts, one);
}

void facts_problem(struct facts *facts, const char *section, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    keep(facts, json_pack("{s:s, s:o*}", "section", section, "problem", format_string(format, arguments)));
    va_end(arguments);
}

void facts_advise(struct facts *facts, const char *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    keep(facts, json_pack("{s:o*, s:o*}", "because", format_string(format, arguments), "type", shown_string(line)));
    va_end(arguments);
}

void facts_receive(struct facts *facts, FILE *from)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, from) > 0) {
        json_t *one = json_loads(line, 0, NULL);
        if (json_is_object(one))
            keep(facts, one);
        else
            json_decref(one);
    }
    free(line);
}

/* ---- asking ---- */

static const char *text_of(const json_t *one, const char *key)
{
    const char *text = json_string_value(json_object_get(one, key));
    return text ? text : "";
}

const json_t *facts_value(const struct facts *facts, const char *section, const char *key)
{
    const json_t *one;
    size_t i;
    json_array_foreach(facts->found, i, one) if (!strcmp(text_of(one, "section"), section) &&
                                                 !strcmp(text_of(one, "key"), key)) return json_object_get(one, "value");
    return NULL;
}

size_t facts_problem_count(const struct facts *facts)
{
    const json_t *one;
    size_t i, count = 0;
    json_array_foreach(facts->found, i, one) count += json_object_get(one, "problem") != NULL;
    return count;
}

/* ---- showing ---- */

static void print_advice(const struct facts *facts, FILE *to)
{
    const json_t *one;
    size_t i, count = 0;
    fputs("what to set\n", to);
    json_array_foreach(facts->found, i, one)
    {
        if (!json_object_get(one, "because"))
            continue;
        fprintf(to, "  %s:\n      %s\n", text_of(one, "because"), text_of(one, "type"));
        count++;
    }
    if (count == 0)
        fputs("  nothing: no setting would make it better\n", to);
}

void facts_print(const struct facts *facts, FILE *to)
{
    const json_t *one;
    const char *section = "";
    size_t i;
    json_array_foreach(facts->found, i, one)
    {
        if (json_object_get(one, "because"))
            continue;
        if (strcmp(section, text_of(one, "section")) != 0) {
            section = text_of(one, "section");
            fprintf(to, "%s\n", section);
        }
        if (json_object_get(one, "problem"))
            fprintf(to, "  PROBLEM: %s\n", text_of(one, "problem"));
        else
            fprintf(to, "  %-29s %s\n", text_of(one, "label"), text_of(one, "text"));
    }
    print_advice(facts, to);
}

/* Puts one fact into its section of the report. */
static void put_fact(json_t *report, const json_t *one)
{
    const char *name = text_of(one, "section");
    json_t *section = json_object_get(report, name);
    if (!section) {
        section = json_object();
        (void)json_object_set_new(report, name, section);
    }
    if (json_object_get(one, "key"))
        (void)json_object_set(section, text_of(one, "key"), json_object_get(one, "value"));
}

json_t *facts_json(const struct facts *facts)
{
    json_t *report = json_object(), *problems = json_array(), *advice = json_array(), *one;
    size_t i;
    json_array_foreach(facts->found, i, one)
    {
        if (json_object_get(one, "because"))
            (void)json_array_append(advice, one);
        else if (json_object_get(one, "problem"))
            (void)json_array_append(problems, json_object_get(one, "problem"));
        else
            put_fact(report, one);
    }
    (void)json_object_set_new(report, "problems", problems);
    (void)json_object_set_new(report, "advice", advice);
    return report;
}

const char *facts_bytes(uint64_t bytes)
{
    static const char units[] = "KMGTP";
    static char texts[4][32];
    static unsigned next;
    char *text = texts[next++ % 4];
    double amount = (double)bytes;
    int unit = -1;
    for (; amount >= 1024 && units[unit + 1]; unit++)
        amount /= 1024;
    if (unit < 0)
        snprintf(text, sizeof(texts[0]), "%llu bytes", (unsigned long long)bytes);
    else
        snprintf(text, sizeof(texts[0]), "%.1f %ciB", amount, units[unit]);
    return text;
}
