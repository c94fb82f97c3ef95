/* doctor_frameworks.c - which of the frameworks' switches the user has set otherwise than spillway run would, and what that
 * means. */
#include <stdlib.h>

#include "doctor.h"
#include "report.h"
#include "switches.h"

#define SECTION "frameworks"

static void look_at(struct facts *facts, const struct spw_switch *s)
{
    char line[100];
    const char *value = getenv(s->name);
    json_t *string = value ? report_string(value) : NULL;
    const char *conflict = value ? spw_switch_conflict(s, value) : NULL;
    if (!value && s->unless && getenv(s->unless))
        facts_add(facts, SECTION, s->name, string, s->name, "not set; %s decides", s->unless);
    else if (!value)
        facts_add(facts, SECTION, s->name, string, s->name, "not set%s%s", s->value ? "; spillway run sets " : "",
                  s->value ? s->value : "");
    else
        facts_add(facts, SECTION, s->name, string, s->name, "%s%s%s", value, conflict ? ": " : "", conflict ? conflict : "");
    if (!conflict)
        return;
    snprintf(line, sizeof(line), "unset %s", s->name);
    facts_advise(facts, line, "with %s=%s %s%s%s%s", s->name, value, conflict, s->value ? "; spillway run sets " : "",
                 s->value ? s->value : "", s->value ? " where nothing is set" : "");
}

void doctor_frameworks(struct facts *facts)
{
    for (size_t i = 0; i < spw_switch_count; i++)
        look_at(facts, &spw_switch_table[i]);
}
