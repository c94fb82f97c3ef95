/* diff_names.c - gives the sites of two runs names that distinguish them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diff_model.h"
#include "site_names.h"

int diff_name_sites(struct diff *d)
{
    struct site_stack *list = calloc(d->sites.count + 1, sizeof(*list));
    size_t count = 0;
    int r = list ? 0 : -ENOMEM;
    for (size_t i = 0; i < d->sites.count && r == 0; i++) {
        struct diff_row *row = &d->sites.rows[i];
        enum diff_side side = row->site[DIFF_AFTER] != MODEL_NONE ? DIFF_AFTER : DIFF_BEFORE;
        uint32_t site = row->site[side];
        if (row->name)
            continue;
        if (site == MODEL_NONE || d->model[side]->sites[site].count == 0) {
            row->name = strdup("unknown");
            r = row->name ? 0 : -ENOMEM;
        } else {
            r = site_stack_take(d->model[side], site, &list[count]);
            list[count++].owner = row;
        }
    }
    r = r ? r : site_names(list, count);
    for (size_t i = 0; i < count; i++) {
        if (list[i].owner)
            ((struct diff_row *)list[i].owner)->name = list[i].name;
        free(list[i].frames);
    }
    free(list);
    return r;
}
