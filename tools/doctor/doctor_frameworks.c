/* doctor_frameworks.c - says which switches of the frameworks the user has set differently from spillway run, and what
 * follows. */
#include <stdlib.h>

#include "doctor.h"
#include "shown.h"
#include "switches.h"

#define SECTION "frameworks"

static void look_at(struct facts *facts, const struct spw_switch *s)
{
    char line[100];
    const char *value = getenv(s->name);
    json_t *string = value ? shown_string(value) : NULL;
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

/* Flags are added, not replaced, and only if there is a budget. */
static void look_at_xla(struct facts *facts)
{
    const char *flags = getenv(SPW_SWITCH_XLA_FLAGS);
    facts_add(facts, SECTION, SPW_SWITCH_XLA_FLAGS, flags ? shown_string(flags) : NULL, SPW_SWITCH_XLA_FLAGS, "%s",
              flags ? flags : "not set; with a budget spillway run adds " SPW_SWITCH_NO_GRAPHS);
    if (spw_switch_wants_graphs())
        facts_advise(facts, "export " SPW_SWITCH_XLA_FLAGS "=\"$" SPW_SWITCH_XLA_FLAGS " " SPW_SWITCH_NO_GRAPHS "\"",
                     "XLA makes CUDA graphs as " SPW_SWITCH_XLA_FLAGS
                     " asks it to: what they use stays on the device, and what does not fit into a budget is out of memory");
}

void doctor_frameworks(struct facts *facts)
{
    for (size_t i = 0; i < spw_switch_count; i++)
        look_at(facts, &spw_switch_table[i]);
    look_at_xla(facts);
}
