/* report_html.c - writes the report as one page that needs nothing but a browser: the figures of report_json.c between
 * the two halves of the page, which the build embeds (tools/page). */
#include "report.h"

#include <errno.h>
#include <string.h>

#include "page.h"

/* Writes the figures as data of a script element. A '<' could end that element; in JSON it only occurs within strings,
 * where an escape means the same. The others are escaped so that readers of the page need not know this. */
static int write_escaped(const char *text, size_t size, void *to)
{
    for (size_t i = 0; i < size; i++) {
        bool special = text[i] == '<' || text[i] == '>' || text[i] == '&';
        if ((special ? fprintf(to, "\\u%04x", (unsigned char)text[i]) : fputc(text[i], to)) < 0)
            return -1;
    }
    return 0;
}

int report_html(const json_t *figures, const char *path, FILE *to)
{
    json_t *report = json_copy((json_t *)figures), *trace = shown_string(path);
    int r = json_object_set_new(report, "trace", trace ? trace : json_string("")) == 0 ? 0 : -ENOMEM;
    bool whole = r == 0 && fwrite(page_before, 1, sizeof(page_before), to) == sizeof(page_before) &&
                 json_dump_callback(report, write_escaped, to, JSON_COMPACT | JSON_ENSURE_ASCII) == 0 &&
                 fwrite(page_after, 1, sizeof(page_after), to) == sizeof(page_after);
    if (r == 0)
        r = shown_end(to);
    if (r == 0 && !whole)
        r = -ENOMEM;
    json_decref(report);
    return r;
}
